/**
 * Splits a stream of concatenated JSON values (a watch body) into whole values, chunk by chunk.
 *
 * In     chunks of any size, borrowed until return; white space between values is skipped.
 * Holds  at most one unfinished value of `frameBytesMax`; a longer one throws before it is kept.
 * Cost   each byte is read once; strings are skipped by a tight loop, never decoded here.
 */
import { concatBytes } from "#base/bytes.ts";
import { parseExactJson } from "#base/exact-json.ts";

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

export class FrameTooLargeError extends Error {
  constructor(limitBytes: number) {
    super(`watch frame is larger than ${limitBytes} bytes`);
    this.name = "FrameTooLargeError";
  }
}

export class JsonFrames {
  readonly #frameBytesMax: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  constructor(options: { frameBytesMax: number }) {
    this.#frameBytesMax = options.frameBytesMax;
  }

  /** Whether the stream is between two values, where it may end without loss. */
  get isAtBoundary(): boolean {
    return this.#depth === 0 && this.#pendingBytes === 0;
  }

  /** The parsed values that `chunk` completes, in order. Throws SyntaxError for invalid JSON. */
  push(chunk: Uint8Array): unknown[] {
    return this.pushBytes(chunk).map((value) => this.parse(value));
  }

  /** Parses a value returned by `pushBytes`. Throws SyntaxError. */
  parse(value: Uint8Array): unknown {
    return parseExactJson(this.#decoder.decode(value));
  }

  /** The same, unparsed: parts of `chunk` where a whole value lies in it. */
  pushBytes(chunk: Uint8Array): Uint8Array[] {
    const values: Uint8Array[] = [];
    let start = this.#depth > 0 ? 0 : -1;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] ?? 0;
      if (this.#inString) {
        i = this.#skipString(chunk, i);
      } else if (byte === quote) {
        if (this.#depth === 0) throw new SyntaxError("watch frame does not start with an object");
        this.#inString = true;
      } else if (byte === openBrace || byte === openBracket) {
        if (this.#depth++ === 0) start = i;
      } else if (byte === closeBrace || byte === closeBracket) {
        if (--this.#depth < 0) throw new SyntaxError("watch frame closes what was not opened");
        if (this.#depth > 0) continue;
        values.push(this.#finish(chunk.subarray(start, i + 1)));
        start = -1;
      } else if (this.#depth === 0 && byte > 0x20) {
        throw new SyntaxError("watch frame does not start with an object");
      }
    }
    if (start >= 0) this.#keep(chunk.slice(start));
    return values;
  }

  /** Moves to the end of the string or chunk; returns the last index examined. */
  #skipString(chunk: Uint8Array, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i];
      if (this.#escaped) this.#escaped = false;
      else if (byte === backslash) this.#escaped = true;
      else if (byte === quote) {
        this.#inString = false;
        return i;
      }
    }
    return chunk.length;
  }

  #keep(part: Uint8Array): void {
    this.#pendingBytes += part.length;
    if (this.#pendingBytes > this.#frameBytesMax) throw new FrameTooLargeError(this.#frameBytesMax);
    this.#pending.push(part);
  }

  #finish(last: Uint8Array): Uint8Array {
    if (this.#pendingBytes + last.length > this.#frameBytesMax) {
      throw new FrameTooLargeError(this.#frameBytesMax);
    }
    const whole = this.#pending.length === 0 ? last : joinBytes([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return whole;
  }
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1 && parts[0] !== undefined) return parts[0];
  return concatBytes(parts);
}
