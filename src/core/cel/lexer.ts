/**
 * Tokens of an expression: names, literals, operators.
 *
 * Source: the language definition of cel-spec, "Syntax" (v0.25).
 */
import { Uint, type Value } from "./libraries/values.ts";
import type { SourceError } from "./source-error.ts";

export type Token =
  | {
      readonly kind: "name";
      readonly at: number;
      readonly text: string;
    }
  | { readonly kind: "literal"; readonly at: number; readonly text: string; readonly value: Value }
  | { readonly kind: "operator"; readonly at: number; readonly text: string }
  | { readonly kind: "end"; readonly at: number; readonly text: string };

/** The text is not a valid expression. */
export class SyntaxFailure extends Error {
  readonly errors: readonly SourceError[];

  constructor(errors: readonly SourceError[]) {
    super(errors.map(({ message }) => message).join("; "));
    this.name = "SyntaxFailure";
    this.errors = errors;
  }
}

function syntaxFailure(at: number, message: string): SyntaxFailure {
  return new SyntaxFailure([{ at, message: `Syntax error: ${message}` }]);
}

/** Parsing stops at this many errors: upstream's limit of recoveries. */
const faultsMax = 30;

/** @throws SyntaxFailure when the limit is reached. */
export function addFault(faults: SourceError[], fault: SourceError): void {
  faults.push(fault);
  if (faults.length >= faultsMax) throw failureOf(faults);
}

/** Sorted by position. */
export function failureOf(faults: readonly SourceError[]): SyntaxFailure {
  return new SyntaxFailure(faults.toSorted((a, b) => a.at - b.at));
}

/** Characters that need a second one; together with a wrong one they form no token. */
const halves = "=&|";
const operators = ["==", "!=", "<=", ">=", "&&", "||"];
const singles = "<>+-*/%!?:.,()[]{}";
const whitespace = /[\t\n\f\r ]/;
const digit = /[0-9]/;
const nameStart = /[A-Za-z_]/;
const namePart = /[A-Za-z0-9_]/;
const quotedName = /[A-Za-z0-9_.\-/ ]/;

/** Characters that form no token are skipped and added to `faults`. @throws SyntaxFailure for invalid literals. */
export function readTokens(text: string, faults: SourceError[]): Token[] {
  const lexer = new Lexer(Array.from(text), faults);
  const tokens: Token[] = [];
  for (;;) {
    const token = lexer.next();
    if (token === undefined) continue;
    tokens.push(token);
    if (token.kind === "end") return tokens;
  }
}

class Lexer {
  readonly #source: readonly string[];
  readonly #faults: SourceError[];
  #at = 0;

  constructor(source: readonly string[], faults: SourceError[]) {
    this.#source = source;
    this.#faults = faults;
  }

