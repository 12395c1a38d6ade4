/** Resolves scalars as go-yaml v2 does: YAML 1.1, by their text or tag. */
import { exactInteger } from "#base/exact-json.ts";
import { YamlFault } from "./cursor.ts";
import type { ScalarNode } from "./parser.ts";

export type ScalarValue = string | number | bigint | boolean | null;

interface Resolved {
  readonly tag: string;
  readonly value: ScalarValue;
  /** An integer beyond 63 bits, whose `value` is rounded; it cannot be a map key. */
  readonly unsigned?: bigint;
}

const prefix = "tag:yaml.org,2002:";
const tags = {
  text: `${prefix}str`,
  boolean: `${prefix}bool`,
  integer: `${prefix}int`,
  float: `${prefix}float`,
  nothing: `${prefix}null`,
  time: `${prefix}timestamp`,
  binary: `${prefix}binary`,
  merge: `${prefix}merge`,
} as const;

export function isFloat({ tag }: Resolved): boolean {
  return tag === tags.float;
}

/** Tags whose scalars are resolved; with any other tag they are strings. */
const resolvable: ReadonlySet<string> = new Set([
  "",
  tags.text,
  tags.boolean,
  tags.integer,
  tags.float,
  tags.nothing,
  tags.time,
]);

const words: ReadonlyMap<string, Resolved> = new Map([
  ...listWords("y Y yes Yes YES true True TRUE on On ON", tags.boolean, true),
  ...listWords("n N no No NO false False FALSE off Off OFF", tags.boolean, false),
  ...listWords("~ null Null NULL", tags.nothing, null),
  ...listWords(".nan .NaN .NAN", tags.float, Number.NaN),
  ...listWords(".inf .Inf .INF +.inf +.Inf +.INF", tags.float, Number.POSITIVE_INFINITY),
  ...listWords("-.inf -.Inf -.INF", tags.float, Number.NEGATIVE_INFINITY),
  ["", { tag: tags.nothing, value: null }],
  ["<<", { tag: tags.merge, value: "<<" }],
]);

function listWords(texts: string, tag: string, value: ScalarValue): [string, Resolved][] {
  return texts.split(" ").map((text) => [text, { tag, value }]);
}

export function isMergeKey({ value, tag, isImplicit }: ScalarNode): boolean {
  return value === "<<" && (isImplicit || tag === tags.merge);
}

/** @throws YamlFault when the tag does not allow the text. */
export function resolveScalar({ value, tag, isImplicit }: ScalarNode): Resolved {
  if (tag === "" && !isImplicit) return { tag: tags.text, value };
  if (tag === tags.binary) return { tag, value: binary(value) };
  if (!resolvable.has(tag) || tag === tags.text) return { tag: tags.text, value };
  const resolved = resolvePlain(value, tag);
  if (tag === "" || tag === resolved.tag) return resolved;
  if (tag === tags.float && resolved.tag === tags.integer) {
    return { tag: tags.float, value: Number(resolved.value) };
  }
  const [found, asked] = [resolved.tag, tag].map((one) => one.replace(prefix, "!!"));
  throw new YamlFault(`cannot decode ${found} \`${value}\` as a ${asked}`);
}

function resolvePlain(text: string, tag: string): Resolved {
  const word = words.get(text);
  if (word !== undefined) return word;
  const number = resolveNumber(text, tag);
  return number ?? { tag: tags.text, value: text };
}

function resolveNumber(text: string, tag: string): Resolved | undefined {
  const first = text.charAt(0);
  if (first === ".") return floatOf(text, /^\.[0-9]+(?:[eE][-+]?[0-9]+)?$/);
  if (!/^[-+0-9]/.test(text)) return undefined;
  if (isTime(text) && (tag === "" || tag === tags.time)) return { tag: tags.time, value: text };
  const plain = text.replaceAll("_", "");
  return integerOf(plain) ?? floatOf(plain, yamlFloat);
}

const yamlFloat = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

function floatOf(text: string, form: RegExp): Resolved | undefined {
  if (!form.test(text)) return undefined;
  const value = Number(text);
  // Beyond all doubles Go's parser fails, so the scalar is a string.
  return Number.isFinite(value) ? { tag: tags.float, value } : undefined;
}

const integerForm = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/;
/** Digits of the longest 64-bit integer in base 2. */
const digitsMax = 64;
const int64Max = 2n ** 63n - 1n;
const uint64Max = 2n ** 64n - 1n;

function integerOf(text: string): Resolved | undefined {
  const match = integerForm.exec(text);
  if (match === null) return undefined;
  const [, sign = "", hex, binaryDigits, octal, decimal = ""] = match;
  const digits = (hex ?? binaryDigits ?? octal ?? decimal).replace(/^0+(?=.)/, "");
  if (digits.length > digitsMax) return undefined;
  const literal = `${hex !== undefined ? "0x" : binaryDigits !== undefined ? "0b" : octal !== undefined ? "0o" : ""}${digits}`;
  const size = BigInt(literal);
  if (sign === "-" ? size > int64Max + 1n : size > uint64Max || (sign === "+" && size > int64Max)) {
    return undefined;
  }
  const value = exactInteger(sign === "-" ? -size : size);
  if (size <= int64Max || sign === "-") return { tag: tags.integer, value };
  return { tag: tags.integer, value: Number(size), unsigned: size };
}

const date = /^[0-9]{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])$/;
const clock = /^(?:0?[0-9]|1[0-9]|2[0-3]):0?[0-5]?[0-9]:0?[0-5]?[0-9](?:\.[0-9]+)?$/;
const zone = /(?:Z|[-+][0-9]{2}:[0-9]{2})$/;

/** Checked only for an explicit tag, because the value of a time is its text. */
function isTime(text: string): boolean {
  if (date.test(text)) return true;
  const at = text.search(/[Tt ]/);
  if (at < 0 || !date.test(text.slice(0, at))) return false;
  const rest = text.slice(at + 1);
  if (text.charAt(at) === " ") return clock.test(rest);
  return zone.test(rest) && clock.test(rest.replace(zone, ""));
}

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** The bytes as a string, as in JSON; invalid UTF-8 becomes U+FFFD. */
function binary(text: string): string {
  const plain = text.replaceAll(/[\r\n]/g, "");
  const isWhole = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(plain);
  if (!isWhole) throw new YamlFault("!!binary value contains invalid base64 data");
  return lenient.decode(Buffer.from(plain, "base64"));
}
