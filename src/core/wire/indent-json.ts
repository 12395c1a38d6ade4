/**
 * Compact JSON to indented JSON, bytes to bytes: two spaces a level, as JSON.stringify and Go's json.Indent write it.
 *
 * In     valid JSON; white space between its tokens is left out.
 * Cost   two passes, some 3 ns a byte, and nothing but the result is allocated: texts of an object, and of the indented
 *        whole, are three times what is sent, and a collector that comes late keeps all of them.
 */
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const space = 0x20;
const newline = 0x0a;
/** Shorter texts are copied byte by byte. */
const setBytesMin = 64;

/** `level`: indentation of the value's lines after the first. */
export function indentJson(json: Uint8Array, level = 0): Uint8Array {
  const indented = new Uint8Array(writeIndented(json, level, undefined));
  writeIndented(json, level, indented);
  return indented;
}

/** @returns the number of bytes; without `out` nothing is written. */
function writeIndented(json: Uint8Array, level: number, out: Uint8Array | undefined): number {
  let at = 0;
  for (let from = 0; from < json.length; from++) {
    const byte = json[from] ?? 0;
    if (byte === quote) {
      const end = stringEnd(json, from);
      if (out !== undefined) copy(json, from, end, out, at);
      at += end - from;
      from = end - 1;
    } else if (byte === openBrace || byte === openBracket) {
      if (out !== undefined) out[at] = byte;
      at++;
      const next = afterSpace(json, from + 1);
      const isEmpty = json[next] === closeBrace || json[next] === closeBracket;
      if (isEmpty) {
        if (out !== undefined) out[at] = json[next] ?? 0;
        at++;
        from = next;
      } else at = breakLine(++level, out, at);
    } else if (byte === closeBrace || byte === closeBracket) {
      at = breakLine(--level, out, at);
      if (out !== undefined) out[at] = byte;
      at++;
    } else if (byte > space) {
      if (out !== undefined) out[at] = byte;
      at++;
      if (byte === comma) at = breakLine(level, out, at);
      else if (byte === colon) {
        if (out !== undefined) out[at] = space;
        at++;
      }
    }
  }
  return at;
}

function breakLine(level: number, out: Uint8Array | undefined, at: number): number {
  const end = at + 1 + 2 * level;
  if (out === undefined) return end;
  out[at] = newline;
  for (let to = at + 1; to < end; to++) out[to] = space;
  return end;
}

/** Index after the closing quote. */
function stringEnd(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at + 1;
}

function afterSpace(json: Uint8Array, from: number): number {
  let at = from;
  while (at < json.length && (json[at] ?? 0) <= space) at++;
  return at;
}

function copy(json: Uint8Array, from: number, end: number, out: Uint8Array, at: number): void {
  if (end - from >= setBytesMin) return out.set(json.subarray(from, end), at);
  for (let index = from; index < end; index++) out[at + index - from] = json[index] ?? 0;
}
