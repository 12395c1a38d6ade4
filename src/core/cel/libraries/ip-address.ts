/**
 * IP addresses and prefixes as Go's net/netip reads and prints them, error texts included.
 *
 * An address is 4 or 16 bytes as one bigint. IPv4-mapped IPv6 addresses stay IPv6 here; the callers
 * refuse them. Cost: one pass over the text; a text of more than 64 characters fails at its first group.
 */
import { int64Max } from "#api/go/go-integer.ts";
import { goQuote } from "./go-quote.ts";

export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
  /** "" when there is none; only IPv6 has zones. */
  readonly zone: string;
}

export interface IpPrefix {
  readonly address: IpAddress;
  /** In [0, address.bits]. */
  readonly length: number;
}

/** The text is not an address or prefix; the message is Go's. */
export class AddressError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AddressError";
  }
}

export function parseIpAddress(text: string): IpAddress {
  const first = /[.:%]/.exec(text)?.[0];
  if (first === ".") {
    return { bits: 32, value: parseIpv4Fields(text, text), zone: "" };
  }
  if (first === ":") return parseIpv6(text);
  throw failure(text, first === "%" ? "missing IPv6 address" : "unable to parse IP");
}

function failure(text: string, why: string, at = ""): AddressError {
  const place = at === "" ? "" : ` (at ${goQuote(at)})`;
  return new AddressError(`ParseAddr(${goQuote(text)}): ${why}${place}`);
}

/** @param whole the text named in errors; @param text its dotted part. */
function parseIpv4Fields(whole: string, text: string): bigint {
  const fields: number[] = [];
  let value = 0;
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char >= "0" && char <= "9") {
      if (digits === 1 && value === 0) {
        throw failure(whole, "IPv4 field has octet with leading zero");
      }
      value = value * 10 + Number(char);
      digits++;
      if (value > 255) throw failure(whole, "IPv4 field has value >255");
    } else if (char === ".") {
      if (at === 0 || at === text.length - 1 || text.charAt(at - 1) === ".") {
        throw failure(whole, "IPv4 field must have at least one digit", text.slice(at));
      }
      if (fields.length === 3) throw failure(whole, "IPv4 address too long");
      fields.push(value);
      value = 0;
      digits = 0;
    } else throw failure(whole, "unexpected character", text.slice(at));
  }
  if (fields.length < 3) throw failure(whole, "IPv4 address too short");
  fields.push(value);
  return fields.reduce((sum, field) => (sum << 8n) | BigInt(field), 0n);
}

function parseIpv6(whole: string): IpAddress {
  const percent = whole.indexOf("%");
  const zone = percent < 0 ? "" : whole.slice(percent + 1);
  if (percent >= 0 && zone === "") throw failure(whole, "zone must be a non-empty string");
  const groups = readGroups(whole, percent < 0 ? whole : whole.slice(0, percent));
  const value = groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n);
  return { bits: 128, value, zone };
}

/** The eight groups of an IPv6 text. The order of the checks determines the error text. */
function readGroups(whole: string, text: string): number[] {
  const groups: number[] = [];
  let rest = text;
  let ellipsis = -1;
  if (rest.startsWith("::")) {
    ellipsis = 0;
    rest = rest.slice(2);
    if (rest === "") return Array<number>(8).fill(0);
  }
  while (groups.length < 8) {
    const digits = readGroupDigits(whole, rest);
    if (rest.charAt(digits.length) === ".") {
      pushDotted(whole, rest, groups, ellipsis);
      rest = "";
      break;
    }
    groups.push(Number.parseInt(digits, 16));
    rest = rest.slice(digits.length);
    if (rest === "") break;
    if (!rest.startsWith(":")) throw failure(whole, "unexpected character, want colon", rest);
    if (rest.length === 1) {
      throw failure(whole, "colon must be followed by more characters", rest);
    }
    rest = rest.slice(1);
    if (rest.startsWith(":")) {
      if (ellipsis >= 0) throw failure(whole, "multiple :: in address", rest);
      ellipsis = groups.length;
      rest = rest.slice(1);
      if (rest === "") break;
    }
  }
  if (rest !== "") throw failure(whole, "trailing garbage after address", rest);
  return expandEllipsis(whole, groups, ellipsis);
}

function readGroupDigits(whole: string, rest: string): string {
  const digits = /^[0-9a-fA-F]{0,5}/.exec(rest)?.[0] ?? "";
  if (digits.length > 4) throw failure(whole, "each group must have 4 or less digits", rest);
  if (digits === "") {
    throw failure(whole, "each colon-separated field must have at least one digit", rest);
  }
  return digits;
}

function pushDotted(whole: string, rest: string, groups: number[], ellipsis: number): void {
  if (ellipsis < 0 && groups.length !== 6) {
    const why = "embedded IPv4 address must replace the final 2 fields of the address";
    throw failure(whole, why, rest);
  }
  if (groups.length > 6) {
    const why = "too many hex fields to fit an embedded IPv4 at the end of the address";
    throw failure(whole, why, rest);
  }
  const value = Number(parseIpv4Fields(whole, rest));
  groups.push(Math.floor(value / 65_536), value % 65_536);
}

