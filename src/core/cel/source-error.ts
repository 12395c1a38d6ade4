/** Errors of an expression with their position, in cel-go's form. */

export interface SourceError {
  /** Offset in code points. */
  readonly at: number;
  readonly message: string;
}

/** Each error with its line and a mark below its column. */
export function showErrors(text: string, errors: readonly SourceError[]): string {
  const source = Array.from(text);
  const sorted = errors.toSorted((a, b) => a.at - b.at);
  return sorted.map((error) => showError(source, error)).join("\n");
}

/** As upstream, longer lines are not shown. */
const snippetMax = 16_384;

function showError(source: readonly string[], { at, message }: SourceError): string {
  const before = source.slice(0, at);
  const line = before.filter((character) => character === "\n").length;
  const start = before.lastIndexOf("\n") + 1;
  const column = at - start;
  const rest = source.indexOf("\n", start);
  const snippet = source.slice(start, rest < 0 ? source.length : rest);
  const head = `ERROR: <input>:${line + 1}:${column + 1}: ${message}`;
  if (snippet.length > snippetMax) return head;
  const shown = snippet.map((character) => (character === "\t" ? " " : character));
  return `${head}\n | ${shown.join("")}\n | ${mark(shown, column)}`;
}

/** Wide marks are used below non-ASCII characters. */
function mark(line: readonly string[], column: number): string {
  const dots = line.slice(0, column).map((character) => (isWide(character) ? "．" : "."));
  const there = line[column];
  return `${dots.join("")}${there !== undefined && isWide(there) ? "＾" : "^"}`;
}

function isWide(character: string): boolean {
  return (character.codePointAt(0) ?? 0) > 0x7f;
}
