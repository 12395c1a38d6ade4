/**
 * Cron schedules: five fields (minute hour day-of-month month day-of-week), the @macros, @every, and a
 * TZ= or CRON_TZ= prefix; texts of errors as robfig/cron v3, which upstream's CronJobs use.
 *
 * A schedule is five bit sets. When both day fields are restricted, a day matches if either does; a
 * field that starts with * or ? (step 1) does not restrict. The next time is searched in the zone's
 * calendar: a local time that a clock change skips does not run that day, one that it repeats runs
 * twice. Cost: two zone look-ups per day, and a search covers at most `searchYears` of days.
 */
import { parseGoDuration } from "../go/go-duration.ts";
import { dictionary, ownEntry } from "#base/own.ts";

export class CronError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CronError";
  }
}

interface FieldSet {
  /** Bit n: the value n is in the set. */
  readonly bits: bigint;
  /** The field was * or ?, so it does not restrict. */
  readonly star: boolean;
}

type CronSchedule =
  | {
      readonly kind: "calendar";
      readonly minute: FieldSet;
      readonly hour: FieldSet;
      readonly dayOfMonth: FieldSet;
      readonly month: FieldSet;
      readonly dayOfWeek: FieldSet;
      /** From a TZ= prefix; takes precedence over the caller's zone. */
      readonly timeZone?: string;
    }
  | { readonly kind: "every"; readonly everyMs: number };

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names: Readonly<Record<string, number>>;
}

const secondMs = 1_000;
const minuteMs = 60_000;
const dayMs = 86_400_000;
/** As robfig/cron: the search ends after this time, because 29 February on a given weekday may be years away. */
const searchYears = 5;
const textMax = 1_024;

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun"];
monthNames.push("jul", "aug", "sep", "oct", "nov", "dec");
const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const minutes: Bounds = { min: 0, max: 59, names: {} };
const hours: Bounds = { min: 0, max: 23, names: {} };
const daysOfMonth: Bounds = { min: 1, max: 31, names: {} };
const months: Bounds = { min: 1, max: 12, names: numberNames(monthNames, 1) };
const daysOfWeek: Bounds = { min: 0, max: 6, names: numberNames(dayNames, 0) };

const macros: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

function numberNames(names: readonly string[], first: number): Readonly<Record<string, number>> {
  return Object.fromEntries(names.map((name, at) => [name, first + at]));
}

