/**
 * Scripts of shell commands with the output they must give: what a kubectl user types and sees.
 *
 *     # a comment names the behaviour
 *     kubectl create namespace blue
 *     ----
 *     namespace/blue created
 *
 * A block ends at an empty line. Output is stdout then stderr, lines trimmed at the end. A line that
 * starts with `~ ` is a regular expression for one line; `...` alone stands for any lines. `exit N`
 * as the last line asks for that exit code (0 otherwise).
 */

export interface Step {
  readonly line: number;
  readonly comment: string;
  readonly command: string;
  readonly expected: readonly string[];
  readonly exitCode: number;
}

export function parseScript(text: string): readonly Step[] {
  const steps: Step[] = [];
  const lines = text.split("\n");
  let at = 0;
  while (at < lines.length) {
    if ((lines[at] ?? "").trim() === "") {
      at++;
      continue;
    }
    const end = blockEnd(lines, at);
    const step = parseBlock(lines.slice(at, end), at + 1);
    if (step !== undefined) steps.push(step);
    at = end;
  }
  return steps;
}

function blockEnd(lines: readonly string[], start: number): number {
  const end = lines.findIndex((line, at) => at > start && line.trim() === "");
  return end === -1 ? lines.length : end;
}

function parseBlock(block: readonly string[], line: number): Step | undefined {
  const separator = block.indexOf("----");
  const head = separator === -1 ? block : block.slice(0, separator);
  const command = head.filter((text) => !text.startsWith("#")).join("\n");
  if (command === "") return undefined;
  const comment = head
    .filter((text) => text.startsWith("#"))
    .map((text) => text.slice(1).trim())
    .join(" ");
  const body = separator === -1 ? ["..."] : block.slice(separator + 1);
  const exit = /^exit (\d+)$/.exec(body.at(-1) ?? "")?.[1];
  const expected = exit === undefined ? body : body.slice(0, -1);
  return { line, comment, command, expected, exitCode: Number(exit ?? 0) };
}

/** Undefined when `actual` is as expected, else the first line that is not. */
export function mismatch(
  expected: readonly string[],
  actual: readonly string[],
): string | undefined {
  let at = 0;
  for (const [index, want] of expected.entries()) {
    if (want === "...") {
      const rest = expected.slice(index + 1);
      if (rest.length === 0) return undefined;
      while (at < actual.length && mismatch(rest, actual.slice(at)) !== undefined) at++;
      return at < actual.length ? undefined : `nothing after "..." matches: ${rest.join(" | ")}`;
    }
    const got = actual[at];
    if (got === undefined) return `missing line: ${want}`;
    if (!lineMatches(want, got)) return `expected: ${want}\n     got: ${got}`;
    at++;
  }
  return at < actual.length ? `unexpected line: ${actual[at]}` : undefined;
}

function lineMatches(want: string, got: string): boolean {
  return want.startsWith("~ ") ? new RegExp(`^(?:${want.slice(2)})$`).test(got) : want === got;
}
