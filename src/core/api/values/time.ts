/**
 * Times as the API carries them (RFC 3339, UTC) and durations as tables show them.
 * All arithmetic is in milliseconds since 1970; micro times keep their digits only when copied.
 */

const timeRegex =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$/;

/** Milliseconds since 1970; undefined for a text that is not an RFC 3339 time. */
export function parseTime(text: string | null | undefined): number | undefined {
  if (text === undefined || text === null || !timeRegex.test(text)) return undefined;
  const time = Date.parse(text.toUpperCase());
  return Number.isNaN(time) ? undefined : time;
}

/** The last second formatted; under load all writes within a second have the same. */
let lastSecond = 0;
let lastText = "1970-01-01T00:00:00Z";

/** metav1.Time: second precision, `2026-01-02T03:04:05Z`. */
export function formatTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1000);
  if (second === lastSecond) return lastText;
  lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
  lastSecond = second;
  return lastText;
}

/** metav1.MicroTime: `2026-01-02T03:04:05.678000Z`. */
export function formatMicroTime(timeMs: number): string {
  return `${new Date(Math.floor(timeMs)).toISOString().slice(0, 23)}000Z`;
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/**
 * Formats a duration: `45s`, `3m20s`, `25m`, `5h10m`, `30h`, `3d4h`, `40d`, `2y100d`, `9y`. Up to two seconds of clock
 * skew into the future are shown as `0s`; more is `<invalid>`.
 */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return twoUnits(seconds, minute, "m", 1, "s");
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return twoUnits(seconds, hour, "h", minute, "m");
  if (seconds < 48 * hour) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return twoUnits(seconds, day, "d", hour, "h");
  if (seconds < 2 * year) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * year) return twoUnits(seconds, year, "y", day, "d");
  return `${Math.floor(seconds / year)}y`;
}

function twoUnits(
  seconds: number,
  large: number,
  largeName: string,
  small: number,
  smallName: string,
): string {
  const rest = Math.floor((seconds % large) / small);
  const whole = `${Math.floor(seconds / large)}${largeName}`;
  return rest === 0 ? whole : `${whole}${rest}${smallName}`;
}

/** The age of `text`; `<unknown>` when it is absent or not a time. */
export function ageOf(text: string | null | undefined, nowMs: number): string {
  const time = parseTime(text);
  return time === undefined ? "<unknown>" : humanDuration(nowMs - time);
}