/** Throws CronError, whose message is upstream's. */
export function parseCron(spec: string): CronSchedule {
  if (spec === "") throw new CronError("empty spec string");
  if (spec.length > textMax)
    throw new CronError(`spec string is longer than ${textMax} characters`);
  const zone = /^(?:CRON_TZ|TZ)=(\S*)\s*(.*)$/s.exec(spec);
  if (zone === null) return parseSpec(spec);
  const timeZone = zone[1] ?? "";
  if (!isTimeZone(timeZone)) {
    throw new CronError(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
  }
  const schedule = parseSpec((zone[2] ?? "").trim());
  return schedule.kind === "every" ? schedule : { ...schedule, timeZone };
}

function parseSpec(spec: string): CronSchedule {
  if (spec.startsWith("@")) return parseDescriptor(spec);
  const fields = spec.split(/\s+/).filter((field) => field !== "");
  if (fields.length !== 5) {
    throw new CronError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`);
  }
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  return {
    kind: "calendar",
    minute: parseField(minute, minutes),
    hour: parseField(hour, hours),
    dayOfMonth: parseField(day, daysOfMonth),
    month: parseField(month, months),
    dayOfWeek: parseField(weekday, daysOfWeek),
  };
}

function parseDescriptor(descriptor: string): CronSchedule {
  const macro = ownEntry(macros, descriptor);
  if (macro !== undefined) return parseSpec(macro);
  if (!descriptor.startsWith("@every ")) {
    throw new CronError(`unrecognized descriptor: ${descriptor}`);
  }
  const text = descriptor.slice("@every ".length);
  const ms = parseGoDuration(text);
  if (ms === undefined) {
    const why = `time: invalid duration ${JSON.stringify(text)}`;
    throw new CronError(`failed to parse duration ${descriptor}: ${why}`);
  }
  const whole = Math.floor(ms / secondMs) * secondMs;
  return { kind: "every", everyMs: Math.max(whole, secondMs) };
}

function parseField(field: string, bounds: Bounds): FieldSet {
  let bits = 0n;
  let star = false;
  for (const expression of field.split(",")) {
    if (expression === "") continue;
    const range = parseRange(expression, bounds);
    bits |= range.bits;
    star ||= range.star;
  }
  return { bits, star };
}

/** number | number-number [/step] | * [/step] | number/step (to the maximum). */
function parseRange(expression: string, bounds: Bounds): FieldSet {
  const [range = "", stepText, ...tooManySlashes] = expression.split("/");
  const [low = "", highText, ...tooManyHyphens] = range.split("-");
  const any = low === "*" || low === "?";
  if (!any && tooManyHyphens.length > 0) throw new CronError(`too many hyphens: ${expression}`);
  const start = any ? bounds.min : parseNumber(low, bounds.names);
  let end = start;
  if (any) end = bounds.max;
  else if (highText !== undefined) end = parseNumber(highText, bounds.names);
  if (tooManySlashes.length > 0) throw new CronError(`too many slashes: ${expression}`);
  let step = 1;
  if (stepText !== undefined) {
    step = parseNumber(stepText, {});
    if (highText === undefined) end = bounds.max;
  }
  checkRange(expression, bounds, { start, end, step });
  let bits = 0n;
  for (let value = start; value <= end; value += step) bits |= 1n << BigInt(value);
  return { bits, star: any && step === 1 };
}

function checkRange(
  expression: string,
  bounds: Bounds,
  range: { readonly start: number; readonly end: number; readonly step: number },
): void {
  const { start, end, step } = range;
  if (start < bounds.min) {
    throw new CronError(
      `beginning of range (${start}) below minimum (${bounds.min}): ${expression}`,
    );
  }
  if (end > bounds.max) {
    throw new CronError(`end of range (${end}) above maximum (${bounds.max}): ${expression}`);
  }
  if (start > end) {
    throw new CronError(
      `beginning of range (${start}) beyond end of range (${end}): ${expression}`,
    );
  }
  if (step === 0) {
    throw new CronError(`step of range should be a positive number: ${expression}`);
  }
}

function parseNumber(text: string, names: Readonly<Record<string, number>>): number {
  const named = ownEntry(names, text.toLowerCase());
  if (named !== undefined) return named;
  if (!/^[+-]?\d{1,18}$/.test(text)) {
    const why = `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
    throw new CronError(`failed to parse int from ${text}: ${why}`);
  }
  const value = Number(text);
  if (value < 0) throw new CronError(`negative number (${value}) not allowed: ${text}`);
  return value;
}

/**
 * Returns the first time after `timeMs` at which the schedule fires, in milliseconds since 1970; undefined
 * when there is none within five years (30 February).
 * @param timeZone IANA name; the schedule's own TZ= takes precedence. Throws RangeError for an unknown one.
 */
export function nextAfter(
  schedule: CronSchedule,
  timeMs: number,
  timeZone = "UTC",
): number | undefined {
  if (schedule.kind === "every") {
    return Math.floor(timeMs / secondMs) * secondMs + schedule.everyMs;
  }
  const zone = schedule.timeZone ?? timeZone;
  const localStart = timeMs + offsetMs(zone, timeMs);
  const firstDay = Math.floor(localStart / dayMs);
  const lastDay = firstDay + searchYears * 366;
  // Includes the previous day, because a clock that is set back across midnight repeats its end.
  for (let day = firstDay - 1; day <= lastDay; day++) {
    if (!dayMatches(schedule, day)) continue;
    const found = firstOfDay(schedule, day, timeMs, zone);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Calendar = Extract<CronSchedule, { readonly kind: "calendar" }>;

function dayMatches(schedule: Calendar, day: number): boolean {
  const date = new Date(day * dayMs);
  if (!inSet(schedule.month, date.getUTCMonth() + 1)) return false;
  const monthDay = inSet(schedule.dayOfMonth, date.getUTCDate());
  const weekDay = inSet(schedule.dayOfWeek, date.getUTCDay());
  if (schedule.dayOfMonth.star || schedule.dayOfWeek.star) return monthDay && weekDay;
  return monthDay || weekDay;
}

function inSet(set: FieldSet, value: number): boolean {
  return ((set.bits >> BigInt(value)) & 1n) === 1n;
}

function firstOfDay(
  schedule: Calendar,
  day: number,
  afterMs: number,
  zone: string,
): number | undefined {
  const localDay = day * dayMs;
  const offsets = [offsetMs(zone, localDay - dayMs), offsetMs(zone, localDay + 2 * dayMs)];
  const steady = offsets[0] === offsets[1];
  let best: number | undefined;
  for (const minute of minutesOfDay(schedule)) {
    for (const time of timesAt(localDay + minute * minuteMs, offsets, zone, steady)) {
      if (time <= afterMs || (best !== undefined && best <= time)) continue;
      if (steady) return time;
      best = time;
    }
  }
  return best;
}

function* minutesOfDay(schedule: Calendar): Generator<number> {
  for (let hour = 0; hour < 24; hour++) {
    if (!inSet(schedule.hour, hour)) continue;
    for (let minute = 0; minute < 60; minute++) {
      if (inSet(schedule.minute, minute)) yield hour * 60 + minute;
    }
  }
}

/** The instants at which the zone's clock shows `localMs`: zero, one or two. */
function timesAt(
  localMs: number,
  offsets: readonly number[],
  zone: string,
  steady: boolean,
): readonly number[] {
  const offset = offsets[0] ?? 0;
  if (steady) return [localMs - offset];
  return [...new Set(offsets)]
    .map((each) => localMs - each)
    .filter((time) => time + offsetMs(zone, time) === localMs);
}

/** Cached formatters: creating one takes 50 µs, using it 2 µs. */
const formats = new Map<string, Intl.DateTimeFormat>();
const formatsMax = 64;

/** The zone's offset from UTC. Throws RangeError for an unknown zone. */
function offsetMs(zone: string, timeMs: number): number {
  if (zone === "UTC") return 0;
  const wall = dictionary<number>();
  const whole = Math.floor(timeMs / secondMs) * secondMs;
  for (const part of formatFor(zone).formatToParts(whole)) wall[part.type] = Number(part.value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = wall;
  return Date.UTC(year, month - 1, day, hour, minute, second) - whole;
}

function formatFor(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    calendar: "iso8601",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  if (formats.size >= formatsMax) formats.clear();
  formats.set(zone, format);
  return format;
}

export function isTimeZone(name: string): boolean {
  if (name === "" || /^[+-]/.test(name)) return false;
  try {
    formatFor(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
