/** size, contains, startsWith, endsWith, matches. */
import {
  declare,
  free,
  listOf,
  mapOf,
  member,
  parameter,
  textOf,
  types,
  type Library,
} from "../libraries/library.ts";
import { hasMatch } from "../libraries/regex-library.ts";
import { textLength } from "../libraries/text-functions.ts";
import { ListValue, MapValue, type Value } from "../libraries/values.ts";
import { ObjectValue } from "../object-value.ts";
import { noOverload } from "./arithmetic.ts";

const { bool, bytes, int, string } = types;
const a = parameter("A");
const b = parameter("B");

function size(value?: Value): Value {
  if (typeof value === "string") return BigInt(textLength(value));
  if (value instanceof Uint8Array) return BigInt(value.length);
  if (value instanceof ListValue || value instanceof MapValue || value instanceof ObjectValue) {
    return BigInt(value.size);
  }
  throw noOverload();
}

function matches(text?: Value, pattern?: Value): Value {
  return hasMatch(textOf(text), textOf(pattern));
}

export const textLibrary: Library = {
  name: "stdlib.texts",
  since: 0,
  functions: [
    declare(
      "size",
      free("size_bytes", [bytes], int, size),
      member("bytes_size", [bytes], int, size),
      free("size_list", [listOf(a)], int, size),
      member("list_size", [listOf(a)], int, size),
      free("size_map", [mapOf(a, b)], int, size),
      member("map_size", [mapOf(a, b)], int, size),
      free("size_string", [string], int, size),
      member("string_size", [string], int, size),
    ),
    declare(
      "contains",
      member("contains_string", [string, string], bool, (text, part) =>
        textOf(text).includes(textOf(part)),
      ),
    ),
    declare(
      "endsWith",
      member("ends_with_string", [string, string], bool, (text, end) =>
        textOf(text).endsWith(textOf(end)),
      ),
    ),
    declare(
      "startsWith",
      member("starts_with_string", [string, string], bool, (text, start) =>
        textOf(text).startsWith(textOf(start)),
      ),
    ),
    declare(
      "matches",
      free("matches", [string, string], bool, matches),
      member("matches_string", [string, string], bool, matches),
    ),
  ],
};
