/**
 * Writes protobuf: one field at a time, as bytes that are joined. Enough for the few messages of xDS.
 *
 * Holds  as proto3: a field with its default value (0, "", no bytes of text) is left out; an embedded
 *        message is written even when it is empty.
 */
import { concatBytes } from "#base/bytes.ts";
import { assert } from "#base/assert.ts";

const nothing = new Uint8Array(0);
const encoder = new TextEncoder();

/** Wire types of protobuf. */
const varintType = 0;
const bytesType = 2;

export function message(...fields: readonly Uint8Array[]): Uint8Array {
  return fields.length === 1 ? (fields[0] as Uint8Array) : concatBytes(fields);
}

/** Encodes a uint32, int32 >= 0, enum or bool. */
export function numberField(field: number, value: number): Uint8Array {
  assert(value >= 0 && value <= 0xffff_ffff, "a number that is no uint32", { field, value });
  if (value === 0) return nothing;
  const tag = field * 8 + varintType;
  const bytes = new Uint8Array(varintLength(tag) + varintLength(value));
  writeVarint(bytes, writeVarint(bytes, 0, tag), value);
  return bytes;
}

export function textField(field: number, value: string): Uint8Array {
  return value === "" ? nothing : bytesField(field, encoder.encode(value));
}

/** Encodes repeated strings; they are written even when empty. */
export function textFields(field: number, values: readonly string[]): Uint8Array {
  return concatBytes(values.map((value) => bytesField(field, encoder.encode(value))));
}

/** Encodes bytes or an embedded message. */
export function bytesField(field: number, value: Uint8Array): Uint8Array {
  const tag = field * 8 + bytesType;
  const headLength = varintLength(tag) + varintLength(value.length);
  const bytes = new Uint8Array(headLength + value.length);
  writeVarint(bytes, writeVarint(bytes, 0, tag), value.length);
  bytes.set(value, headLength);
  return bytes;
}

/** Encodes a google.protobuf.Any: type_url = 1, value = 2. */
export function anyMessage(typeUrl: string, value: Uint8Array): Uint8Array {
  return message(textField(1, typeUrl), bytesField(2, value));
}

function varintLength(value: number): number {
  let length = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 128)) length++;
  return length;
}

/** @returns the position after the varint. */
function writeVarint(bytes: Uint8Array, start: number, value: number): number {
  let [at, left] = [start, value];
  for (; left >= 0x80; left = Math.floor(left / 128)) bytes[at++] = (left % 128) | 0x80;
  bytes[at++] = left;
  return at;
}