  /** @returns undefined for characters that form no token. */
  next(): Token | undefined {
    this.#skipBlanks();
    const at = this.#at;
    const first = this.#peek();
    if (first === "") return { kind: "end", at, text: "<EOF>" };
    if (this.#startsString()) return this.#string(at);
    if (nameStart.test(first)) return this.#name(at);
    if (first === "`") return this.#quoted(at);
    if (digit.test(first) || (first === "." && digit.test(this.#peek(1)))) return this.#number(at);
    const two = first + this.#peek(1);
    if (operators.includes(two)) return this.#operator(at, two);
    if (singles.includes(first)) return this.#operator(at, first);
    this.#at += 1;
    if (halves.includes(first)) this.#at += 1;
    return this.#noToken(at);
  }

  /** Reports the characters from `at` to the current position. */
  #noToken(at: number): undefined {
    const text = this.#source.slice(at, this.#at).join("");
    addFault(this.#faults, { at, message: `Syntax error: token recognition error at: '${text}'` });
  }

  #peek(ahead = 0): string {
    return this.#source[this.#at + ahead] ?? "";
  }

  #take(): string {
    const character = this.#peek();
    this.#at += 1;
    return character;
  }

  #skipBlanks(): void {
    for (;;) {
      const character = this.#peek();
      if (character !== "" && whitespace.test(character)) this.#at += 1;
      else if (character === "/" && this.#peek(1) === "/") {
        while (this.#peek() !== "\n" && this.#peek() !== "") this.#at += 1;
      } else return;
    }
  }

  #operator(at: number, text: string): Token {
    this.#at += text.length;
    return { kind: "operator", at, text };
  }

  #name(at: number): Token {
    let text = "";
    while (this.#peek() !== "" && namePart.test(this.#peek())) text += this.#take();
    if (text === "true") return { kind: "literal", at, text, value: true };
    if (text === "false") return { kind: "literal", at, text, value: false };
    if (text === "null") return { kind: "literal", at, text, value: null };
    if (text === "in") return { kind: "operator", at, text };
    return { kind: "name", at, text };
  }

  #quoted(at: number): never {
    this.#at += 1;
    while (this.#peek() !== "" && quotedName.test(this.#peek())) this.#at += 1;
    if (this.#at === at + 1 || this.#take() !== "`")
      throw syntaxFailure(at, "token recognition error at: '`'");
    // Kubernetes has not enabled this syntax.
    throw new SyntaxFailure([{ at, message: "unsupported syntax: '`'" }]);
  }

  #number(at: number): Token {
    const rest = this.#source.slice(at, at + numberMax).join("");
    const found = floatPattern.exec(rest) ?? hexPattern.exec(rest) ?? intPattern.exec(rest);
    const text = found?.[0] ?? "";
    this.#at += text.length;
    return { kind: "literal", at, text, value: numberOf(text, at) };
  }

  #startsString(): boolean {
    const ahead = (this.#peek() + this.#peek(1) + this.#peek(2)).toLowerCase();
    return /^(?:["']|[rb]["']|rb["']|br["'])/.test(ahead);
  }

  #string(at: number): Token | undefined {
    let prefix = "";
    while (/[rRbB]/.test(this.#peek())) prefix += this.#take().toLowerCase();
    const quote = this.#peek();
    const isTriple = this.#peek(1) === quote && this.#peek(2) === quote;
    const end = isTriple ? quote.repeat(3) : quote;
    this.#at += end.length;
    const raw = prefix.includes("r");
    const body = this.#stringBody(end, raw);
    if (body === undefined) return this.#noToken(at);
    const text = this.#source.slice(at, this.#at).join("");
    const value = prefix.includes("b") ? bytesOf(body, raw, at) : textOf(body, raw, at);
    return { kind: "literal", at, text, value };
  }

  /** The characters between the quotes, with escapes unprocessed; undefined when the closing quote is missing. */
  #stringBody(end: string, raw: boolean): string[] | undefined {
    const body: string[] = [];
    for (;;) {
      const character = this.#peek();
      if (character === "" || (end.length === 1 && /[\n\r]/.test(character))) {
        if (character !== "") this.#at += 1;
        return undefined;
      }
      if (this.#source.slice(this.#at, this.#at + end.length).join("") === end) {
        this.#at += end.length;
        return body;
      }
      body.push(this.#take());
      if (character === "\\" && !raw) body.push(this.#take());
    }
  }
}

/** Maximum length of a number. */
const numberMax = 400;
const floatPattern = /^(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/;
const hexPattern = /^0x[0-9a-fA-F]+u?/i;
const intPattern = /^\d+[uU]?/;

function numberOf(text: string, at: number): Value {
  if (floatPattern.test(text) && !/^0x/i.test(text)) {
    const value = Number(text);
    if (!Number.isFinite(value)) throw invalidLiteral(at, "double");
    return value;
  }
  const isUnsigned = /u$/i.test(text);
  const value = BigInt(isUnsigned ? text.slice(0, -1) : text);
  if (isUnsigned) {
    if (value >= 2n ** 64n) throw invalidLiteral(at, "uint");
    return new Uint(value);
  }
  // -2^63 is accepted here without its sign, which the parser adds.
  if (value > 2n ** 63n) throw invalidLiteral(at, "int");
  return value;
}

function invalidLiteral(at: number, type: string): SyntaxFailure {
  return new SyntaxFailure([{ at, message: `invalid ${type} literal` }]);
}

const simpleEscapes: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["b", 8],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
  ["\\", 92],
  ["'", 39],
  ['"', 34],
  ["`", 96],
  ["?", 63],
]);

/** Code points of the body; for an octal or `\x` escape the number itself. */
function* codesOf(
  body: readonly string[],
  raw: boolean,
  at: number,
): Generator<readonly [number, boolean]> {
  for (let index = 0; index < body.length; index += 1) {
    const character = body[index] ?? "";
    if (character !== "\\" || raw) {
      yield [character.codePointAt(0) ?? 0, false];
      continue;
    }
    index += 1;
    const letter = body[index] ?? "";
    const simple = simpleEscapes.get(letter);
    if (simple !== undefined) {
      yield [simple, false];
      continue;
    }
    const length = /[xX]/.test(letter) ? 2 : letter === "u" ? 4 : letter === "U" ? 8 : 0;
    const isOctal = /[0-3]/.test(letter);
    const digits = isOctal
      ? body.slice(index, index + 3).join("")
      : body.slice(index + 1, index + 1 + length).join("");
    const isGood = isOctal ? /^[0-3][0-7]{2}$/.test(digits) : length > 0 && isHex(digits, length);
    if (!isGood) throw syntaxFailure(at, "unable to unescape string");
    index += isOctal ? 2 : length;
    yield [Number.parseInt(digits, isOctal ? 8 : 16), isOctal || length === 2];
  }
}

function isHex(digits: string, length: number): boolean {
  return digits.length === length && /^[0-9a-fA-F]+$/.test(digits);
}

function textOf(body: readonly string[], raw: boolean, at: number): string {
  let text = "";
  for (const [code] of codesOf(body, raw, at)) {
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      throw syntaxFailure(at, "unable to unescape string");
    }
    text += String.fromCodePoint(code);
  }
  return text;
}

function bytesOf(body: readonly string[], raw: boolean, at: number): Uint8Array {
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const [code, isByte] of codesOf(body, raw, at)) {
    if (isByte) bytes.push(code);
    else bytes.push(...encoder.encode(String.fromCodePoint(code)));
  }
  return Uint8Array.from(bytes);
}
