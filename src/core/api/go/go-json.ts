/**
 * JSON text as Go's encoder writes it: `<`, `>`, `&` and two line separators as escapes, keys of maps in
 * order. Needed where upstream compares bytes; elsewhere the two spellings are equivalent.
 *
 * Key order  JavaScript puts keys that are array indexes first, so their place in the text is lost. Only
 *            maps have such keys, and Go sorts maps: an object that has one is written sorted.
 */
import { isRecord } from "#base/is-record.ts";

const escaped = /[<>&\u2028\u2029]/;
const escapes = ["<", ">", "&", "\u2028", "\u2029"].map(
  (char) => [char, `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`] as const,
);
const hasIndexKey = /"\d+":/;

export function goJson(value: unknown): string {
  const text = JSON.stringify(value);
  return escapeForGo(hasIndexKey.test(text) ? writeInOrder(value) : text);
}

/** Correct for whole JSON texts, because these characters occur only in strings. */
export function escapeForGo(text: string): string {
  if (!escaped.test(text)) return text;
  return escapes.reduce((done, [char, escape]) => done.replaceAll(char, escape), text);
}

function writeInOrder(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeInOrder).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  if (keys.some((key) => /^\d+$/.test(key))) keys.sort();
  const fields = keys.map((key) => `${JSON.stringify(key)}:${writeInOrder(value[key])}`);
  return `{${fields.join(",")}}`;
}
