/** A position in a YAML text, with tests on the characters there. */
import type { SourceFault, YamlSource } from "./source.ts";

export interface Mark {
  readonly at: number;
  /** From 0. */
  readonly line: number;
  readonly column: number;
}

/** An error in upstream's words, with its line except for errors in the first one. */
export class YamlFault extends Error {}

/** An error in a character or token. */
export function scanFault(problem: string, here: Mark, context?: Mark): YamlFault {
  return faultAt(problem, here.line === 0 ? (context?.line ?? 0) : here.line + 1);
}

/** An error in the order of tokens. Upstream counts its lines from 0. */
export function orderFault(problem: string, here: Mark, context?: Mark): YamlFault {
  return faultAt(problem, here.line === 0 ? (context?.line ?? 0) : here.line);
}

function faultAt(problem: string, line: number): YamlFault {
  return new YamlFault(line === 0 ? problem : `line ${line}: ${problem}`);
}

export const end = 0;
const tab = 9;
const lineFeed = 10;
const carriageReturn = 13;
const space = 32;
const nextLine = 0x85;
const lineSeparator = 0x2028;
const paragraphSeparator = 0x2029;

export class Cursor {
  readonly text: string;
  at = 0;
  line = 0;
  column = 0;
  readonly #fault: SourceFault | undefined;

  constructor(source: YamlSource) {
    this.text = source.text;
    this.#fault = source.fault;
  }

  get mark(): Mark {
    return { at: this.at, line: this.line, column: this.column };
  }

  /** The character `ahead` of the position; 0 after the end, because no text contains that character. */
  code(ahead = 0): number {
    const at = this.at + ahead;
    if (this.#fault !== undefined && at >= this.#fault.from)
      throw new YamlFault(this.#fault.message);
    return at < this.text.length ? this.text.charCodeAt(at) : end;
  }

  isEnd(): boolean {
    return this.code() === end;
  }

  isBlank(ahead = 0): boolean {
    const c = this.code(ahead);
    return c === space || c === tab;
  }

  isBreak(ahead = 0): boolean {
    return isBreakCode(this.code(ahead));
  }

  isBreakOrEnd(ahead = 0): boolean {
    const c = this.code(ahead);
    return c === end || isBreakCode(c);
  }

  isBlankOrEnd(ahead = 0): boolean {
    return this.isBlank(ahead) || this.isBreakOrEnd(ahead);
  }

  /** `---` or `...` on its own, at the start of a line. */
  isDocumentMark(character: number): boolean {
    if (this.column !== 0 || this.code() !== character) return false;
    return this.code(1) === character && this.code(2) === character && this.isBlankOrEnd(3);
  }

  /** Skips characters within a line. */
  skip(count = 1): void {
    this.at += count;
    this.column += count;
  }

  skipBlanks(): void {
    while (this.isBlank()) this.skip();
  }

  skipComment(): void {
    if (this.code() !== 35) return;
    while (!this.isBreakOrEnd()) this.skip();
  }

  /** Reads a line break: as a line feed, or a Unicode separator unchanged. */
  readBreak(): string {
    const c = this.code();
    this.at += c === carriageReturn && this.code(1) === lineFeed ? 2 : 1;
    this.line++;
    this.column = 0;
    const isKept = c === lineSeparator || c === paragraphSeparator;
    return isKept ? String.fromCharCode(c) : "\n";
  }

  /** Reads the characters up to `to`, which is on the same line. */
  read(to: number): string {
    const read = this.text.slice(this.at, to);
    this.column += to - this.at;
    this.at = to;
    return read;
  }
}

function isBreakCode(c: number): boolean {
  if (c === lineFeed || c === carriageReturn) return true;
  return c === nextLine || c === lineSeparator || c === paragraphSeparator;
}

export function isDigitCode(c: number): boolean {
  return c >= 48 && c <= 57;
}

/** Characters of names, as upstream: letters, digits, `_` and `-`. */
export function isWordCode(c: number): boolean {
  return isDigitCode(c) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95 || c === 45;
}
