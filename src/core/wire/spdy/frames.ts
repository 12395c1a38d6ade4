/**
 * SPDY/3.1 frames of a client that opens streams and writes to them (frame-reader.ts has the layout).
 *
 * Header blocks are zlib streams with SPDY's dictionary, one stream for all blocks of a connection. They
 * are written uncompressed ("stored" blocks of RFC 1951), which every inflater reads: four blocks of 30
 * bytes a connection are not worth a compressor, and nothing can be guessed from their length.
 */
import { assert } from "#base/assert.ts";
import { FrameType } from "./frame-reader.ts";

/** RFC 1950: deflate with a 32 KiB window, preset dictionary, check bits. */
const zlibHead = [0x78, 0xbb];
/** Adler-32 of the dictionary in section 2.6.10.1 of the SPDY/3 draft. */
const dictionaryId = [0xe3, 0xc6, 0xa7, 0xc2];
/** An empty stored block, which makes the reader pass on what it has. */
const flushMark = [0x00, 0x00, 0x00, 0xff, 0xff];
/** Below the 24-bit limit of a data frame, so that one stream does not hold up others. */
const dataBytesMax = 65_536;
const finFlag = 1;

/** Creates the SYN_STREAM frames of a connection, in sending order. */
export class StreamOpener {
  #next = 1;
  #isFirst = true;

  open(headers: Readonly<Record<string, string>>): { id: number; frame: Uint8Array } {
    const id = this.#next;
    this.#next += 2;
    const head = this.#isFirst ? [...zlibHead, ...dictionaryId] : [];
    this.#isFirst = false;
    const block = Uint8Array.from([...head, ...stored(headerBlock(headers)), ...flushMark]);
    const frame = control(FrameType.synStream, 10 + block.length);
    new DataView(frame.buffer).setUint32(8, id);
    // Bytes 12 to 17 stay zero: no associated stream, highest priority.
    frame.set(block, 18);
    return { id, frame };
  }
}

/** Frames of at most 64 KiB; no frames for no bytes. */
export function dataFrames(stream: number, bytes: Uint8Array): readonly Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += dataBytesMax) {
    const part = bytes.subarray(at, at + dataBytesMax);
    frames.push(dataHead(stream, 0, part.length), part);
  }
  return frames;
}

/** Ends this side of a stream. */
export function finFrame(stream: number): Uint8Array {
  return dataHead(stream, finFlag, 0);
}

/** @param id that of the ping to be answered. */
export function pingFrame(id: number): Uint8Array {
  const frame = control(FrameType.ping, 4);
  new DataView(frame.buffer).setUint32(8, id);
  return frame;
}

function control(type: number, length: number): Uint8Array {
  const frame = new Uint8Array(8 + length);
  frame.set([0x80, 3, type >> 8, type & 0xff, 0]);
  setLength(frame, length);
  return frame;
}

function dataHead(stream: number, flags: number, length: number): Uint8Array {
  const head = new Uint8Array(8);
  new DataView(head.buffer).setUint32(0, stream);
  head[4] = flags;
  setLength(head, length);
  return head;
}

function setLength(frame: Uint8Array, length: number): void {
  frame.set([length >> 16, (length >> 8) & 0xff, length & 0xff], 5);
}

/** The number of headers, then name and value of each, with 32-bit lengths. */
function headerBlock(headers: Readonly<Record<string, string>>): Uint8Array {
  const entries = Object.entries(headers);
  const parts = entries.flatMap(([name, value]) => [text(name.toLowerCase()), text(value)]);
  const lengths = parts.flatMap((part) => [word(part.length), part]);
  return Buffer.concat([word(entries.length), ...lengths]);
}

function stored(bytes: Uint8Array): Uint8Array {
  assert(bytes.length < 65_536, "a header block is short", { bytes: bytes.length });
  const low = bytes.length & 0xff;
  const high = bytes.length >> 8;
  return Uint8Array.from([0x00, low, high, low ^ 0xff, high ^ 0xff, ...bytes]);
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function word(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, (value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff);
}
