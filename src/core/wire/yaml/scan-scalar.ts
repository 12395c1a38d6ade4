/** Scans plain, quoted and block scalars. Lines are folded as YAML 1.1 demands. */
import { type Cursor, end, isDigitCode, type Mark, scanFault } from "./cursor.ts";
import type { Token } from "./token.ts";

const tab = 9;
const space = 32;
const doubleQuote = 34;
const hash = 35;
const singleQuote = 39;
const plus = 43;
const minus = 45;
const dot = 46;
const zero = 48;
const colon = 58;
const backslash = 92;

function scalar(value: string, start: Mark, at: Mark, isPlain: boolean): Token {
  return { type: "scalar", start, end: at, value, isPlain };
}

/** The text between two lines: a single break becomes a space, further ones are kept. */
function folded(leading: string, trailing: string): string {
  if (!leading.startsWith("\n")) return leading + trailing;
  return trailing === "" ? " " : trailing;
}

/** Blanks and breaks before the next piece of text. */
class Gap {
  whitespace = "";
  leading = "";
  trailing = "";
  hasBreak = false;

  take(cursor: Cursor): void {
    if (cursor.isBlank()) {
      if (!this.hasBreak) this.whitespace += cursor.text.charAt(cursor.at);
      cursor.skip();
    } else if (this.hasBreak) {
      this.trailing += cursor.readBreak();
    } else {
      this.whitespace = "";
      this.leading += cursor.readBreak();
      this.hasBreak = true;
    }
  }

  /** Their form in the value. */
  text(): string {
    return this.hasBreak ? folded(this.leading, this.trailing) : this.whitespace;
  }
}

const flowIndicators: ReadonlySet<number> = new Set(Buffer.from(",?[]{}"));

/** @returns the token, and whether a simple key may follow. */
export function scanPlain(
  cursor: Cursor,
  indent: number,
  isFlow: boolean,
): { readonly token: Token; readonly endsLine: boolean } {
  const start = cursor.mark;
  let last = start;
  let gap = new Gap();
  const parts: string[] = [];
  for (;;) {
    if (cursor.isDocumentMark(minus) || cursor.isDocumentMark(dot)) break;
    if (cursor.code() === hash) break;
    const to = endOfPlain(cursor, isFlow);
    if (to > cursor.at) {
      parts.push(gap.text(), cursor.read(to));
      gap = new Gap();
      last = cursor.mark;
    }
    if (!cursor.isBlank() && !cursor.isBreak()) break;
    while (cursor.isBlank() || cursor.isBreak()) {
      if (gap.hasBreak && cursor.column < indent + 1 && cursor.code() === tab) {
        throw scanFault("found a tab character that violates indentation", cursor.mark, start);
      }
      gap.take(cursor);
    }
    if (!isFlow && cursor.column < indent + 1) break;
  }
  return { token: scalar(parts.join(""), start, last, true), endsLine: gap.hasBreak };
}

/** End of the piece without blanks that begins here. */
function endOfPlain(cursor: Cursor, isFlow: boolean): number {
  let ahead = 0;
  while (!cursor.isBlankOrEnd(ahead)) {
    const c = cursor.code(ahead);
    if (c === colon && cursor.isBlankOrEnd(ahead + 1)) break;
    if (isFlow && flowIndicators.has(c)) break;
    ahead++;
  }
  return cursor.at + ahead;
}

export function scanQuoted(cursor: Cursor, isSingle: boolean): Token {
  const start = cursor.mark;
  const quote = isSingle ? singleQuote : doubleQuote;
  const parts: string[] = [];
  cursor.skip();
  for (;;) {
    if (cursor.isDocumentMark(minus) || cursor.isDocumentMark(dot)) {
      throw scanFault("found unexpected document indicator", cursor.mark, start);
    }
    if (cursor.isEnd()) throw scanFault("found unexpected end of stream", cursor.mark, start);
    const gap = new Gap();
    gap.hasBreak = readQuoted(cursor, isSingle, start, parts);
    if (cursor.code() === quote) break;
    while (cursor.isBlank() || cursor.isBreak()) gap.take(cursor);
    parts.push(gap.text());
  }
  cursor.skip();
  return scalar(parts.join(""), start, cursor.mark, false);
}

/** Reads to a blank, a break or the quote. @returns whether it ended with an escaped break. */
function readQuoted(cursor: Cursor, isSingle: boolean, start: Mark, parts: string[]): boolean {
  const quote = isSingle ? singleQuote : doubleQuote;
  for (;;) {
    let ahead = 0;
    while (!cursor.isBlankOrEnd(ahead)) {
      const c = cursor.code(ahead);
      if (c === quote || (!isSingle && c === backslash)) break;
      ahead++;
    }
    if (ahead > 0) parts.push(cursor.read(cursor.at + ahead));
    if (isSingle && cursor.code() === singleQuote && cursor.code(1) === singleQuote) {
      parts.push("'");
      cursor.skip(2);
    } else if (isSingle || cursor.code() !== backslash) {
      return false;
    } else if (cursor.isBreak(1)) {
      cursor.skip();
      cursor.readBreak();
      return true;
    } else {
      parts.push(readEscape(cursor, start));
    }
  }
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\x07"],
  ["b", "\b"],
  ["t", "\t"],
  ["\t", "\t"],
  ["n", "\n"],
  ["v", "\v"],
  ["f", "\f"],
  ["r", "\r"],
  ["e", "\x1b"],
  [" ", " "],
  ['"', '"'],
  ["'", "'"],
  ["\\", "\\"],
  ["N", "\x85"],
  ["_", "\xa0"],
  ["L", "\u2028"],
  ["P", "\u2029"],
]);

