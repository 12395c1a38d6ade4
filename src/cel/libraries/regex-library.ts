/**
 * kubernetes.regex: find and findAll, by RE2 (linear in the text). Compiled patterns are kept, so that a
 * constant pattern is compiled once.
 */
import { RE2JS, RE2JSException } from "re2js";
import { FunctionError, checkElements } from "./limits.ts";
import { declare, intOf, listOf, member, textOf, types } from "./library.ts";
import type { Library } from "./library.ts";
import { listValue } from "./values.ts";
import type { Value } from "./values.ts";

/** Patterns kept; the oldest goes. Expressions have few, and compiling again is all that is lost. */
const patternsMax = 256;
/** A longer pattern is compiled at each call: what is kept stays small. */
const keptPatternMax = 1_024;
const patterns = new Map<string, RE2JS>();

/** @throws FunctionError with upstream's text for a pattern that RE2 refuses. */
export function compilePattern(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const compiled = compileNew(pattern);
  if (pattern.length > keptPatternMax) return compiled;
  if (patterns.size >= patternsMax) {
    const [oldest] = patterns.keys();
    if (oldest !== undefined) patterns.delete(oldest);
  }
  patterns.set(pattern, compiled);
  return compiled;
}

function compileNew(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    // Go names the faulty part even where it is empty.
    const part = error.message.endsWith("trailing backslash at end of expression") ? ": ``" : "";
    throw new FunctionError(`Illegal regex: ${error.message}${part}`);
  }
}

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

/** @param limit matches at most; negative for all. */
function findAll(text: string, pattern: string, limit: bigint): Value {
  const isBounded = limit >= 0n && limit <= BigInt(text.length) + 1n;
  return listValue(findMatches(text, pattern, isBounded ? Number(limit) : text.length + 1));
}

/**
 * Go's rule for empty matches: one that touches the match before it does not count, and the search goes
 * on one code point later.
 */
function findMatches(text: string, pattern: string, limit: number): string[] {
  const matcher = compilePattern(pattern).matcher(text);
  const found: string[] = [];
  let previousEnd = -1;
  for (let at = 0; found.length < limit && at <= text.length && matcher.find(at);) {
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
