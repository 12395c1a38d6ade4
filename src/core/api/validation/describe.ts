/**
 * Describes the difference between two values, for messages that refuse a change. Upstream appends a diff of its
 * internal structs there, which no client can parse; these messages name the fields.
 */
import { isRecord } from "#base/is-record.ts";
import { semanticEqual } from "./equal.ts";
import { byText } from "./fields.ts";
import { printValue } from "./errors.ts";

const linesMax = 20;
const valueMax = 200;

/** Starts with a line break; one `- field: old` / `+ field: new` pair per change. */
export function describeChange(before: unknown, after: unknown): string {
  const lines: string[] = [];
  collect(lines, "", before, after);
  const shown = lines.slice(0, linesMax);
  if (lines.length > linesMax) shown.push(`  ... // ${lines.length - linesMax} more lines`);
  return `\n${shown.join("\n")}\n`;
}

function collect(lines: string[], path: string, before: unknown, after: unknown): void {
  // Twice the limit suffices to know that there are more.
  if (lines.length > 2 * linesMax || semanticEqual(before, after)) return;
  if (isRecord(before) && isRecord(after)) {
    const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
    for (const field of [...fields].sort(byText)) {
      collect(lines, path === "" ? field : `${path}.${field}`, before[field], after[field]);
    }
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    before.forEach((item: unknown, at) => collect(lines, `${path}[${at}]`, item, after[at]));
    return;
  }
  if (before !== undefined) lines.push(`- ${path}: ${shorten(before)}`);
  if (after !== undefined) lines.push(`+ ${path}: ${shorten(after)}`);
}

function shorten(value: unknown): string {
  const text = printValue(value);
  return text.length <= valueMax ? text : `${text.slice(0, valueMax)}...`;
}
