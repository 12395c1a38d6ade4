/**
 * Reading protobuf: fields of one message, in the order they come. No schema here.
 *
 * Holds  no length from outside is believed before it is checked against what is left; groups
 *        (deprecated, unused by Kubernetes) and varints of more than ten bytes are errors.
 * Bytes  values are views into the input: borrowed.
 */

/** The bytes are not a valid protobuf message; the text names the error. */
export class ProtobufError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ProtobufError";
  }
}

export interface ProtobufField {
  readonly number: number;
  /** Value of varint and fixed fields. */
  readonly integer: bigint;
  /** Value of length-delimited fields; empty for others. */
  readonly bytes: Uint8Array;
  readonly wireType: number;
}

const empty = new Uint8Array(0);

/** Calls `visit` for every field of `message`. */
export function readFields(message: Uint8Array, visit: (field: ProtobufField) => void): void {
  const reader = { bytes: message, at: 0 };
  while (reader.at < message.length) {
    const tag = Number(readVarint(reader));
    const wireType = tag & 7;
    const number = Math.floor(tag / 8);
    if (number === 0) throw new ProtobufError("proto: illegal tag 0");
    visit(readValue(reader, number, wireType));
  }
}

interface Reader {
  readonly bytes: Uint8Array;
  at: number;
}

function readValue(reader: Reader, number: number, wireType: number): ProtobufField {
  switch (wireType) {
    case 0:
      return { number, wireType, integer: readVarint(reader), bytes: empty };
    case 1:
      return { number, wireType, integer: readFixed(reader, 8), bytes: empty };
    case 2:
      return { number, wireType, integer: 0n, bytes: readBytes(reader) };
    case 5:
      return { number, wireType, integer: readFixed(reader, 4), bytes: empty };
    default:
      throw new ProtobufError(`proto: illegal wireType ${wireType}`);
  }
}

/** Reads 7 bits per byte, lowest first, at most ten bytes; bits beyond 64 are dropped. */
function readVarint(reader: Reader): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = reader.bytes[reader.at++];
    if (byte === undefined) throw new ProtobufError("unexpected EOF");
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
  throw new ProtobufError("proto: integer overflow");
}

function readFixed(reader: Reader, length: number): bigint {
  if (reader.at + length > reader.bytes.length) throw new ProtobufError("unexpected EOF");
  let value = 0n;
  for (let at = length - 1; at >= 0; at--) {
    value = (value << 8n) | BigInt(reader.bytes[reader.at + at] ?? 0);
  }
  reader.at += length;
  return value;
}

function readBytes(reader: Reader): Uint8Array {
  const length = Number(readVarint(reader));
  if (length > reader.bytes.length - reader.at) throw new ProtobufError("unexpected EOF");
  const bytes = reader.bytes.subarray(reader.at, reader.at + length);
  reader.at += length;
  return bytes;
}

/** The envelope of every Kubernetes object on the wire: magic, then a message. */
interface ProtobufEnvelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
  readonly contentType: string;
}

const magic = [0x6b, 0x38, 0x73, 0x00];
/** A byte order mark is kept, because it is part of a name. */
const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws ProtobufError when the bytes do not begin with `k8s\0` or the envelope is invalid. */
export function readEnvelope(bytes: Uint8Array): ProtobufEnvelope {
  if (!magic.every((byte, at) => bytes[at] === byte)) {
    throw new ProtobufError(
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    );
  }
  const envelope = { apiVersion: "", kind: "", raw: empty as Uint8Array, contentType: "" };
  readFields(bytes.subarray(magic.length), (field) => {
    if (field.number === 1) readTypeMeta(field.bytes, envelope);
    else if (field.number === 2) envelope.raw = field.bytes;
    else if (field.number === 4) envelope.contentType = utf8(field.bytes);
  });
  return envelope;
}

function readTypeMeta(bytes: Uint8Array, envelope: { apiVersion: string; kind: string }): void {
  readFields(bytes, (field) => {
    if (field.number === 1) envelope.apiVersion = utf8(field.bytes);
    else if (field.number === 2) envelope.kind = utf8(field.bytes);
  });
}

/** Throws ProtobufError for invalid UTF-8. */
export function utf8(bytes: Uint8Array): string {
  try {
    return text.decode(bytes);
  } catch {
    throw new ProtobufError("proto: invalid UTF-8 in a string field");
  }
}
