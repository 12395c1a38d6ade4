/**
 * How many steps a regular expression of Go's syntax is compiled to, by its text alone: `a{1000}` has 7 characters and
 * 1,000 steps. A step takes some 1 us and 0.4 KB to compile; each character of a text may be at every one.
 */

/** Returns an upper bound by one pass over the text. `sizeOf`: steps of a character, class or operator; default 1. */
export function patternSteps(pattern: string, sizeOf: (token: string) => number = () => 1): number {
  const groups = [0];
  let last = 0;
  for (let at = 0; at < pattern.length;) {
    const [token = ""] = tokenAt(pattern, at);
    const top = groups.length - 1;
    if (token === "(") groups.push(0);
    else if (token === ")" && top > 0) {
      last = (groups.pop() ?? 0) + 2;
      groups[top - 1] = (groups[top - 1] ?? 0) + last;
    } else {
      const repeated = repeats(token);
      const size = sizeOf(token);
      const added = repeated === undefined ? size : last * (repeated - 1);
      last = repeated === undefined ? size : last * repeated;
      groups[top] = (groups[top] ?? 0) + added;
    }
    at += token.length;
  }
  return groups.reduce((sum, size) => sum + size, 1);
}

/** Matches an escape, a class, a counted repetition or one character. */
const tokenRegex =
  /\\[pPx]\{[^}]*\}|\\[^]|\[\^?\]?(?:\[:[^\]]*:\]|\\[^]|[^\]\\])*\]?|\{[0-9]{1,4}(?:,[0-9]{0,4})?\}|[^]/y;

function tokenAt(pattern: string, at: number): readonly string[] {
  tokenRegex.lastIndex = at;
  return tokenRegex.exec(pattern) ?? [pattern.charAt(at)];
}

function repeats(token: string): number | undefined {
  const match = /^\{([0-9]+)(,?)([0-9]*)\}$/.exec(token);
  if (match === null) return undefined;
  const [, least = "", comma = "", most = ""] = match;
  // `a{n,}` counts as n repetitions and a loop.
  return Math.max(1, Number(least) + (comma === "" ? 0 : 1), Number(most));
}
