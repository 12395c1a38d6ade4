/**
 * Objects as google.protobuf.Struct, for collections whose clients have no message of their own.
 *
 * After  google/protobuf/struct.proto: Struct { fields = 1, a map }, Value { null = 1, number = 2, string = 3,
 *        bool = 4, struct = 5, list = 6 }, ListValue { values = 1 }. Numbers are doubles: integers beyond
 *        2^53 are rounded.
 */
import { bytesField, message, textField } from "./message-fields.ts";

/** Maximum depth. A level takes four messages, and readers of protobuf accept a hundred. */
const depthMax = 24;

/** Encodes an object as a Struct. @returns undefined when it is too deep for readers. */
export function structMessage(object: object, depth = 0): Uint8Array | undefined {
  if (depth > depthMax) return undefined;
  const entries: Uint8Array[] = [];
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const bytes = valueMessage(value, depth + 1);
    if (bytes === undefined) return undefined;
    entries.push(bytesField(1, message(textField(1, name), bytesField(2, bytes))));
  }
  return message(...entries);
}

/** Encodes a value. A oneof's member is written even when it is zero. */
function valueMessage(value: unknown, depth: number): Uint8Array | undefined {
  switch (typeof value) {
    case "string":
      return bytesField(3, new TextEncoder().encode(value));
    case "number":
    case "bigint":
      return doubleField(Number(value));
    case "boolean":
      return Uint8Array.of(4 * 8, value ? 1 : 0);
    default:
      if (value === null || typeof value !== "object") return Uint8Array.of(1 * 8, 0);
      return Array.isArray(value) ? listValue(value, depth) : structValue(value, depth);
  }
}

function doubleField(value: number): Uint8Array {
  const bytes = new Uint8Array(9);
  // Wire type 1: eight bytes.
  bytes[0] = 2 * 8 + 1;
  new DataView(bytes.buffer).setFloat64(1, value, true);
  return bytes;
}

function structValue(value: object, depth: number): Uint8Array | undefined {
  const bytes = structMessage(value, depth);
  return bytes === undefined ? undefined : bytesField(5, bytes);
}

function listValue(list: readonly unknown[], depth: number): Uint8Array | undefined {
  if (depth > depthMax) return undefined;
  const values: Uint8Array[] = [];
  for (const one of list) {
    const bytes = valueMessage(one, depth + 1);
    if (bytes === undefined) return undefined;
    values.push(bytesField(1, bytes));
  }
  return bytesField(6, message(...values));
}