function expandEllipsis(whole: string, groups: number[], ellipsis: number): number[] {
  const missing = 8 - groups.length;
  if (missing === 0 && ellipsis >= 0) {
    throw failure(whole, "the :: must expand to at least one field of zeros");
  }
  if (missing === 0) return groups;
  if (ellipsis < 0) throw failure(whole, "address string too short");
  return groups.toSpliced(ellipsis, 0, ...Array<number>(missing).fill(0));
}

export function parseIpPrefix(text: string): IpPrefix {
  const slash = text.lastIndexOf("/");
  if (slash < 0) throw prefixFailure(text, "no '/'");
  const address = parsePrefixAddress(text, text.slice(0, slash));
  if (address.zone !== "") throw prefixFailure(text, "IPv6 zones cannot be present in a prefix");
  const digits = text.slice(slash + 1);
  const bad = `bad bits after slash: ${goQuote(digits)}`;
  if (digits.length > 1 && !/^[1-9]/.test(digits)) throw prefixFailure(text, bad);
  if (!/^[0-9]+$/.test(digits) || digits.length > 19) throw prefixFailure(text, bad);
  if (BigInt(digits) > int64Max) throw prefixFailure(text, bad);
  const length = Number(digits);
  if (length > address.bits) throw prefixFailure(text, "prefix length out of range");
  return { address, length };
}

function parsePrefixAddress(whole: string, text: string): IpAddress {
  try {
    return parseIpAddress(text);
  } catch (error) {
    if (error instanceof AddressError) throw prefixFailure(whole, error.message);
    throw error;
  }
}

function prefixFailure(text: string, why: string): AddressError {
  return new AddressError(`netip.ParsePrefix(${goQuote(text)}): ${why}`);
}

/** The canonical text. */
export function ipText(address: IpAddress): string {
  if (address.bits === 32) return partsOf(address.value, 4, 8n).join(".");
  return ipv6Text(partsOf(address.value, 8, 16n)) + (address.zone && `%${address.zone}`);
}

export function prefixText(prefix: IpPrefix): string {
  return `${ipText(prefix.address)}/${prefix.length}`;
}

function partsOf(value: bigint, count: number, width: bigint): number[] {
  const mask = (1n << width) - 1n;
  return Array.from({ length: count }, (_, at) =>
    Number((value >> (width * BigInt(count - 1 - at))) & mask),
  );
}

/** The first longest run of at least two zero groups becomes `::`. */
function ipv6Text(groups: readonly number[]): string {
  let start = 0;
  let end = 0;
  for (let at = 0; at < 8; at++) {
    let stop = at;
    while (stop < 8 && groups[stop] === 0) stop++;
    if (stop - at >= 2 && stop - at > end - start) [start, end] = [at, stop];
  }
  const hex = groups.map((group) => group.toString(16));
  if (end === 0) return hex.join(":");
  return `${hex.slice(0, start).join(":")}::${hex.slice(end).join(":")}`;
}

export function isMapped(address: IpAddress): boolean {
  return address.bits === 128 && address.value >> 32n === 0xffffn;
}

export function isUnspecifiedAddress(address: IpAddress): boolean {
  return address.value === 0n && address.zone === "";
}

export function isLoopbackAddress(address: IpAddress): boolean {
  return address.bits === 32 ? address.value >> 24n === 127n : address.value === 1n;
}

export function isLinkLocalUnicastAddress(address: IpAddress): boolean {
  if (address.bits === 32) return address.value >> 16n === 0xa9fen;
  return address.value >> 118n === 0xfe80n >> 6n;
}

export function isLinkLocalMulticastAddress(address: IpAddress): boolean {
  if (address.bits === 32) return address.value >> 8n === 0xe00000n;
  return ((address.value >> 112n) & 0xff0fn) === 0xff02n;
}

function isMulticastAddress(address: IpAddress): boolean {
  return address.bits === 32 ? address.value >> 28n === 0xen : address.value >> 120n === 0xffn;
}

/** As in Go, private addresses count too. */
export function isGlobalUnicastAddress(address: IpAddress): boolean {
  if (address.bits === 32 && address.value === 0xffffffffn) return false;
  return !(
    isUnspecifiedAddress(address) ||
    isLoopbackAddress(address) ||
    isMulticastAddress(address) ||
    isLinkLocalUnicastAddress(address)
  );
}

export function equalAddresses(a: IpAddress, b: IpAddress): boolean {
  return a.bits === b.bits && a.value === b.value && a.zone === b.zone;
}

export function equalPrefixes(a: IpPrefix, b: IpPrefix): boolean {
  return equalAddresses(a.address, b.address) && a.length === b.length;
}

export function prefixContains(prefix: IpPrefix, address: IpAddress): boolean {
  if (address.zone !== "" || prefix.address.bits !== address.bits) return false;
  const shift = BigInt(address.bits - prefix.length);
  return prefix.address.value >> shift === address.value >> shift;
}

/** Whether every address of `inner` belongs to `outer`. */
export function prefixCovers(outer: IpPrefix, inner: IpPrefix): boolean {
  return outer.length <= inner.length && prefixContains(outer, inner.address);
}

/** The prefix with the bits after its length cleared. */
export function maskPrefix(prefix: IpPrefix): IpPrefix {
  const shift = BigInt(prefix.address.bits - prefix.length);
  const value = (prefix.address.value >> shift) << shift;
  return { address: { ...prefix.address, value }, length: prefix.length };
}
