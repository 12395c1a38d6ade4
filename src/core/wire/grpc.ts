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

/** The error of a failed call. */
export class GrpcError extends Error {
  readonly code: Code;

  constructor(code: Code, message: string) {
    super(message);
    this.name = "GrpcError";
    this.code = code;
  }
}

/** Fills in the five bytes of free space before a message. */
export function framed(withHeadroom: Buffer): Buffer {
  withHeadroom[0] = 0;
  withHeadroom.writeUInt32BE(withHeadroom.length - prefixBytes, 1);
  return withHeadroom;
}

/** Initial memory for a message; doubled as more of it arrives. */
const roomBytesLeast = 4096;
const nothing = Buffer.alloc(0);

/**
 * Cuts a stream of chunks into messages. A message that comes in one chunk is not copied; the beginning
 * of one that does not is copied into room of its own, so that chunks of a byte cost a byte each.
 */
export class Deframer {
  readonly #bytesMax: number;
  readonly #encoding: string;
  #room: Buffer = nothing;
  #held = 0;
  /** Size of the held message, including its prefix; 0: unknown yet. */
  #wanted = 0;

  /** `encoding`: the compression that the peer declared. */
  constructor(bytesMax: number, encoding: string = "") {
    this.#bytesMax = bytesMax;
    this.#encoding = encoding;
  }

  /** Whether bytes of an incomplete message are held. */
  get hasPartialMessage(): boolean {
    return this.#held > 0;
  }

  /** Memory of an incomplete message. */
  get roomBytes(): number {
    return this.#room.length;
  }

  /** Discards the incomplete message. */
  drop(): void {
    this.#room = nothing;
    this.#held = 0;
    this.#wanted = 0;
  }

  /** Calls `take` with each message that is complete. Throws GrpcError. */
  push(chunk: Buffer, take: (message: Buffer) => void): void {
    let rest = chunk;
    while (this.#held > 0 && rest.length > 0) rest = this.#fill(rest, take);
    let at = 0;
    while (rest.length - at >= prefixBytes) {
      const end = at + prefixBytes + this.#lengthAt(rest, at);
      if (end > rest.length) break;
      this.#take(rest, at, end, take);
      at = end;
    }
    if (at < rest.length) this.#hold(at === 0 ? rest : rest.subarray(at));
  }

  /** Adds bytes to the held message and passes it on when complete. @returns the remaining bytes. */
  #fill(chunk: Buffer, take: (message: Buffer) => void): Buffer {
    const wanted = this.#wanted === 0 ? prefixBytes : this.#wanted;
    const part = chunk.subarray(0, wanted - this.#held);
    this.#hold(part);
    if (this.#held === this.#wanted) {
      const whole = this.#room;
      this.drop();
      this.#take(whole, 0, wanted, take);
    }
    return chunk.subarray(part.length);
  }

  #take(bytes: Buffer, at: number, end: number, take: (message: Buffer) => void): void {
    const message = bytes.subarray(at + prefixBytes, end);
    take(bytes[at] === 0 ? message : gunzip(message, this.#bytesMax));
  }

  /** Length of the message whose prefix is at `at`; refuses an invalid prefix. */
  #lengthAt(bytes: Buffer, at: number): number {
    const flag = bytes[at] as number;
    if (flag !== 0) this.#checkFlag(flag);
    const length = bytes.readUInt32BE(at + 1);
    if (length > this.#bytesMax) throw tooLarge(length, this.#bytesMax);
    return length;
  }

  #hold(part: Buffer): void {
    const held = this.#held + part.length;
    if (held > this.#room.length) this.#grow(held);
    part.copy(this.#room, this.#held);
    this.#held = held;
    if (this.#wanted === 0 && held >= prefixBytes) {
      this.#wanted = prefixBytes + this.#lengthAt(this.#room, 0);
    }
  }

  #grow(needed: number): void {
    const most = this.#wanted === 0 ? prefixBytes + this.#bytesMax : this.#wanted;
    const bytes = Math.min(most, Math.max(needed, roomBytesLeast, this.#room.length * 2));
    const room = Buffer.allocUnsafeSlow(Math.max(bytes, needed));
    this.#room.copy(room, 0, 0, this.#held);
    this.#room = room;
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

/** Encodes `grpc-message`: percent-encoded UTF-8, in which printable ASCII except "%" is literal. */
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
