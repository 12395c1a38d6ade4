/** Parts of timestamps, in UTC or a named time zone, and of durations. */
import { spendEffort } from "../effort.ts";
import {
  declare,
  member,
  types,
  type Library,
  type LibraryOverload,
} from "../libraries/library.ts";
import { FunctionError } from "../libraries/limits.ts";
import { Duration, Timestamp, type Value } from "../libraries/values.ts";
import { noOverload } from "./arithmetic.ts";

const { duration, int, string, timestamp } = types;

type Part = (date: Date) => number;

function partOf(part: Part): (value: Value, zone?: Value) => Value {
  return (value, zone) => {
    if (!(value instanceof Timestamp)) throw noOverload();
    const ms = Number((value.nanos - modulo(value.nanos, 1_000_000n)) / 1_000_000n);
    const offset = zone === undefined ? 0 : zoneOffsetMs(ms, zone);
    return BigInt(part(new Date(ms + offset)));
  };
}

function modulo(value: bigint, divisor: bigint): bigint {
  return ((value % divisor) + divisor) % divisor;
}

const zones = new Map<string, Intl.DateTimeFormat | undefined>();
/** Maximum cached zone names; there are fewer zones, so more names are mistakes. */
const zonesMax = 1_000;

/** The zone's offset from UTC at that moment. */
function zoneOffsetMs(ms: number, zone: Value): number {
  spendEffort(15);
  if (typeof zone !== "string") throw noOverload();
  const fixed = /^([+-]?)(\d{2}):(\d{2})$/.exec(zone);
  if (fixed !== null) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    return minutes * 60_000 * (fixed[1] === "-" ? -1 : 1);
  }
  if (zone === "" || zone === "UTC") return 0;
  const format = zones.get(zone) ?? openZone(zone);
  if (format === undefined) throw new FunctionError(`unknown time zone ${zone}`);
  const parts = Object.fromEntries(
    format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  const wall = Date.UTC(year, month - 1, day, hour, minute, second);
  return wall - Math.floor(ms / 1_000) * 1_000;
}

function openZone(zone: string): Intl.DateTimeFormat | undefined {
  spendEffort(500);
  let format: Intl.DateTimeFormat | undefined;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "iso8601",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch {
    format = undefined;
  }
  if (zones.size < zonesMax) zones.set(zone, format);
  return format;
}

function dayOfYear(date: Date): number {
  const start = Date.UTC(2000, 0, 1);
  const first = new Date(start);
  first.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - first.getTime()) / 86_400_000);
}

const hour = 3_600_000_000_000n;

function lengthOf(convert: (nanos: bigint) => bigint): (value: Value) => Value {
  return (value) => {
    if (!(value instanceof Duration)) throw noOverload();
    return convert(value.nanos);
  };
}

function timestampPart(id: string, part: Part): LibraryOverload[] {
  const read = partOf(part);
  return [
    member(id, [timestamp], int, (value) => read(value as Value)),
    member(`${id}_with_tz`, [timestamp, string], int, (value, zone) => read(value as Value, zone)),
  ];
}

export const timeLibrary: Library = {
  name: "stdlib.time",
  since: 0,
  functions: [
    declare("getFullYear", ...timestampPart("timestamp_to_year", (date) => date.getUTCFullYear())),
    declare("getMonth", ...timestampPart("timestamp_to_month", (date) => date.getUTCMonth())),
    declare("getDayOfYear", ...timestampPart("timestamp_to_day_of_year", dayOfYear)),
    declare(
      "getDayOfMonth",
      ...timestampPart("timestamp_to_day_of_month", (date) => date.getUTCDate() - 1),
    ),
    declare(
      "getDate",
      ...timestampPart("timestamp_to_day_of_month_1_based", (date) => date.getUTCDate()),
    ),
    declare(
      "getDayOfWeek",
      ...timestampPart("timestamp_to_day_of_week", (date) => date.getUTCDay()),
    ),
    declare(
      "getHours",
      ...timestampPart("timestamp_to_hours", (date) => date.getUTCHours()),
      member(
        "duration_to_hours",
        [duration],
        int,
        lengthOf((nanos) => nanos / hour),
      ),
    ),
    declare(
      "getMinutes",
      ...timestampPart("timestamp_to_minutes", (date) => date.getUTCMinutes()),
      member(
        "duration_to_minutes",
        [duration],
        int,
        lengthOf((nanos) => nanos / (hour / 60n)),
      ),
    ),
    declare(
      "getSeconds",
      ...timestampPart("timestamp_to_seconds", (date) => date.getUTCSeconds()),
      member(
        "duration_to_seconds",
        [duration],
        int,
        lengthOf((nanos) => nanos / 1_000_000_000n),
      ),
    ),
    declare(
      "getMilliseconds",
      ...timestampPart("timestamp_to_milliseconds", (date) => date.getUTCMilliseconds()),
      member(
        "duration_to_milliseconds",
        [duration],
        int,
        lengthOf((nanos) => (nanos / 1_000_000n) % 1_000n),
      ),
    ),
  ],
};
