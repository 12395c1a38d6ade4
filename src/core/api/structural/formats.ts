/**
 * Formats of texts that schemas of custom resources may require; others are ignored. Each is as loose or
 * strict as Go's check of that name, and linear in the text.
 *
 * After  kube-openapi pkg/validation/strfmt; apiextensions-apiserver pkg/apiserver/validation/formats.go.
 * Differs  `email` takes the address and `name <address>`, not the comments and routes of RFC 5322.
 */
import { ownEntry } from "#base/own.ts";
import { parseGoDuration } from "../go/go-duration.ts";
import { parseAddress, parseRange } from "../validation/ip.ts";

type Check = (text: string) => boolean;

/** The check of a string format; undefined: the format is not checked. */
export function formatCheck(format: string): Check | undefined {
  return ownEntry(checks, format.replaceAll("-", ""));
}

/** Whether the format has a meaning for the type. `type` "" means string. */
export function isKnownFormat(type: string, format: string): boolean {
  if (type === "" || type === "string") return formatCheck(format) !== undefined;
  if (type === "integer") return format === "int32" || format === "int64";
  return type === "number" && (format === "float" || format === "double");
}

const hex = "[0-9a-f]";

function uuid(version: string, variant: string): Check {
  const third = version === "" ? `${hex}{4}` : `${version}${hex}{3}`;
  const pattern = new RegExp(
    `^${hex}{8}-?${hex}{4}-?${third}-?${variant}${hex}{3}-?${hex}{12}$`,
    "i",
  );
  return (text) => pattern.test(text);
}

function test(pattern: RegExp): Check {
  return (text) => pattern.test(text);
}

const octet = String.raw`\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*`;
const shortName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const longName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const checks: Readonly<Record<string, Check>> = {
  bsonobjectid: test(/^[0-9a-fA-F]{24}$/),
  uri: isRequestUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: (text) => text.includes(".") && parseAddress(withoutZeros(text)) !== undefined,
  ipv6: (text) => text.includes(":") && parseAddress(text) !== undefined,
  cidr: (text) => parseRange(withoutZeros(text)) !== undefined,
  mac: isMac,
  uuid: uuid("", hex),
  uuid3: uuid("3", hex),
  uuid4: uuid("4", "[89ab]"),
  uuid5: uuid("5", "[89ab]"),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: test(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  rgbcolor: test(new RegExp(String.raw`^rgb\(${octet},${octet},${octet}\)$`)),
  byte: isBase64,
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  k8sshortname: (text) => text.length <= 63 && shortName.test(text),
  k8slongname: (text) => text.length <= 253 && longName.test(text),
};

/** Octets with leading zeros are accepted, as before Go 1.17. */
function withoutZeros(text: string): string {
  return text.includes(":") ? text : text.replaceAll(/(^|\.)0+(?=\d)/g, "$1");
}

function isMac(text: string): boolean {
  const dotted = /^[0-9a-f]{4}(\.[0-9a-f]{4})+$/i.test(text);
  const pairs = /^[0-9a-f]{2}([:-])[0-9a-f]{2}(\1[0-9a-f]{2})+$/i.test(text);
  if (!dotted && !pairs) return false;
  const octets = dotted ? ((text.length + 1) / 5) * 2 : (text.length + 1) / 3;
  return octets === 6 || octets === 8 || octets === 20;
}

function digitsOf(text: string): string {
  return text.replaceAll(/[\t\n\f\r -]+/g, "");
}

function isIsbn10(text: string): boolean {
  const digits = digitsOf(text);
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < 10; at++) sum += (at + 1) * (digits[at] === "X" ? 10 : Number(digits[at]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = digitsOf(text);
  if (!/^[0-9]{13}$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < 12; at++) sum += (at % 2 === 0 ? 1 : 3) * Number(digits[at]);
  return Number(digits[12]) === (10 - (sum % 10)) % 10;
}

const cardNumber =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;

function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/[^0-9]+/g, "");
  if (!cardNumber.test(digits)) return false;
  let sum = 0;
  for (let at = digits.length - 1, isDouble = false; at >= 0; at--, isDouble = !isDouble) {
    const digit = Number(digits[at]) * (isDouble ? 2 : 1);
    sum += digit >= 10 ? (digit % 10) + 1 : digit;
  }
  return sum % 10 === 0;
}

