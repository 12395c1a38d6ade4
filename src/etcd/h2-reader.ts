/**
 * Bytes of an HTTP/2 connection in, whole frames out: the preface, limits of length, padding, and header
 * blocks that are spread over several frames.
 *
 * Holds  a frame that breaks the protocol is a ProtocolError, thrown where its bytes came in.
 * Bounds what is kept between two reads: one frame, one header block.
 */
import { ErrorCode, Flag, frameHeadBytes, FrameType, preface } from "#wire/grpc-frames.ts";

/** HTTP/2's least, and what we take. */
export const frameBytesMax = 16_384;
export const headerBlockBytesMax = 64 * 1024;

export class ProtocolError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export function protocol(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.protocol, message);
}

const nothing = Buffer.alloc(0);

/** What is handed over is borrowed until return. */
export interface FrameSink {
  /** Nothing more is wanted. */
  readonly ended: boolean;
  headerBlock(stream: number, endStream: boolean, block: Buffer): void;
  /** `bytes` is the payload without padding, `length` what it counts in windows. */
  data(stream: number, bytes: Buffer, length: number, endStream: boolean): void;
  /** Any other frame. */
  control(type: number, flags: number, stream: number, payload: Buffer): void;
}

export class FrameReader {
  readonly #sink: FrameSink;
  #held: Buffer = nothing;
  #prefaceSeen = false;
  #headers: { readonly stream: number; readonly endStream: boolean; block: Buffer } | undefined;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  read(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const whole = this.#frames(bytes);
    // Mostly all of it: then the chunk is free.
    this.#held = whole === bytes.length ? nothing : bytes.subarray(whole);
  }

  /** @returns how many bytes were whole frames. */
  #frames(bytes: Buffer): number {
    let at = 0;
    if (!this.#prefaceSeen) {
      if (bytes.length < preface.length) return 0;
      if (!bytes.subarray(0, preface.length).equals(preface)) throw protocol("no HTTP/2 preface");
      this.#prefaceSeen = true;
      at = preface.length;
    }
    while (bytes.length - at >= frameHeadBytes && !this.#sink.ended) {
      const length = bytes.readUIntBE(at, 3);
      if (length > frameBytesMax)
        throw new ProtocolError(ErrorCode.frameSize, `frame of ${length}`);
      const end = at + frameHeadBytes + length;
      if (bytes.length < end) break;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      const payload = bytes.subarray(at + frameHeadBytes, end);
      this.#frame(bytes[at + 3] as number, bytes[at + 4] as number, stream, payload);
      at = end;
    }
    return at;
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (this.#headers !== undefined && type !== FrameType.continuation) {
      throw protocol("a header block was interrupted");
    }
    if (type === FrameType.data) {
      const endStream = (flags & Flag.endStream) !== 0;
      this.#sink.data(stream, unpad(flags, payload), payload.length, endStream);
    } else if (type === FrameType.headers) this.#begin(flags, stream, payload);
    else if (type === FrameType.continuation) this.#continue(flags, stream, payload);
    else this.#sink.control(type, flags, stream, payload);
  }

  #begin(flags: number, stream: number, payload: Buffer): void {
    let block = unpad(flags, payload);
    if ((flags & Flag.priority) !== 0) block = block.subarray(5);
    const endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) this.#sink.headerBlock(stream, endStream, block);
    else this.#headers = { stream, endStream, block: Buffer.from(block) };
  }

  #continue(flags: number, stream: number, payload: Buffer): void {
    const headers = this.#headers;
    if (headers === undefined || headers.stream !== stream)
      throw protocol("continuation of nothing");
    headers.block = Buffer.concat([headers.block, payload]);
    if (headers.block.length > headerBlockBytesMax) {
      throw new ProtocolError(ErrorCode.enhanceYourCalm, "header block too large");
    }
    if ((flags & Flag.endHeaders) === 0) return;
    this.#headers = undefined;
    this.#sink.headerBlock(stream, headers.endStream, headers.block);
  }
}

function unpad(flags: number, payload: Buffer): Buffer {
  if ((flags & Flag.padded) === 0) return payload;
  const padding = payload[0] ?? 0;
  if (padding >= payload.length) throw protocol("more padding than payload");
  return payload.subarray(1, payload.length - padding);
}
