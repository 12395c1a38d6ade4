/**
 * Keeps free JSON as it was written: the field `data` of a ControllerRevision is bytes to Go clients, which
 * compare them. `2.0`, `1e3`, the order of keys and duplicate keys are lost in parsed values, so
 * the text is kept beside the value.
 *
 * Holds  a text has the meaning of its value: objects are never changed in place (object.ts), and a copy that differs
 *        has no text. Texts have no white space, and Go's escapes of `<`, `>`, `&`, U+2028, U+2029.
 * Cost   one walk over the object's text for each object read; kinds without such a field pay one comparison.
 */
import { isRecord } from "#base/is-record.ts";
import { escapeForGo, goJson } from "../go/go-json.ts";
import { jsonEqual } from "./json-value.ts";

interface Kept {
  readonly kind?: unknown;
  readonly data?: unknown;
}

const texts = new WeakMap<object, string>();

/** The field whose spelling is kept for objects of `kind`; undefined: none. */
export function keptField(kind: unknown): "data" | undefined {
  return kind === "ControllerRevision" ? "data" : undefined;
}

/** Records the spelling of the kept field of `object`, which was parsed from `text`. */
export function keepSpelling(object: unknown, kind: unknown, text: string): void {
  const field = keptField(kind);
  if (field === undefined || !isRecord(object)) return;
  const value = object[field];
  if (isRecord(value)) keepText(value, memberText(text, field));
}

/** Records that `value` is written as `text`, which is JSON. */
export function keepText(value: object, text: string): void {
  texts.set(value, compact(text));
}

/** Gives the kept field of `to` the spelling of that of `from`, if their values are equal. */
export function carrySpelling(from: Kept, to: Kept): void {
  const field = keptField(to.kind);
  if (field === undefined) return;
  const [value, before] = [to[field], from[field]];
  const text = isRecord(before) ? texts.get(before) : undefined;
  if (text !== undefined && isRecord(value) && jsonEqual(before, value)) texts.set(value, text);
}

/** `value` in its recorded spelling, otherwise in that of Go's encoder. */
export function spelledJson(value: unknown): string {
  return (isRecord(value) ? texts.get(value) : undefined) ?? goJson(value);
}

/** An object as JSON: as Go writes it if it has a kept field, otherwise as JSON.stringify does. */
export function objectText(object: Kept): string {
  const field = keptField(object.kind);
  if (field === undefined) return JSON.stringify(object);
  const { [field]: value, ...others } = object;
  if (!isRecord(value)) return goJson(object);
  return `${goJson(others).slice(0, -1)},${JSON.stringify(field)}:${spelledJson(value)}}`;
}

const quote = 34;
const backslash = 92;
const blanks = /[ \t\r\n]+/g;

/** The text of the last member called `field`, which is the one that JSON.parse keeps. */
function memberText(text: string, field: string): string {
  let found = "null";
  let depth = 0;
  let keyFrom = 0;
  let from = 0;
  let isWanted = false;
  const end = (at: number): void => {
    if (isWanted) found = text.slice(from, at);
    isWanted = false;
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      keyFrom = at;
      at = endOfString(text, at);
    } else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") {
      if (--depth === 0) end(at);
    } else if (depth !== 1) continue;
    else if (char === ",") end(at);
    else if (char === ":") {
      isWanted = JSON.parse(text.slice(keyFrom, at)) === field;
      from = at + 1;
    }
  }
  return found;
}

function compact(text: string): string {
  const parts: string[] = [];
  let taken = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) !== quote) continue;
    const end = endOfString(text, at) + 1;
    parts.push(text.slice(taken, at).replace(blanks, ""), text.slice(at, end));
    taken = end;
    at = end - 1;
  }
  parts.push(text.slice(taken).replace(blanks, ""));
  return escapeForGo(parts.join(""));
}

/** Index of the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}
