/**
 * Splits a stream of frames, each preceded by its length in 4 bytes (big-endian), chunk by chunk.
 *
 * In     chunks of any size, borrowed until return. Out: frames; a frame that lies whole in a chunk is a part of it.
 * Holds  at most one unfinished frame, in a buffer of its length; a length above `frameBytesMax` throws before that.
 */
import { FrameTooLargeError } from "./json-frames.ts";

const headBytes = 4;

export class LengthFrames {
  readonly #frameBytesMax: number;
  readonly #head = new Uint8Array(headBytes);
  #headFilled = 0;
  /** Body of a frame whose header is complete. */
  #body: Uint8Array | undefined;
  #bodyFilled = 0;

  constructor(options: { frameBytesMax: number }) {
    this.#frameBytesMax = options.frameBytesMax;
  }

  /** False: the end of the stream here would cut a frame. */
  get isAtBoundary(): boolean {
    return this.#headFilled === 0;
  }

  /** The frames that `chunk` completes, in order. */
  push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = [];
    let at = 0;
    while (at < chunk.length) {
      const whole = this.isAtBoundary ? this.#wholeFrame(chunk, at) : undefined;
      if (whole !== undefined) {
        frames.push(whole);
        at += headBytes + whole.length;
      } else at = this.#fill(chunk, at, frames);
    }
    return frames;
  }

  #wholeFrame(chunk: Uint8Array, at: number): Uint8Array | undefined {
    const start = at + headBytes;
    if (start > chunk.length) return undefined;
    const end = start + this.#length(chunk, at);
    return end > chunk.length ? undefined : chunk.subarray(start, end);
  }

  /** Copies the missing bytes of the incomplete frame. @returns the index after them. */
  #fill(chunk: Uint8Array, from: number, frames: Uint8Array[]): number {
    let at = from;
    while (this.#headFilled < headBytes && at < chunk.length) {
      this.#head[this.#headFilled++] = chunk[at++] ?? 0;
    }
    if (this.#headFilled < headBytes) return at;
    const body = (this.#body ??= new Uint8Array(this.#length(this.#head, 0)));
    const part = chunk.subarray(at, at + body.length - this.#bodyFilled);
    body.set(part, this.#bodyFilled);
    this.#bodyFilled += part.length;
    if (this.#bodyFilled === body.length) {
      frames.push(body);
      this.#headFilled = 0;
      this.#body = undefined;
      this.#bodyFilled = 0;
    }
    return at + part.length;
  }

  #length(bytes: Uint8Array, at: number): number {
    const byte = (index: number): number => bytes[at + index] ?? 0;
    const length = byte(0) * 2 ** 24 + byte(1) * 2 ** 16 + byte(2) * 2 ** 8 + byte(3);
    if (length > this.#frameBytesMax) throw new FrameTooLargeError(this.#frameBytesMax);
    return length;
  }
}
