/** Parses semantic versions like upstream's blang/semver v4, error texts included. */
import { goQuote } from "./go-quote.ts";

export interface SemanticVersion {
  /** Below 2^64, like minor and patch. */
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  /** A bigint precedes a text, and is ordered by value. */
  readonly prerelease: readonly (bigint | string)[];
  readonly build: readonly string[];
}

/** The text is not a version; the message is upstream's. */
export class SemanticVersionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SemanticVersionError";
  }
}

const numberRegex = /^[0-9]*$/;
const wordRegex = /^[0-9A-Za-z-]*$/;
const uint64Max = 2n ** 64n - 1n;

export function parseSemanticVersion(text: string): SemanticVersion {
  if (text === "") throw new SemanticVersionError("Version string empty");
  const [major, minor, rest] = splitInThree(text);
  if (major === undefined || minor === undefined || rest === undefined) {
    throw new SemanticVersionError("No Major.Minor.Patch elements found");
  }
  const majorNumber = parseNumber("major", "Major", major);
  const minorNumber = parseNumber("minor", "Minor", minor);
  const [beforeBuild, build] = cut(rest, "+");
  const [patch, prerelease] = cut(beforeBuild, "-");
  return {
    major: majorNumber,
    minor: minorNumber,
    patch: parseNumber("patch", "Patch", patch),
    prerelease: prerelease === undefined ? [] : prerelease.split(".").map(parsePrerelease),
    build: build === undefined ? [] : build.split(".").map(parseBuild),
  };
}

/** Accepts a leading `v`, leading zeros and missing minor and patch numbers. */
export function parseLooseVersion(text: string): SemanticVersion {
  const parts = splitInThree(text.startsWith("v") ? text.slice(1) : text).map(dropLeadingZeros);
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? "")) {
    const why = "short version cannot contain PreRelease/Build meta data";
    throw new SemanticVersionError(why);
  }
  while (parts.length < 3) parts.push("0");
  return parseSemanticVersion(parts.join("."));
}

function dropLeadingZeros(part: string): string {
  if (part.length < 2) return part;
  const kept = part.replace(/^0+/, "");
  return /^[0-9]/.test(kept) ? kept : `0${kept}`;
}

/** At most three parts; the last part keeps its dots. */
function splitInThree(text: string): string[] {
  const [first, rest] = cut(text, ".");
  if (rest === undefined) return [first];
  const [second, third] = cut(rest, ".");
  return third === undefined ? [first, second] : [first, second, third];
}

function cut(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function parseNumber(name: string, title: string, text: string): bigint {
  if (!numberRegex.test(text)) {
    throw new SemanticVersionError(`Invalid character(s) found in ${name} number ${goQuote(text)}`);
  }
  if (text.length > 1 && text.startsWith("0")) {
    throw new SemanticVersionError(
      `${title} number must not contain leading zeroes ${goQuote(text)}`,
    );
  }
  return parseUint64(text);
}

function parseUint64(text: string): bigint {
  const fault = (why: string): SemanticVersionError =>
    new SemanticVersionError(`strconv.ParseUint: parsing ${goQuote(text)}: ${why}`);
  if (text === "") throw fault("invalid syntax");
  // 2^64 has 20 digits, so longer texts are not converted.
  if (text.length > 20 || BigInt(text) > uint64Max) throw fault("value out of range");
  return BigInt(text);
}

function parsePrerelease(text: string): bigint | string {
  if (text === "") throw new SemanticVersionError("Prerelease is empty");
  if (!numberRegex.test(text)) {
    if (wordRegex.test(text)) return text;
    throw new SemanticVersionError(`Invalid character(s) found in prerelease ${goQuote(text)}`);
  }
  if (text.length > 1 && text.startsWith("0")) {
    const why = "Numeric PreRelease version must not contain leading zeroes";
    throw new SemanticVersionError(`${why} ${goQuote(text)}`);
  }
  return parseUint64(text);
}

function parseBuild(text: string): string {
  if (text === "") throw new SemanticVersionError("Build meta data is empty");
  if (wordRegex.test(text)) return text;
  throw new SemanticVersionError(`Invalid character(s) found in build meta data ${goQuote(text)}`);
}

/** -1, 0 or 1. Build metadata is ignored. */
export function compareVersions(a: SemanticVersion, b: SemanticVersion): number {
  return (
    compare(a.major, b.major) ||
    compare(a.minor, b.minor) ||
    compare(a.patch, b.patch) ||
    comparePrereleases(a.prerelease, b.prerelease)
  );
}

function comparePrereleases(
  a: SemanticVersion["prerelease"],
  b: SemanticVersion["prerelease"],
): number {
  // A version without a prerelease follows all of its prereleases.
  if (a.length === 0 || b.length === 0)
    return compare(Number(a.length === 0), Number(b.length === 0));
  for (const [at, own] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const order =
      typeof own === typeof other ? compare(own, other) : typeof own === "bigint" ? -1 : 1;
    if (order !== 0) return order;
  }
  return a.length < b.length ? -1 : 0;
}

function compare<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function versionText(version: SemanticVersion): string {
  const prerelease = version.prerelease.length > 0 ? `-${version.prerelease.join(".")}` : "";
  const build = version.build.length > 0 ? `+${version.build.join(".")}` : "";
  return `${version.major}.${version.minor}.${version.patch}${prerelease}${build}`;
}
