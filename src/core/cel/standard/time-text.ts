/** Durations in Go's form and RFC 3339 timestamps, with nanoseconds. */

const units: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
const textMax = 200;

/** In nanoseconds; undefined: not a duration. May exceed an int64. */
export function parseDuration(text: string): bigint | undefined {
  if (text.length > textMax) return undefined;
  const [, sign = "", body = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (body === "0") return 0n;
  let nanos = 0n;
  let rest = body;
  while (rest !== "") {
    const found = /^(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/.exec(rest);
    const unit = units.get(found?.[3] ?? "");
    const whole = found?.[1] ?? "";
    const fraction = found?.[2] ?? "";
    if (found === null || unit === undefined || whole + fraction === "") return undefined;
    nanos += BigInt(whole === "" ? "0" : whole) * unit;
    if (fraction !== "") nanos += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
    rest = rest.slice(found[0].length);
  }
  if (body === "") return undefined;
  return sign === "-" ? -nanos : nanos;
}

const rfc3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})$/;

/** Nanoseconds since 1970; undefined: not a timestamp. */
export function parseTimestamp(text: string): bigint | undefined {
  const found = text.length > textMax ? null : rfc3339.exec(text);
  if (found === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", zone = "Z"] = found;
  const ms = Date.UTC(
    2000,
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  const date = new Date(ms);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isReal =
    date.getUTCMonth() === Number(month) - 1 &&
    date.getUTCDate() === Number(day) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60;
  if (!isReal) return undefined;
  const offset = offsetMinutes(zone);
  if (offset === undefined) return undefined;
  const nanos = BigInt(fraction.slice(0, 9).padEnd(9, "0"));
  return BigInt(date.getTime() - offset * 60_000) * 1_000_000n + nanos;
}

function offsetMinutes(zone: string): number | undefined {
  if (zone === "Z" || zone === "z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (hours * 60 + minutes) * (zone.startsWith("-") ? -1 : 1);
}
