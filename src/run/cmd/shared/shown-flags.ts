/**
 * The flags of this process as /flagz shows them: by name, with values as upstream's programs print theirs.
 *
 * Of the flags of stock programs that have nothing to do here, those that were given.
 */
import type { Command, Option } from "commander";
import type { ShownFlags } from "#server/flagz.ts";
import { duration, durationOrZero, durationText, goDuration } from "./flag-values.ts";

const durations: ReadonlySet<unknown> = new Set([duration, durationOrZero, goDuration]);

let shown: ShownFlags = {};

/** Returns the flags of the running command. {}: no command runs, as in a program that starts a control plane itself. */
export function processFlags(): ShownFlags {
  return shown;
}

/** Notes the flags of the command that runs as those of the process. Call this before commands run. */
export function noteProcessFlags(program: Command): void {
  program.hook("preAction", (_program, running) => {
    shown = shownFlags(running);
  });
}

function shownFlags(command: Command): ShownFlags {
  const entries = command.options.flatMap((option) => {
    const { long, negate, hidden } = option;
    if (long === undefined || negate || long === "--version") return [];
    const value: unknown = command.getOptionValue(option.attributeName());
    if (hidden && value === undefined) return [];
    return [[long.slice(2), textOf(option, value)] as const];
  });
  return Object.fromEntries(entries);
}

function textOf(option: Option, value: unknown): string {
  const takesValue = option.required || option.optional;
  if (value === undefined) return takesValue ? "" : "false";
  if (typeof value === "number" && durations.has(option.parseArg)) return durationText(value);
  if (Array.isArray(value)) return value.every(isPlain) ? `[${value.join(",")}]` : "";
  return isPlain(value) ? String(value) : "";
}

/** The parser of a flag may return a value of any type. */
function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
