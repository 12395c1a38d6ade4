/** Durations as Go writes them: `1m30s`, `1.5h`, `-500ms`, `0`. */
import { ownEntry } from "#base/own.ts";

/** Go accepts both characters that look like a Greek mu. */
const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  "\u00b5s": 1e-3,
  "\u03bcs": 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const piece = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/g;
const whole = new RegExp(`^([+-]?)((?:${piece.source})+|0)$`);

/** In milliseconds; undefined when the text is not a duration. After Go's time.ParseDuration. */
export function parseGoDuration(text: string): number | undefined {
  const match = whole.exec(text);
  if (match === null) return undefined;
  let ms = 0;
  for (const [, digits, unit = ""] of (match[2] ?? "").matchAll(piece)) {
    ms += Number(digits) * (ownEntry(unitMs, unit) ?? 0);
  }
  return match[1] === "-" ? -ms : ms;
}
