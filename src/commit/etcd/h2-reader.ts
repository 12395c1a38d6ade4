/**
 * Parses the bytes of an HTTP/2 connection into whole frames: the preface, limits of length, padding, and header
 * blocks that span several frames.
 *
 * Holds  a frame that breaks the protocol is a ProtocolError, thrown where its bytes were read.
 * Bounds between two reads one frame and one header block are kept, each copied once however its
 *        bytes arrive.
 */
import { ErrorCode, Flag, frameHeadBytes, FrameType, preface } from "#wire/grpc-frames.ts";

/** HTTP/2's minimum for the maximum frame size, which is also what this server accepts. */
export const frameBytesMax = 16_384;
export const headerBlockBytesMax = 64 * 1024;
/** Maximum CONTINUATION frames per block. Clients fill frames, and `headerBlockBytesMax` is four frames. */
const continuationsMax = 16;

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

/** Arguments are borrowed until the method returns. */
export interface FrameSink {
  /** While true, the reader stops; the remaining bytes are kept until the next read. */
  readonly isPausing: boolean;
  headerBlock(stream: number, endStream: boolean, block: Buffer): void;
  /** `bytes` is the payload without padding; `length` is its size for flow control. */
  data(stream: number, bytes: Buffer, length: number, endStream: boolean): void;
  /** Any other frame. */
  control(type: number, flags: number, stream: number, payload: Buffer): void;
}

/** A header block that continues in CONTINUATION frames. */
interface Block {
  readonly stream: number;
  readonly endStream: boolean;
  room: Buffer;
  length: number;
  continuations: number;
}

export class FrameReader {
  readonly #sink: FrameSink;
  /** Bytes of an incomplete frame. */
  readonly #rest = new Bytes();
  #prefaceSeen = false;
  #block: Block | undefined;
  #whole = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Whether the preface, a frame or a header block has begun but is incomplete. */
  get hasPartialFrame(): boolean {
    return this.#rest.length > 0 || this.#block !== undefined || !this.#prefaceSeen;
  }

  /** Number of completed prefaces, frames and header blocks. */
  get whole(): number {
    return this.#whole;
  }

  read(chunk: Buffer): void {
    let bytes = chunk;
    // Completes only the held frame, so that not all following bytes are copied.
    while (this.#rest.length > 0 && bytes.length > 0) {
      const missing = this.#missing(this.#rest.bytes);
      if (missing <= 0) break;
      this.#rest.add(bytes.subarray(0, missing));
      bytes = bytes.subarray(missing);
    }
    if (this.#rest.length > 0) {
      const taken = this.#frames(this.#rest.bytes);
      this.#rest.drop(taken);
      // The sink pauses, or the frame is still incomplete.
      if (this.#rest.length > 0) return this.#rest.add(bytes);
    }
    const taken = this.#frames(bytes);
    // Usually everything was taken, so that the chunk can be freed.
    if (taken < bytes.length) this.#rest.add(bytes.subarray(taken));
  }

  /** Number of bytes missing from the first frame in `bytes`, or from its header. */
  #missing(bytes: Buffer): number {
    if (!this.#prefaceSeen) return preface.length - bytes.length;
    if (bytes.length < frameHeadBytes) return frameHeadBytes - bytes.length;
    return frameHeadBytes + lengthAt(bytes, 0) - bytes.length;
  }

  /** @returns the number of bytes that formed whole frames. */
  #frames(bytes: Buffer): number {
    let at = 0;
    if (!this.#prefaceSeen) {
      if (!preface.subarray(0, bytes.length).equals(bytes.subarray(0, preface.length))) {
        throw protocol("no HTTP/2 preface");
      }
      if (bytes.length < preface.length) return 0;
      this.#prefaceSeen = true;
      this.#whole++;
      at = preface.length;
    }
    while (bytes.length - at >= frameHeadBytes && !this.#sink.isPausing) {
      const end = at + frameHeadBytes + lengthAt(bytes, at);
      if (bytes.length < end) break;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      const payload = bytes.subarray(at + frameHeadBytes, end);
      this.#frame(bytes[at + 3] as number, bytes[at + 4] as number, stream, payload);
      if (this.#block === undefined) this.#whole++;
      at = end;
    }
    return at;
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (this.#block !== undefined && type !== FrameType.continuation) {
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
    if ((flags & Flag.priority) !== 0) {
      if (block.length < 5) throw new ProtocolError(ErrorCode.frameSize, "priority");
      if ((block.readUInt32BE(0) & 0x7fff_ffff) === stream) throw protocol("depends on itself");
      block = block.subarray(5);
    }
    const endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return this.#sink.headerBlock(stream, endStream, block);
    const { length } = block;
    this.#block = { stream, endStream, room: Buffer.from(block), length, continuations: 0 };
  }

  #continue(flags: number, stream: number, payload: Buffer): void {
    const block = this.#block;
    if (block === undefined || block.stream !== stream) throw protocol("continuation of nothing");
    const length = block.length + payload.length;
    if (length > headerBlockBytesMax || ++block.continuations > continuationsMax) {
      throw new ProtocolError(ErrorCode.enhanceYourCalm, "header block too large");
    }
    block.room = withRoom(block.room, block.length, length);
    payload.copy(block.room, block.length);
    block.length = length;
    if ((flags & Flag.endHeaders) === 0) return;
    this.#block = undefined;
    this.#sink.headerBlock(stream, block.endStream, block.room.subarray(0, length));
  }
}

/** A buffer for incomplete data, with its own memory. */
class Bytes {
  #room: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  add(more: Buffer): void {
    if (more.length === 0) return;
    const length = this.#length + more.length;
    this.#room = withRoom(this.#room, this.#length, length);
    more.copy(this.#room, this.#length);
    this.#length = length;
  }

  /** Removes bytes from the beginning. */
  drop(bytes: number): void {
    if (bytes === 0) return;
    if (bytes < this.#length) this.#room = Buffer.from(this.#room.subarray(bytes, this.#length));
    else this.#room = nothing;
    this.#length -= bytes;
  }
}

/** Returns `room` with its first `used` bytes, enlarged to at least `needed`. */
function withRoom(room: Buffer, used: number, needed: number): Buffer {
  if (needed <= room.length) return room;
  const larger = Buffer.allocUnsafe(Math.max(needed, room.length * 2));
  room.copy(larger, 0, 0, used);
  return larger;
}

/** Payload length of the frame whose header is at `at`. */
function lengthAt(bytes: Buffer, at: number): number {
  const length = bytes.readUIntBE(at, 3);
  if (length > frameBytesMax) throw new ProtocolError(ErrorCode.frameSize, `frame of ${length}`);
  return length;
}

function unpad(flags: number, payload: Buffer): Buffer {
  if ((flags & Flag.padded) === 0) return payload;
  const padding = payload[0] ?? 0;
  if (padding >= payload.length) throw protocol("more padding than payload");
  return payload.subarray(1, payload.length - padding);
}
