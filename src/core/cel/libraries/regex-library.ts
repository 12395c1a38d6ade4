/**
 * kubernetes.regex: find and findAll, by RE2 (linear in the text); patterns, compiled and kept.
 *
 * Compiling is not counted by any cost: `a{1000}` has 7 characters and 1,000 steps, each some 5 us and
 * 0.4 KB to compile. So the steps are counted before: for one pattern, for one evaluation (its constant
 * patterns are compiled before it), and for all that are kept.
 */
import { RE2JS, RE2JSException } from "re2js";
import { patternSteps } from "#base/pattern-steps.ts";
import { spendEffort } from "../effort.ts";
import { FunctionError, checkElements } from "./limits.ts";
import { declare, intOf, listOf, member, textOf, types } from "./library.ts";
import type { Library } from "./library.ts";
import { listValue } from "./values.ts";
import type { Value } from "./values.ts";

export const regexLibrary: Library = {
  name: "kubernetes.regex",
  since: 0,
  functions: [
    declare(
      "find",
      member("string_find_string", [types.string, types.string], types.string, (text, pattern) => {
        return findMatches(textOf(text), textOf(pattern), 1)[0] ?? "";
      }),
    ),
    declare(
      "findAll",
      member(
        "string_find_all_string",
        [types.string, types.string],
        listOf(types.string),
        (text, pattern) => findAll(textOf(text), textOf(pattern), -1n),
      ),
      member(
        "string_find_all_string_int",
        [types.string, types.string, types.int],
        listOf(types.string),
        (text, pattern, limit) => findAll(textOf(text), textOf(pattern), intOf(limit)),
      ),
    ),
  ],
};

/** @param limit maximum number of matches; negative: unlimited. */
function findAll(text: string, pattern: string, limit: bigint): Value {
  const isBounded = limit >= 0n && limit <= BigInt(text.length) + 1n;
  return listValue(findMatches(text, pattern, isBounded ? Number(limit) : text.length + 1));
}

/**
 * Go's rule for empty matches: one that touches the match before it does not count, and the search goes
 * on one code point later.
 */
function findMatches(text: string, pattern: string, limit: number): string[] {
  const { compiled, steps } = patternOf(pattern);
  const matcher = compiled.matcher(text);
  const found: string[] = [];
  let previousEnd = -1;
  for (let at = 0; found.length < limit && at <= text.length;) {
    spendEffort(searchEffort(text.length - at, steps));
    if (!matcher.find(at)) break;
    const start = matcher.start();
    const end = matcher.end();
    const isEmpty = start === end;
    if (!isEmpty || start !== previousEnd) {
      found.push(text.slice(start, end));
      checkElements("findAll", found.length);
    }
    previousEnd = end;
    at = isEmpty ? end + ((text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1) : end;
  }
  return found;
}

/** Maximum steps of a pattern: some 50 ms. RE2's own limit is 1.4 million. */
const patternStepsMax = 10_000;
/** Maximum steps of all cached patterns: some 25 MB. The oldest are dropped. */
const keptStepsMax = 50_000;
/** Maximum cached patterns, which bounds the memory of short ones. */
const keptPatternsMax = 256;

interface Pattern {
  readonly compiled: RE2JS;
  readonly steps: number;
}

const kept = new Map<string, Pattern>();
let keptSteps = 0;
/** Steps that may still be compiled in this evaluation. */
let budget = Number.POSITIVE_INFINITY;

/** Runs an evaluation that may compile this many steps of computed patterns. */
export function withPatternBudget<T>(steps: number, run: () => T): T {
  const before = budget;
  budget = steps;
  try {
    return run();
  } finally {
    budget = before;
  }
}

/** @throws FunctionError with upstream's text for a pattern that RE2 refuses. */
export function hasMatch(text: string, pattern: string): boolean {
  const { compiled, steps } = patternOf(pattern);
  spendEffort(searchEffort(text.length, steps));
  return compiled.matcher(text).find();
}

/** Whether RE2 accepts it. A pattern too large to be compiled here is refused when it is used. */
export function isPattern(pattern: string): boolean {
  if (kept.has(pattern) || patternSteps(pattern) > patternStepsMax) return true;
  try {
    patternOf(pattern);
    return true;
  } catch (error) {
    if (error instanceof FunctionError) return false;
    throw error;
  }
}

/** Effort of a search, in which each character may be processed at each step. */
function searchEffort(characters: number, steps: number): number {
  return 1 + (characters * steps) / 16;
}

/** Compiling takes about 1 us per step. */
const effortPerStep = 8;

function patternOf(pattern: string): Pattern {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  const steps = patternSteps(pattern);
  if (steps > patternStepsMax) {
    throw new FunctionError("Illegal regex: error parsing regexp: expression too large");
  }
  spendEffort(steps * effortPerStep);
  budget -= steps;
  if (budget < 0)
    throw new FunctionError("the patterns of this evaluation are too large to compile");
  const made = { compiled: compileNew(pattern), steps };
  keep(pattern, made);
  return made;
}

function compileNew(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    // Go names the invalid part even when it is empty.
    const part = error.message.endsWith("trailing backslash at end of expression") ? ": ``" : "";
    throw new FunctionError(`Illegal regex: ${error.message}${part}`);
  }
}

function keep(pattern: string, entry: Pattern): void {
  kept.set(pattern, entry);
  keptSteps += entry.steps;
  for (const [oldest, { steps }] of kept) {
    if (keptSteps <= keptStepsMax && kept.size <= keptPatternsMax) return;
    kept.delete(oldest);
    keptSteps -= steps;
  }
}
