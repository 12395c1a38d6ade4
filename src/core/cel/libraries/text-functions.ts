/**
 * The functions of the strings library on plain texts. Places and lengths are in code points, as in CEL;
 * a text without surrogates (nearly every one) is indexed directly.
 */
import { ownEntry } from "#base/own.ts";
import { namedEscapes } from "./go-quote.ts";
import { FunctionError, checkCharacters, checkElements } from "./limits.ts";
import { findEach, findLastText, findText } from "./text-search.ts";

const surrogates = /[\ud800-\udfff]/;

/** Number of code points. */
export function textLength(text: string): number {
  if (!surrogates.test(text)) return text.length;
  let pairs = 0;
  for (let at = 0; at < text.length - 1; at++) {
    if (isPair(text, at)) {
      pairs++;
      at++;
    }
  }
  return text.length - pairs;
}

function isPair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
}

/** Number of UTF-8 bytes. */
export function textBytes(text: string): number {
  if (/^\p{ASCII}*$/u.test(text)) return text.length;
  return new TextEncoder().encode(text).byteLength;
}

/** Converts a code point index to a UTF-16 index; `count` may equal the length of the text. */
function placeOf(text: string, count: number): number {
  if (!surrogates.test(text)) return count;
  let place = 0;
  for (let left = count; left > 0; left--) place += isPair(text, place) ? 2 : 1;
  return place;
}

function outOfRange(index: bigint): FunctionError {
  return new FunctionError(`index out of range: ${index}`);
}

export function charAt(text: string, index: bigint): string {
  const length = BigInt(textLength(text));
  if (index < 0n || index > length) throw outOfRange(index);
  if (index === length) return "";
  return String.fromCodePoint(text.codePointAt(placeOf(text, Number(index))) ?? 0);
}

export function indexOfText(text: string, part: string, offset: bigint): bigint {
  if (part === "") return offset;
  if (offset < 0n) throw outOfRange(offset);
  if (offset >= BigInt(textLength(text))) return -1n;
  return countBefore(text, findText(text, part, placeOf(text, Number(offset))));
}

/** @param offset absent: the end of the text. */
export function lastIndexOfText(text: string, part: string, offset?: bigint): bigint {
  const length = textLength(text);
  if (part === "") return offset ?? BigInt(length);
  if (offset === undefined) return countBefore(text, findLastText(text, part, text.length));
  if (offset < 0n) throw outOfRange(offset);
  if (offset >= BigInt(length)) return -1n;
  return countBefore(text, findLastText(text, part, placeOf(text, Number(offset))));
}

function countBefore(text: string, place: number): bigint {
  return BigInt(place < 0 ? -1 : textLength(text.slice(0, place)));
}

export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export function upperAscii(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** @param limit maximum replacements; negative: unlimited. */
export function replaceText(text: string, old: string, by: string, limit: bigint): string {
  if (limit === 0n || old === by) return text;
  const most = limit < 0n || limit > BigInt(text.length) + 1n ? text.length + 1 : Number(limit);
  if (old === "") return replaceBetween(text, by, most);
  const places = findEach(text, old, most);
  checkCharacters("replace", text.length + places.length * (by.length - old.length));
  const parts: string[] = [];
  let from = 0;
  for (const place of places) {
    parts.push(text.slice(from, place));
    from = place + old.length;
  }
  parts.push(text.slice(from));
  return parts.join(by);
}

/** An empty text occurs before each character and at the end. */
function replaceBetween(text: string, by: string, most: number): string {
  const chars = Array.from(text);
  const count = Math.min(most, chars.length + 1);
  checkCharacters("replace", text.length + count * by.length);
  const after = count > chars.length ? by : "";
  return chars.map((char, at) => (at < count ? by + char : char)).join("") + after;
}

/** @param limit maximum parts; negative: unlimited. */
export function splitText(text: string, separator: string, limit: bigint): string[] {
  if (limit === 0n) return [];
  const most = limit < 0n || limit > BigInt(text.length) + 1n ? text.length + 1 : Number(limit);
  if (separator === "") return splitChars(text, most);
  const places = findEach(text, separator, most - 1);
  checkElements("split", places.length + 1);
  const parts: string[] = [];
  let from = 0;
  for (const place of places) {
    parts.push(text.slice(from, place));
    from = place + separator.length;
  }
  parts.push(text.slice(from));
  return parts;
}

function splitChars(text: string, most: number): string[] {
  checkElements("split", Math.min(most, text.length));
  const chars = Array.from(text);
  if (chars.length <= most) return chars;
  return [...chars.slice(0, most - 1), chars.slice(most - 1).join("")];
}

/** @param end absent: the end of the text. */
export function substringOf(text: string, start: bigint, end?: bigint): string {
  const length = BigInt(textLength(text));
  if (end !== undefined && start > end) {
    throw new FunctionError(`invalid substring range. start: ${start}, end: ${end}`);
  }
  if (start < 0n || start > length) throw outOfRange(start);
  if (end !== undefined && (end < 0n || end > length)) throw outOfRange(end);
  const stop = end === undefined ? undefined : placeOf(text, Number(end));
  return text.slice(placeOf(text, Number(start)), stop);
}

const space = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/** White space by Unicode as in Go: without the byte order mark, with U+0085. */
export function trimText(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && space.test(text.charAt(start))) start++;
  while (end > start && space.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** The text as a CEL literal; unlike Go's %q, unprintable characters are kept. */
export function quoteText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is quoted
  return `"${text.toWellFormed().replace(/[\u0007-\r\\"]/g, (char) => ownEntry(namedEscapes, char) ?? char)}"`;
}

export function joinTexts(texts: readonly string[], separator: string): string {
  checkCharacters("join", joinedLength(texts, separator));
  return texts.join(separator);
}

function joinedLength(texts: readonly string[], separator: string): number {
  const separators = Math.max(0, texts.length - 1) * separator.length;
  return texts.reduce((sum, text) => sum + text.length, separators);
}

/** Escapes `~` and `/` for a JSON pointer. */
export function escapeKey(text: string): string {
  return text.replace(/[~/]/g, (char) => (char === "~" ? "~0" : "~1"));
}
