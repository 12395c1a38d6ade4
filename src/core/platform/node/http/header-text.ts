/**
 * Header values: bytes on the wire, UTF-8 text inside. Node gives and takes each byte as one character
 * (latin1), so a user called `bøb` would arrive as `bÃ¸b`.
 *
 * Holds  headerOf(textOf(x)) = x for every x Node gives: no two values become one text. A byte that is no
 *        part of UTF-8 becomes a lone surrogate, U+DC00 + byte, which is in no UTF-8 (PEP 383 does so);
 *        `isWellFormed()` tells. Overlong forms and encoded surrogates are no UTF-8; a byte order
 *        mark is a character like any other.
 * Cost   a value of ASCII, which nearly all are, is looked at once and returned as it is.
 */
import { dictionary } from "#base/own.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const escapeBase = 0xdc00;
const ascii = /^[^\u0080-\uffff]*$/;

/** Turns a header value as Node returns it into text. */
export function textOf(value: string): string {
  if (ascii.test(value)) return value;
  const bytes = Buffer.from(value, "latin1");
  return decoded(bytes) ?? escaped(bytes);
}

/** Turns text into a header value as Node expects it. */
export function headerOf(text: string): string {
  if (ascii.test(text)) return text;
  let value = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const isByte = code >= escapeBase + 0x80 && code <= escapeBase + 0xff;
    if (isByte) value += String.fromCharCode(code - escapeBase);
    else value += code < 0x80 ? character : Buffer.from(character).toString("latin1");
  }
  return value;
}

/** Returns headers as Node expects them. Each value of a list becomes a line of its own. */
export function headersOf(
  headers: Readonly<Record<string, string | readonly string[]>>,
): Record<string, string | string[]> {
  const all = dictionary<string | string[]>();
  for (const [name, value] of Object.entries(headers)) {
    all[name] = typeof value === "string" ? headerOf(value) : value.map(headerOf);
  }
  return all;
}

/** Replaces bytes beyond ASCII in a request target by percent-encodings, which mean the same. */
export function asciiTarget(target: string): string {
  if (ascii.test(target)) return target;
  return target.replace(
    /[\x80-\xff]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Escapes whole UTF-8 characters where the bytes form any, and single bytes otherwise. */
function escaped(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes[at] ?? 0);
    const character =
      at + length <= bytes.length ? decoded(bytes.subarray(at, at + length)) : undefined;
    text += character ?? String.fromCharCode(escapeBase + (bytes[at] ?? 0));
    at += character === undefined ? 1 : length;
  }
  return text;
}

/** Length of a UTF-8 character by its first byte; the decoder checks whether the other bytes fit. */
function characterLength(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
