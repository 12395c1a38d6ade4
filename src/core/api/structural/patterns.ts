/**
 * Patterns of schemas: Go's regular expressions, which take time linear in the text, so no pattern can
 * hold the loop. The same pattern occurs in many schemas, so compiled ones are shared; the least recently
 * used are dropped first.
 */
import { patternSteps } from "#base/pattern-steps.ts";
import { RE2JS, RE2JSException, RE2JSSyntaxException } from "re2js";

/** Maximum cached patterns: about 30 bytes per character and instruction; real patterns have 20 to 200. */
const patternsMax = 512;
const patternCharactersMax = 256 * 1024;
/** Compiling takes about 1 us per step; the longest pattern in use has some 4,000 characters. */
const patternStepsMax = 8 * 1024;

type Compiled =
  | { readonly pattern: RE2JS; readonly steps: number; readonly error?: undefined }
  /** Go's text: `error parsing regexp: missing closing ): ...`. */
  | { readonly pattern?: undefined; readonly error: string };

const kept = new Map<string, Compiled>();
let keptCharacters = 0;

export function compilePattern(source: string): Compiled {
  const known = kept.get(source);
  if (known !== undefined) {
    kept.delete(source);
    kept.set(source, known);
    return known;
  }
  const compiled = compile(source);
  kept.set(source, compiled);
  keptCharacters += source.length;
  while (kept.size > patternsMax || keptCharacters > patternCharactersMax) {
    const oldest = kept.keys().next().value;
    if (oldest === undefined) break;
    kept.delete(oldest);
    keptCharacters -= oldest.length;
  }
  return compiled;
}

function compile(source: string): Compiled {
  const steps = patternSteps(source);
  if (steps > patternStepsMax) return { error: "error parsing regexp: expression too large" };
  try {
    return { pattern: RE2JS.compile(source), steps };
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return { error: goText(error, source) };
    if (error instanceof RE2JSException) return { error: `error parsing regexp: ${error.message}` };
    throw error;
  }
}

/** Go always names the position; this library does so only where there is text to show. */
function goText(error: RE2JSSyntaxException, source: string): string {
  if (error.getPattern() !== null) return error.message;
  return `${error.message}: \`${error.message.includes("nests too deeply") ? source : ""}\``;
}
