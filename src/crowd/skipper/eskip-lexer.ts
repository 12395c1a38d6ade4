/**
 * Tokens of eskip. In: text of anybody (annotations). Out: tokens, or EskipError with the position.
 *
 * Cost   linear in the text. Bounds: the caller's (annotations have 256 KiB at most).
 * After  the grammar in Skipper's documentation of eskip; strings and regular expressions are unescaped here.
 */
export class EskipError extends Error {
  constructor(position: number, problem: string) {
    super(`position ${position}: ${problem}`);
    this.name = "EskipError";
  }
}

export type TokenKind =
  | "and"
  | "any"
  | "arrow"
  | "backend"
  | "close"
  | "colon"
  | "comma"
  | "end"
  | "greater"
  | "less"
  | "number"
  | "open"
  | "semicolon"
  | "symbol"
  | "text";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly position: number;
}

const fixed: readonly (readonly [string, TokenKind])[] = [
  ["&&", "and"],
  ["->", "arrow"],
  ["<shunt>", "backend"],
  ["<loopback>", "backend"],
  ["<dynamic>", "backend"],
  ["<forward>", "backend"],
  ["*", "any"],
  [")", "close"],
  [":", "colon"],
  [",", "comma"],
  [">", "greater"],
  ["<", "less"],
  ["(", "open"],
  [";", "semicolon"],
];
const blank = /(?:[ \n\t\v\f\r\u0085\u00a0]|\/\/[^\n]*)*/y;
const number = /-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)/y;
const symbol = /[A-Za-z_][A-Za-z0-9_]*/y;
const escapes: ReadonlyMap<string, string> = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = skipBlank(text, 0); at < text.length;) {
    const { token, next } = tokenAt(text, at);
    tokens.push(token);
    at = skipBlank(text, next);
  }
  return tokens;
}

function skipBlank(text: string, at: number): number {
  return at + (match(blank, text, at)?.length ?? 0);
}

interface Scanned {
  readonly token: Token;
  readonly next: number;
}

function tokenAt(text: string, position: number): Scanned {
  const first = text[position] ?? "";
  if (first === '"' || first === "`") return scanText(text, position, first);
  if (first === "/") return scanRegexp(text, position);
  const kind = fixed.find(([sign]) => text.startsWith(sign, position));
  if (kind !== undefined) return scanned(kind[1], kind[0], position, position + kind[0].length);
  const digits = match(number, text, position);
  if (digits !== undefined) {
    if (digits.endsWith(".")) throw new EskipError(position, "incomplete number");
    return scanned("number", digits, position, position + digits.length);
  }
  const name = match(symbol, text, position);
  if (name === undefined) throw new EskipError(position, "unexpected character");
  return scanned("symbol", name, position, position + name.length);
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function scanned(kind: TokenKind, text: string, position: number, next: number): Scanned {
  return { token: { kind, text, position }, next };
}

/** Scans a quoted text. A backslash stays unless the delimiter, a backslash or a character of `escapes` follows. */
function scanText(text: string, position: number, delimiter: string): Scanned {
  const made: string[] = [];
  for (let at = position + 1; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === delimiter) return scanned("text", made.join(""), position, at + 1);
    if (char !== "\\") {
      made.push(char);
      continue;
    }
    const next = text[++at];
    if (next === undefined) break;
    if (next === delimiter || next === "\\") made.push(next);
    else made.push(escapes.get(next) ?? `\\${next}`);
  }
  throw new EskipError(position, "unclosed text");
}

/** Scans a regular expression. A slash within `[...]` does not end it; escaped slashes and backslashes lose their backslash. */
function scanRegexp(text: string, position: number): Scanned {
  const made: string[] = [];
  let inClass = false;
  for (let at = position + 1; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === "\\") {
      const next = text[++at];
      if (next === undefined) break;
      made.push(next === "/" || next === "\\" ? next : `\\${next}`);
      continue;
    }
    if (char === "/" && !inClass) return scanned("text", made.join(""), position, at + 1);
    if (char === "[" && !inClass) inClass = true;
    else if (char === "]") inClass = false;
    made.push(char);
  }
  throw new EskipError(position, "unclosed regular expression");
}
