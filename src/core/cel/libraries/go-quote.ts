/** Quotes texts like Go's strconv.Quote (`%q`), as used in upstream's errors and by `format`. */

import { ownEntry } from "#base/own.ts";

/** Escapes with a letter, which are the same in Go and CEL. */
export const namedEscapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};
/** Go's IsPrint: letters, marks, numbers, punctuation, symbols and the plain space. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
const plain = /^[ !#-[\]-~]*$/;

export function goQuote(text: string): string {
  if (plain.test(text)) return `"${text}"`;
  let out = '"';
  for (const char of text)
    out += ownEntry(namedEscapes, char) ?? (printable.test(char) ? char : escapeChar(char));
  return `${out}"`;
}

function escapeChar(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}
