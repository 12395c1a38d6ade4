/**
 * gRPC's framing over HTTP/2: each message is one byte of flags, four bytes of length, the message.
 *
 * Holds  a length is compared with the limit before a byte of the message is kept; gzip may be sent,
 *        and is bounded as it grows; what we send is never compressed.
 */
import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";

export const prefixBytes = 5;

/** The status codes of gRPC that are used here. */
export const Code = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;
export type Code = (typeof Code)[keyof typeof Code];

/** What a call ends with, unless all is well. */
export class GrpcError extends Error {
  readonly code: Code;

  constructor(code: Code, message: string) {
    super(message);
    this.name = "GrpcError";
    this.code = code;
  }
}

/** Fills in the five bytes that were left free before a message. */
export function framed(withHeadroom: Buffer): Buffer {
  withHeadroom[0] = 0;
  withHeadroom.writeUInt32BE(withHeadroom.length - prefixBytes, 1);
  return withHeadroom;
}

/** Cuts a stream of chunks into messages. */
export class Deframer {
  readonly #bytesMax: number;
  readonly #encoding: string;
  #chunks: Buffer[] = [];
  #held = 0;

  /** `encoding`: what the peer says that its compressed messages are in. */
  constructor(bytesMax: number, encoding: string = "") {
    this.#bytesMax = bytesMax;
    this.#encoding = encoding;
  }

  /** Whether bytes of an unfinished message are held. */
  get partial(): boolean {
    return this.#held > 0;
  }

  /** Calls `take` with each message that is now whole. Throws GrpcError. */
  push(chunk: Buffer, take: (message: Buffer) => void): void {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    while (this.#held >= prefixBytes) {
      const head = this.#joined(prefixBytes);
      const length = head.readUInt32BE(1);
      const flag = head[0] as number;
      if (flag !== 0) this.#checkFlag(flag);
      if (length > this.#bytesMax) throw tooLarge(length, this.#bytesMax);
      if (this.#held < prefixBytes + length) return;
      const whole = this.#joined(prefixBytes + length);
      this.#drop(whole, prefixBytes + length);
      const message = whole.subarray(prefixBytes, prefixBytes + length);
      take(flag === 0 ? message : gunzip(message, this.#bytesMax));
    }
  }

  #checkFlag(flag: number): void {
    const encoding = this.#encoding;
    if (flag !== 1) {
      throw new GrpcError(Code.internal, `grpc: received unexpected payload format ${flag}`);
    }
    if (encoding === "" || encoding === "identity") {
      const message = "grpc: compressed flag set with identity or empty encoding";
      throw new GrpcError(Code.internal, message);
    }
    if (encoding !== "gzip") {
      const message = `grpc: Decompressor is not installed for grpc-encoding "${encoding}"`;
      throw new GrpcError(Code.unimplemented, message);
    }
  }

  /** The first held chunk, made at least `bytes` long; that many are held. */
  #joined(bytes: number): Buffer {
    const first = this.#chunks[0] as Buffer;
    if (first.length >= bytes) return first;
    const all = Buffer.concat(this.#chunks, this.#held);
    this.#chunks = [all];
    return all;
  }

  #drop(first: Buffer, bytes: number): void {
    this.#held -= bytes;
    if (first.length === bytes) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(bytes);
  }
}

function gunzip(bytes: Buffer, bytesMax: number): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      const message = `grpc: received message after decompression larger than max ${bytesMax}`;
      throw new GrpcError(Code.resourceExhausted, message);
    }
    const message = `grpc: failed to decompress the message: ${(error as Error).message}`;
    throw new GrpcError(Code.internal, message);
  }
}

function tooLarge(length: number, max: number): GrpcError {
  return new GrpcError(
    Code.resourceExhausted,
    `grpc: received message larger than max (${length} vs. ${max})`,
  );
}

/** `grpc-message` is percent-encoded UTF-8; printable ASCII but "%" stands for itself. */
export function encodeGrpcMessage(text: string): string {
  if (/^[\x20-\x24\x26-\x7e]*$/.test(text)) return text;
  let encoded = "";
  for (const byte of Buffer.from(text, "utf8")) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += plain
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

export function decodeGrpcMessage(text: string): string {
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const hex = text[at] === "%" ? text.slice(at + 1, at + 3) : "";
    if (/^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else bytes.push(text.charCodeAt(at) & 0xff);
  }
  return Buffer.from(bytes).toString("utf8");
}