function isBase64(text: string): boolean {
  return text !== "" && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (month < 1 || month > 12 || day < 1) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day <= (days[month - 1] ?? 0);
}

const timeOfDay = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/;

function isDateTime(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t", 2);
  if (time === undefined || !isDate(date)) return false;
  const match = timeOfDay.exec(time);
  if (match === null) return false;
  return Number(match[1]) <= 23 && Number(match[2]) <= 59 && Number(match[3]) <= 59;
}

/** Units in whole, or as a prefix: `hours` counts as `hour`. */
const units = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
const unitStarts = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
const countedUnit = /(?<!\d)(\d+)\s*([A-Za-zµ]+)/g;

/** Go's durations, and Scala's, for which any text that contains a duration is valid: `about 3 days`. */
function isDuration(text: string): boolean {
  if (text.length <= 256 && parseGoDuration(text) !== undefined) return true;
  let isFound = false;
  for (const [, digits = "", word = ""] of text.matchAll(countedUnit)) {
    if (BigInt(digits.slice(0, 32)) > 9_223_372_036_854_775_807n) return false;
    const unit = word.toLowerCase();
    isFound ||= units.includes(unit) || unitStarts.some((start) => unit.startsWith(start));
  }
  return isFound;
}

const label = String.raw`[a-zA-Z0-9\p{S}\p{L}]`;
const dashed = String.raw`[a-zA-Z0-9\-\p{S}\p{L}]`;
const hostname = new RegExp(
  `^(${label}((-?${label}{0,62})?)|(${label}((${dashed}{0,61}${label})?)(\\.))+([a-zA-Z\\p{L}]){2,63})$`,
  "u",
);
const hostnameMax = 255;

const encoder = new TextEncoder();

function isHostname(text: string): boolean {
  if (text.length > hostnameMax || !hostname.test(text)) return false;
  if (encoder.encode(text).byteLength > hostnameMax) return false;
  return text.split(".").every((part) => encoder.encode(part).byteLength <= 63);
}

const atom = String.raw`[A-Za-z0-9!#$%&'*+\-/=?^_{|}~\x60\u0080-\uffff]+`;
const address = new RegExp(
  String.raw`^(?:${atom}(?:\.${atom})*|"(?:[^"\\\r\n]|\\.)*")@(?:${atom}(?:\.${atom})*|\[[^\][\\]*\])$`,
);
const emailMax = 4_096;

function isEmail(text: string): boolean {
  if (text.length > emailMax) return false;
  const trimmed = text.trim();
  if (!trimmed.endsWith(">")) return address.test(trimmed);
  const start = trimmed.lastIndexOf("<");
  if (start < 0 || !address.test(trimmed.slice(start + 1, -1))) return false;
  const name = trimmed.slice(0, start).trim();
  return /^"(?:[^"\\]|\\.)*"$/.test(name) || !/[()<>[\]:;@\\,"]/.test(name);
}

/** Whether the text is an absolute path or has a scheme. */
function isRequestUri(text: string): boolean {
  // eslint-disable-next-line no-control-regex -- these are what Go refuses
  if (text === "" || /[\u0000-\u001f\u007f]/.test(text)) return false;
  if (text === "*") return true;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
  const rest = scheme === null ? text : text.slice(scheme[0].length);
  const [path = ""] = rest.split("?", 1);
  if (!path.startsWith("/")) return scheme !== null;
  if (scheme === null || !path.startsWith("//")) return hasGoodEscapes(path);
  const end = path.indexOf("/", 2);
  const authority = end < 0 ? path.slice(2) : path.slice(2, end);
  return isAuthority(authority) && hasGoodEscapes(end < 0 ? "" : path.slice(end));
}

function hasGoodEscapes(text: string): boolean {
  return !/%(?![0-9a-fA-F]{2})/.test(text);
}

function isAuthority(text: string): boolean {
  const at = text.lastIndexOf("@");
  const user = at < 0 ? "" : text.slice(0, at);
  const host = text.slice(at + 1);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || !hasGoodEscapes(user)) return false;
  const bracketed = /^\[[^\]]*\](:\d*)?$/.test(host);
  return bracketed || (/^[^\s:<>"\\^`{|}[\]]*(:\d*)?$/.test(host) && hasGoodEscapes(host));
}
