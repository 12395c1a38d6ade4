/**
 * Encodes a whole object as the bytes of a body: JSON, YAML or protobuf, as negotiated.
 *
 * JSON ends in a newline unless it is pretty, as with upstream's encoder.
 */
import { stringify } from "yaml";
import { objectText } from "#api/json/kept-json.ts";
import type { AnyObject } from "#api/object.ts";
import { type Negotiated, protobufType } from "./negotiate.ts";
import { objectBytes } from "./protobuf/envelope.ts";

const encoder = new TextEncoder();

export function bodyOf(object: object, form: Negotiated): Uint8Array {
  // Protobuf is only negotiated for built-in kinds.
  if (form.mediaType === protobufType) return objectBytes(object as AnyObject);
  if (form.mediaType === "application/yaml") return encoder.encode(yamlText(object));
  if (form.isPretty) return encoder.encode(JSON.stringify(object, undefined, 2));
  return encoder.encode(`${objectText(object)}\n`);
}

/**
 * The YAML library makes a node of each value, at about 4 us: an object of a megabyte would take half a second.
 * Beyond this many characters of JSON the answer is YAML in flow style, which is that JSON.
 */
export const blockStyleMax = 64 * 1024;

function yamlText(object: unknown): string {
  const json = JSON.stringify(object);
  return json.length > blockStyleMax ? `${json}\n` : stringify(object, yamlOptions);
}

/** As upstream: sorted keys, lists not indented. */
export const yamlOptions = {
  lineWidth: 0,
  aliasDuplicateObjects: false,
  version: "1.1",
  sortMapEntries: true,
  indentSeq: false,
} as const;
