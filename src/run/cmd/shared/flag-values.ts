/** Parsers of flag values. Each one returns a value or throws a sentence about the expected value. */
import { InvalidArgumentError, Option } from "commander";
import { isIP } from "node:net";
import { parseGoDuration } from "#api/go/go-duration.ts";
import { imagePatterns, type ImagePatterns } from "#hollow/image-pull.ts";

export function logLevelOption(): Option {
  return new Option("--log-level <level>", "what to log, as JSON lines on stderr")
    .choices(["debug", "info", "warn", "error", "silent"])
    .default("warn");
}

export function boolean(text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new InvalidArgumentError("true or false.");
}

/** Splits a list. The flag itself refuses empty entries. */
export function commaList(text: string): readonly string[] {
  return text.split(",");
}

/** Adds a value of a flag that may be repeated. */
export function gathered(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

export function nameList(text: string): readonly string[] {
  return text.split(",").filter((name) => name !== "");
}

export function ipAddress(text: string): string {
  if (isIP(text) !== 0) return text;
  throw new InvalidArgumentError("not an IP address.");
}

/** Parses a duration such as `1h30m` into milliseconds. */
export function duration(text: string): number {
  const ms = milliseconds(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError("a duration is hours, minutes and seconds, as 1h30m.");
}

/** Parses a TTL. A third of it is the time between two heartbeats. */
export function xdsTtl(text: string): number {
  const ms = duration(text);
  if (ms >= 3_000) return ms;
  throw new InvalidArgumentError("at least 3s.");
}

/** Parses like `duration`, and accepts zero too. */
export function durationOrZero(text: string): number {
  return /^0[hms]?$/.test(text) ? 0 : duration(text);
}

/** Parses any duration that Go accepts, zero included, into milliseconds. */
export function goDuration(text: string): number {
  const ms = parseGoDuration(text);
  if (ms !== undefined && ms >= 0) return ms;
  throw new InvalidArgumentError("a duration is a number with a unit, as 30s or 2m.");
}

/** Returns the milliseconds of a duration in flags and configuration files. Undefined: the text is no duration, or zero. */
export function milliseconds(text: unknown): number | undefined {
  const [whole, hours = "0", minutes = "0", seconds = "0"] =
    /^(?:(\d{1,7})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/.exec(typeof text === "string" ? text : "") ??
    [];
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return whole !== undefined && ms > 0 ? ms : undefined;
}

/** Returns a duration as Go prints it: 1m0s, 8760h0m0s. */
export function durationText(ms: number): string {
  if (ms === 0) return "0s";
  if (ms < 1_000) return `${ms}ms`;
  const seconds = Math.floor(ms / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const tail = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${tail}`;
  return minutes > 0 ? `${minutes}m${tail}` : tail;
}

export function patterns(text: string): ImagePatterns {
  try {
    return imagePatterns(text);
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message}.`);
  }
}

export function integer(what: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`${what} must be a whole number from ${least} to ${most}.`);
  };
}
