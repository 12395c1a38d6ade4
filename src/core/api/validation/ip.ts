/** IP addresses and ranges as numbers, and upstream's errors about them. */
import { ipv4Text, parseIpv4 } from "../values/ipv4.ts";
import type { FieldError } from "../status.ts";
import { invalidValue } from "./errors.ts";

interface Address {
  readonly family: "IPv4" | "IPv6";
  readonly value: bigint;
}

export interface Range {
  readonly address: Address;
  readonly prefixLength: number;
}

const invalidAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const zeroAddress = "must not have leading 0s";
const mappedAddress = "must not be an IPv4-mapped IPv6 address";
const invalidRange = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const zeroRange = "must not have leading 0s in IP or prefix length";
const mappedRange = "must not have an IPv4-mapped IPv6 address";
const nothing: ReadonlySet<string> = new Set();
const rangeBits = "must not have bits set beyond the prefix length";

/** Undefined when the text is not an address. Octets with leading zeros are refused. */
export function parseAddress(text: string): Address | undefined {
  if (text.includes(":")) return parseIpv6(text);
  const value = parseIpv4(text);
  return value === undefined ? undefined : { family: "IPv4", value: BigInt(value) };
}

function parseIpv6(text: string): Address | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? "");
  const tail = halves.length === 2 ? parseGroups(halves[1] ?? "") : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array<number>(missing).fill(0), ...tail];
  const value = groups.reduce((at, group) => (at << 16n) | BigInt(group), 0n);
  // As in Go, ::ffff:a.b.c.d is the IPv4 address.
  if (value >> 32n === 0xffffn) return { family: "IPv4", value: value & 0xffffffffn };
  return { family: "IPv6", value };
}

function parseGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [at, part] of parts.entries()) {
    if (part.includes(".") && at === parts.length - 1) {
      const last = parseIpv4(part);
      if (last === undefined) return undefined;
      groups.push(last >>> 16, last & 0xffff);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}

export function parseRange(text: string): Range | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = parseAddress(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (address === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const prefixLength = Number(length);
  return prefixLength <= bitsOf(address) ? { address, prefixLength } : undefined;
}

function bitsOf(address: Address): number {
  return address.family === "IPv4" ? 32 : 128;
}

export function rangeContains(range: Range, address: Address): boolean {
  if (range.address.family !== address.family) return false;
  const shift = BigInt(bitsOf(address) - range.prefixLength);
  return range.address.value >> shift === address.value >> shift;
}

/** As Go prints it; IPv6 in the form of RFC 5952. */
export function addressText({ family, value }: Address): string {
  if (family === "IPv4") return ipv4Text(Number(value));
  const groups = Array.from({ length: 8 }, (_, at) =>
    Number((value >> BigInt(16 * (7 - at))) & 0xffffn).toString(16),
  );
  const run = longestZeros(groups);
  if (run === undefined) return groups.join(":");
  return `${groups.slice(0, run.start).join(":")}::${groups.slice(run.end).join(":")}`;
}

/** The first of the longest runs of at least two zero groups. */
function longestZeros(groups: readonly string[]): { start: number; end: number } | undefined {
  let longest = { start: 0, end: 1 };
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (groups[end] === "0") end++;
    if (end - start > longest.end - longest.start) longest = { start, end };
  }
  return longest.end - longest.start < 2 ? undefined : longest;
}

/** The range written with its first address. */
export function networkText(range: Range): string {
  return `${addressText({ ...range.address, value: firstOf(range) })}/${range.prefixLength}`;
}

/** Whether the address is the first of the range: no bits are set after the prefix. */
export function isNetworkAddress(range: Range): boolean {
  return firstOf(range) === range.address.value;
}

function firstOf({ address, prefixLength }: Range): bigint {
  const shift = BigInt(bitsOf(address) - prefixLength);
  return (address.value >> shift) << shift;
}

/** Go's lenient parser accepts leading zeros, the strict one refuses them. */
function withoutZeros(text: string): string {
  const start = text.lastIndexOf(":") + 1;
  const last = text.slice(start);
  if (!last.includes(".")) return text;
  return text.slice(0, start) + last.replace(/(^|\.)0+(?=\d)/g, "$1");
}

/**
 * Checks an address by StrictIPCIDRValidation, on in 1.36: no leading zeros, no IPv4 address written as an IPv6 one.
 * @param kept addresses that the stored object has already: they stay valid.
 */
export function checkAddress(
  out: FieldError[],
  text: string,
  path: string,
  kept: ReadonlySet<string> = nothing,
): boolean {
  return kept.has(text) || isFaultless(out, text, path, addressFault(text));
}

/** Adds a finding with text `why`, if given. @returns whether none was given. */
function isFaultless(
  out: FieldError[],
  text: string,
  path: string,
  why: string | undefined,
): boolean {
  if (why !== undefined) out.push(invalidValue(path, text, why));
  return why === undefined;
}

function addressFault(text: string): string | undefined {
  if (parseAddress(text) === undefined) {
    return parseAddress(withoutZeros(text)) === undefined ? invalidAddress : zeroAddress;
  }
  return isMapped(text) ? mappedAddress : undefined;
}

function isMapped(text: string): boolean {
  return text.includes(":") && parseAddress(text)?.family === "IPv4";
}

/** The same for ranges, which must also be written with their first address. */
export function checkRange(
  out: FieldError[],
  text: string,
  path: string,
  kept: ReadonlySet<string> = nothing,
): boolean {
  return kept.has(text) || isFaultless(out, text, path, rangeFault(text));
}

function rangeFault(text: string): string | undefined {
  const slash = text.indexOf("/");
  const [address, length] = [text.slice(0, Math.max(slash, 0)), text.slice(slash + 1)];
  const plain = `${withoutZeros(address)}/${length.replace(/^0+(?=\d)/, "")}`;
  const range = parseRange(isMapped(plain.slice(0, plain.indexOf("/"))) ? unmapped(plain) : plain);
  if (slash < 0 || range === undefined) return invalidRange;
  if (plain !== text) return zeroRange;
  if (isMapped(address)) return mappedRange;
  return isNetworkAddress(range) ? undefined : rangeBits;
}

/** Go treats `::ffff:1.2.3.4/120` as an IPv6 range. */
function unmapped(text: string): string {
  return `::${text.slice(text.indexOf("/"))}`;
}

/** Newer fields accept only the canonical spelling of an address. */
export function checkCanonicalAddress(out: FieldError[], text: string, path: string): boolean {
  if (!checkAddress(out, text, path)) return false;
  const address = parseAddress(text);
  return isCanonical(out, text, path, address === undefined ? text : addressText(address));
}

export function checkCanonicalRange(out: FieldError[], text: string, path: string): boolean {
  if (!checkRange(out, text, path)) return false;
  const range = parseRange(text);
  return isCanonical(out, text, path, range === undefined ? text : networkText(range));
}

function isCanonical(out: FieldError[], text: string, path: string, canonical: string): boolean {
  const why = `must be in canonical form (${JSON.stringify(canonical)})`;
  return isFaultless(out, text, path, canonical === text ? undefined : why);
}

export function checkFamily(
  out: FieldError[],
  text: string,
  family: "IPv4" | "IPv6",
  path: string,
): void {
  if (parseAddress(text)?.family === family) return;
  out.push(invalidValue(path, text, `must be a valid ${family} address`));
}

/** Endpoints and external addresses must not be loopback, link-local or unspecified addresses. */
export function checkNotSpecial(out: FieldError[], text: string, path: string): void {
  const address = parseAddress(text);
  if (address === undefined) {
    out.push(invalidValue(path, text, "must be a valid IP address"));
    return;
  }
  if (address.value === 0n) {
    out.push(invalidValue(path, text, `may not be unspecified (${text})`));
  }
  for (const [range, detail] of specialRanges) {
    if (rangeContains(range, address)) out.push(invalidValue(path, text, detail));
  }
}

const specialRanges: readonly (readonly [Range, string])[] = (
  [
    ["127.0.0.0/8", "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
    ["::1/128", "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
    ["169.254.0.0/16", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
    ["fe80::/10", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
    ["224.0.0.0/24", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
    ["ff02::/16", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
  ] as const
).flatMap(([text, detail]) => {
  const range = parseRange(text);
  return range === undefined ? [] : [[range, detail] as const];
});

/** Whether there is at most one address of each family. */
export function isDualStack(addresses: readonly string[]): boolean {
  const families = addresses.map((text) => parseAddress(text.split("/")[0] ?? "")?.family);
  return families.includes("IPv4") && families.includes("IPv6");
}
