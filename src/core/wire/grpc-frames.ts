/** HTTP/2's frame header, numbers and settings (RFC 9113), and the constant header blocks of gRPC. */
import { Buffer } from "node:buffer";

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
export const frameHeadBytes = 9;
/** The initial window of a connection and of each stream. */
export const defaultWindowBytes = 65_535;

export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = {
  endStream: 1,
  /** For SETTINGS and PING. */
  ack: 1,
  endHeaders: 4,
  padded: 8,
  priority: 32,
} as const;

export const Setting = {
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const ErrorCode = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

export function frameHead(type: number, flags: number, stream: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(frameHeadBytes);
  writeFrameHead(head, 0, type, flags, stream, length);
  return head;
}

// Writes the five fields of a frame header; positional arguments avoid an object per frame.
export function writeFrameHead(
  bytes: Buffer,
  at: number,
  type: number,
  flags: number,
  stream: number,
  length: number,
): void {
  bytes[at] = length >>> 16;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length;
  bytes[at + 3] = type;
  bytes[at + 4] = flags;
  bytes.writeUInt32BE(stream, at + 5);
}

export function settingsPayload(settings: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.alloc(settings.length * 6);
  settings.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  });
  return payload;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** A literal field without indexing, so that no table has to be kept in sync. */
function literal(name: string, value: string): Buffer {
  const parts = [name, value].flatMap((text) => {
    const bytes = Buffer.from(text, "latin1");
    return [integer(bytes.length, 7), bytes];
  });
  return Buffer.concat([Buffer.from([0]), ...parts]);
}

function integer(value: number, prefixBits: number): Buffer {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) return Buffer.from([value]);
  const bytes = [mask];
  let left = value - mask;
  for (; left >= 0x80; left >>>= 7) bytes.push((left & 0x7f) | 0x80);
  return Buffer.from([...bytes, left]);
}

const status200 = Buffer.from([0x88]);
/** `:status 200`, `content-type application/grpc`. */
export const grpcHead = Buffer.concat([status200, literal("content-type", "application/grpc")]);
export const grpcOkTrailers = literal("grpc-status", "0");

/** The header block of a plain HTTP answer. */
export function httpHead(status: number, headers: Readonly<Record<string, string>>): Buffer {
  const fields = Object.entries(headers).map(([name, value]) => literal(name, value));
  return Buffer.concat([literal(":status", String(status)), ...fields]);
}

/** A whole answer that refuses a call before it begins. */
export function grpcRefusal(status: number, code: number, message: string): Buffer {
  const head = httpHead(status, { "content-type": "application/grpc" });
  return Buffer.concat([head, grpcTrailers(code, message)]);
}

export function grpcTrailers(code: number, message: string): Buffer {
  return Buffer.concat([literal("grpc-status", String(code)), literal("grpc-message", message)]);
}
