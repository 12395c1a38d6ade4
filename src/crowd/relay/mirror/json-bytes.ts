/**
 * Finds in JSON bytes, without parsing them, where values begin and end, and the few fields a relay routes
 * by. Clients get the upstream's bytes unchanged: no number is rounded and no field is lost, for any kind.
 *
 * In     JSON written by a server: well-formed, keys without escapes. Other bytes throw SyntaxError or give
 *        an object that the parser refuses later; they never make a walk leave its array.
 * Cost   one look at each byte, strings skipped by a tight loop.
 */
import { parseExactJson } from "#base/exact-json.ts";
const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const space = 0x20;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A half-open range of an array. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member {
  readonly key: string;
  /** Span from the key's opening quote to the end of the value. */
  readonly whole: Span;
  readonly value: Span;
}

/** Returns the members of the object that starts at `start`, in order. */
export function members(bytes: Uint8Array, start: number): Member[] {
  const found: Member[] = [];
  let at = skipSpace(bytes, start);
  expect(bytes, at, openBrace);
  at = skipSpace(bytes, at + 1);
  while (bytes[at] !== closeBrace) {
    const { key, valueStart } = memberHead(bytes, at);
    const end = valueEnd(bytes, valueStart);
    found.push({ key, whole: { start: at, end }, value: { start: valueStart, end } });
    at = afterMember(bytes, end);
  }
  return found;
}

/**
 * Walks a list's body: yields each element of its `items`, in order, and returns its other members. Each byte is
 * looked at when its element is asked for, so the walk may pause between two of them.
 */
export function* listItems(bytes: Uint8Array): Generator<Span, readonly Member[]> {
  const found: Member[] = [];
  let at = skipSpace(bytes, 0);
  expect(bytes, at, openBrace);
  at = skipSpace(bytes, at + 1);
  while (bytes[at] !== closeBrace) {
    const { key, valueStart } = memberHead(bytes, at);
    const isItems = key === "items" && bytes[valueStart] === openBracket;
    const end = isItems ? yield* elements(bytes, valueStart) : valueEnd(bytes, valueStart);
    if (!isItems) {
      found.push({ key, whole: { start: at, end }, value: { start: valueStart, end } });
    }
    at = afterMember(bytes, end);
  }
  return found;
}

/** Yields the elements of the array that starts at `start`. @returns the index after the array. */
function* elements(bytes: Uint8Array, start: number): Generator<Span, number> {
  let at = skipSpace(bytes, start + 1);
  while (bytes[at] !== closeBracket) {
    const end = valueEnd(bytes, at);
    yield { start: at, end };
    at = skipSpace(bytes, end);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1);
    else expect(bytes, at, closeBracket);
  }
  return at + 1;
}

function memberHead(bytes: Uint8Array, at: number): { key: string; valueStart: number } {
  expect(bytes, at, quote);
  const keyEnd = stringEnd(bytes, at);
  const mark = skipSpace(bytes, keyEnd);
  expect(bytes, mark, colon);
  return { key: latin(bytes, at + 1, keyEnd - 1), valueStart: skipSpace(bytes, mark + 1) };
}

/** Returns the index of the next member, or of the object's closing brace. */
function afterMember(bytes: Uint8Array, end: number): number {
  const at = skipSpace(bytes, end);
  if (bytes[at] === comma) return skipSpace(bytes, at + 1);
  expect(bytes, at, closeBrace);
  return at;
}

export function parseSpan(bytes: Uint8Array, span: Span): unknown {
  return parseExactJson(decoder.decode(bytes.subarray(span.start, span.end)));
}

/** Returns a string value as text; "" for any other value. */
export function textOf(bytes: Uint8Array, span: Span): string {
  if (bytes[span.start] !== quote) return "";
  return String(parseSpan(bytes, span));
}

/** Returns the index after the value that starts at `at`. */
function valueEnd(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === quote) return stringEnd(bytes, at);
  if (first === openBrace || first === openBracket) return nestEnd(bytes, at);
  let end = at;
  while (end < bytes.length && isLiteral(bytes[end] ?? 0)) end++;
  if (end === at) throw unexpected(bytes, at);
  return end;
}

function nestEnd(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) i = stringEnd(bytes, i) - 1;
    else if (byte === openBrace || byte === openBracket) depth++;
    else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) return i + 1;
  }
  throw unexpected(bytes, bytes.length);
}

function stringEnd(bytes: Uint8Array, open: number): number {
  for (let i = open + 1; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === backslash) i++;
    else if (byte === quote) return i + 1;
  }
  throw unexpected(bytes, bytes.length);
}

function skipSpace(bytes: Uint8Array, at: number): number {
  let next = at;
  while (next < bytes.length && (bytes[next] ?? 0) <= space) next++;
  return next;
}

function isLiteral(byte: number): boolean {
  return byte > space && byte !== comma && byte !== closeBrace && byte !== closeBracket;
}

function latin(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i] ?? 0);
  return text;
}

function expect(bytes: Uint8Array, at: number, wanted: number): void {
  if (bytes[at] !== wanted) throw unexpected(bytes, at);
}

function unexpected(bytes: Uint8Array, at: number): SyntaxError {
  const what = at >= bytes.length ? "end" : `byte 0x${(bytes[at] ?? 0).toString(16)}`;
  return new SyntaxError(`unexpected ${what} of upstream's JSON at ${at}`);
}
