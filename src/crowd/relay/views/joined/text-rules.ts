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
  // A value stays within its line: control characters become a space.
  line: (text) => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " "),
  // The value stands within double quotes of the template.
  eskip: (text) => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").replace(/["\\]/g, "\\$&"),
  // The value is a word without quotes: characters that could end the word become "_".
  nginx: (text) => text.replace(/[^-A-Za-z0-9._:/[\]@]/gu, "_"),
  // The value stands within double quotes of the template.
  json: (text) => JSON.stringify(text).slice(1, -1),
};

export const formatters: ReadonlyMap<string, (text: string) => string> = new Map([
  ["lower", (text: string) => text.toLowerCase()],
  ["upper", (text: string) => text.toUpperCase()],
  // Makes an identifier that is valid in most languages.
  ["symbol", (text: string) => text.replace(/[^A-Za-z0-9_]/gu, "_")],
  // Makes the host of a URL: IPv6 addresses get brackets.
  ["urlHost", (text: string) => (text.includes(":") ? `[${text}]` : text)],
  // Makes a regular expression that matches only this host.
  ["hostPattern", (text: string) => hostPattern([text])],
]);

export function textRules(format: TextFormat, lengthMax: number): PrintRules {
  return { formatters, escape: escapes[format], lengthMax };
}
