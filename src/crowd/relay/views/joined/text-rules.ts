/**
 * What may happen to a value on its way into a row's text: a fixed set of formatters, and the escape of the format.
 *
 *   text:   "server {.status.podIP}:8080;"      format: nginx      {upper .metadata.name}
 *
 * Holds  with a format, no value of an object ends the word or the quotes it stands in, the row, or the line.
 */
import type { PrintRules } from "#api/json-path/json-path.ts";
import { hostPattern } from "#skipper/hosts.ts";

export const textFormats = ["plain", "line", "eskip", "nginx", "json"] as const;
export type TextFormat = (typeof textFormats)[number];

const escapes: Readonly<Record<TextFormat, (text: string) => string>> = {
  plain: (text) => text,
  // One value, one line: blanks stay, other control characters go.
  line: (text) => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " "),
  // Inside of the template's double quotes.
  eskip: (text) => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").replace(/["\\]/g, "\\$&"),
  // A word without quotes: what could end it or begin another becomes "_".
  nginx: (text) => text.replace(/[^-A-Za-z0-9._:/[\]@]/gu, "_"),
  // Inside of the template's double quotes.
  json: (text) => JSON.stringify(text).slice(1, -1),
};

export const formatters: ReadonlyMap<string, (text: string) => string> = new Map([
  ["lower", (text: string) => text.toLowerCase()],
  ["upper", (text: string) => text.toUpperCase()],
  // As a name in most languages.
  ["symbol", (text: string) => text.replace(/[^A-Za-z0-9_]/gu, "_")],
  // Of a URL: IPv6 in brackets.
  ["urlHost", (text: string) => (text.includes(":") ? `[${text}]` : text)],
  // A regular expression that matches the host alone.
  ["hostPattern", (text: string) => hostPattern([text])],
]);

export function textRules(format: TextFormat, lengthMax: number): PrintRules {
  return { formatters, escape: escapes[format], lengthMax };
}