const codeLengths: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);

function readEscape(cursor: Cursor, start: Mark): string {
  const name = cursor.code(1) === end ? "" : cursor.text.charAt(cursor.at + 1);
  const length = codeLengths.get(name);
  const plain = escapes.get(name);
  if (length === undefined && plain === undefined) {
    throw scanFault("found unknown escape character", cursor.mark, start);
  }
  cursor.skip(2);
  if (length === undefined) return plain ?? "";
  const digits = cursor.text.slice(cursor.at, cursor.at + length);
  if (digits.length < length || !/^[0-9a-fA-F]+$/.test(digits)) {
    throw scanFault("did not find expected hexdecimal number", cursor.mark, start);
  }
  const value = Number.parseInt(digits, 16);
  if ((value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff) {
    throw scanFault("found invalid Unicode character escape code", cursor.mark, start);
  }
  cursor.skip(length);
  return String.fromCodePoint(value);
}

export function scanBlock(cursor: Cursor, parentIndent: number, isLiteral: boolean): Token {
  const start = cursor.mark;
  cursor.skip();
  const { chomping, increment } = readBlockHead(cursor, start);
  cursor.skipBlanks();
  cursor.skipComment();
  if (!cursor.isBreakOrEnd()) {
    throw scanFault("did not find expected comment or line break", cursor.mark, start);
  }
  if (cursor.isBreak()) cursor.readBreak();
  const given = increment === 0 ? 0 : Math.max(parentIndent, 0) + increment;
  const body = new BlockBody(cursor, start, parentIndent, given);
  const text = body.read(isLiteral);
  const kept = chomping === "strip" ? "" : body.leading;
  const value = text + kept + (chomping === "keep" ? body.trailing : "");
  return scalar(value, start, body.last, false);
}

function readBlockHead(cursor: Cursor, start: Mark): { chomping: string; increment: number } {
  let chomping = "clip";
  let increment = 0;
  const readChomping = (): boolean => {
    const c = cursor.code();
    if (c !== plus && c !== minus) return false;
    chomping = c === plus ? "keep" : "strip";
    cursor.skip();
    return true;
  };
  const readIncrement = (): void => {
    const c = cursor.code();
    if (!isDigitCode(c)) return;
    if (c === zero) {
      throw scanFault("found an indentation indicator equal to 0", cursor.mark, start);
    }
    increment = c - zero;
    cursor.skip();
  };
  const isFirst = readChomping();
  readIncrement();
  if (!isFirst) readChomping();
  return { chomping, increment };
}

class BlockBody {
  /** The break after the last line. */
  leading = "";
  /** Further breaks after it. */
  trailing = "";
  last: Mark;
  readonly #cursor: Cursor;
  readonly #start: Mark;
  readonly #parentIndent: number;
  #indent: number;

  constructor(cursor: Cursor, start: Mark, parentIndent: number, indent: number) {
    this.#cursor = cursor;
    this.#start = start;
    this.#parentIndent = parentIndent;
    this.#indent = indent;
    this.last = cursor.mark;
  }

  read(isLiteral: boolean): string {
    const cursor = this.#cursor;
    const parts: string[] = [];
    let wasBlank = false;
    this.#readBreaks();
    while (cursor.column === this.#indent && !cursor.isEnd()) {
      const isBlank = cursor.isBlank();
      const isFolded = !isLiteral && !wasBlank && !isBlank && this.leading.startsWith("\n");
      if (!isFolded) parts.push(this.leading);
      else if (this.trailing === "") parts.push(" ");
      parts.push(this.trailing);
      this.leading = "";
      this.trailing = "";
      wasBlank = isBlank;
      let ahead = 0;
      while (!cursor.isBreakOrEnd(ahead)) ahead++;
      parts.push(cursor.read(cursor.at + ahead));
      if (cursor.isBreak()) this.leading = cursor.readBreak();
      this.#readBreaks();
    }
    return parts.join("");
  }

  /** Reads empty lines. The first non-empty line determines the indentation if the header did not. */
  #readBreaks(): void {
    const cursor = this.#cursor;
    let widest = 0;
    this.last = cursor.mark;
    for (;;) {
      const isBefore = (): boolean => this.#indent === 0 || cursor.column < this.#indent;
      while (isBefore() && cursor.code() === space) cursor.skip();
      widest = Math.max(widest, cursor.column);
      if (isBefore() && cursor.code() === tab) {
        const problem = "found a tab character where an indentation space is expected";
        throw scanFault(problem, cursor.mark, this.#start);
      }
      if (!cursor.isBreak()) break;
      this.trailing += cursor.readBreak();
      this.last = cursor.mark;
    }
    if (this.#indent === 0) this.#indent = Math.max(widest, this.#parentIndent + 1, 1);
  }
}
