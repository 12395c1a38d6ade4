/**
 * An exact walk over a JSON text, for what JSON.parse does not tell: where a key stands twice, and what
 * is wrong, in the words of Go's encoding/json.
 *
 * Runs only after a cheap test said that one of them is there. Recursive: the caller has bounded
 * the nesting. One pass, linear in the text: a path is copied for a finding only, never per key.
 */

/** Path to a value: field names, map keys and list indexes. */
type JsonPath = readonly (string | number)[];

interface ScannedKey {
  readonly path: JsonPath;
  /** Position of the key among all keys of the text. */
  readonly order: number;
}

export interface JsonScan {
  /** Repeated keys of an object, in order of appearance; at most `duplicatesMax`. */
  readonly duplicates: readonly ScannedKey[];
  /** Undefined: the text is valid JSON. */
  readonly error: string | undefined;
  /**
   * Ranks of the first appearances of `paths`, to put findings of another walk in the text's order; a
   * path that is not in the text has none. One more walk.
   */
  ordersOf(paths: readonly JsonPath[]): readonly (number | undefined)[];
}

/** Upstream reports a hundred errors, of which some may be within unknown fields. */
const duplicatesMax = 1000;

class SyntaxFault extends Error {}

/** A node in the tree of paths whose positions are requested. */
interface Wanted {
  readonly below: Map<string | number, Wanted>;
  order: number | undefined;
}

interface State {
  readonly text: string;
  at: number;
  order: number;
  readonly path: (string | number)[];
  readonly duplicates: ScannedKey[];
}

export function scanJson(text: string): JsonScan {
  const state = stateOf(text);
  const error = scanDocument(state, undefined);
  return {
    duplicates: state.duplicates,
    error,
    ordersOf(paths) {
      const root: Wanted = { below: new Map(), order: undefined };
      const nodes = paths.map((path) => nodeAt(root, path));
      scanDocument(stateOf(text), root);
      return nodes.map(({ order }) => order);
    },
  };
}

function stateOf(text: string): State {
  return { text, at: 0, order: 0, path: [], duplicates: [] };
}

function nodeAt(root: Wanted, path: JsonPath): Wanted {
  let node = root;
  for (const part of path) {
    const next = node.below.get(part) ?? { below: new Map(), order: undefined };
    node.below.set(part, next);
    node = next;
  }
  return node;
}

function scanDocument(state: State, wanted: Wanted | undefined): string | undefined {
  try {
    scanValue(state, wanted);
    skipSpace(state);
    if (state.at < state.text.length) fail(state, "after top-level value");
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxFault) return error.message;
    throw error;
  }
}

const code = {
  tab: 9,
  lineFeed: 10,
  return: 13,
  space: 32,
  quote: 34,
  plus: 43,
  comma: 44,
  minus: 45,
  dot: 46,
  zero: 48,
  nine: 57,
  colon: 58,
  upperE: 69,
  openBracket: 91,
  backslash: 92,
  closeBracket: 93,
  lowerE: 101,
  lowerU: 117,
  openBrace: 123,
  closeBrace: 125,
} as const;

function scanValue(state: State, wanted: Wanted | undefined): void {
  skipSpace(state);
  const c = state.text.charCodeAt(state.at);
  if (c === code.openBrace) scanObject(state, wanted);
  else if (c === code.openBracket) scanArray(state, wanted);
  else if (c === code.quote) scanString(state);
  else if (c === code.minus || isDigit(c)) scanNumber(state);
  else scanLiteral(state);
}

function scanObject(state: State, wanted: Wanted | undefined): void {
  state.at++;
  skipSpace(state);
  if (take(state, code.closeBrace)) return;
  const seen = new Map<string, number>();
  for (;;) {
    skipSpace(state);
    if (state.text.charCodeAt(state.at) !== code.quote) {
      fail(state, "looking for beginning of object key string");
    }
    const key = scanKey(state);
    const below = wanted?.below.get(key);
    note(state, seen, key, below);
    skipSpace(state);
    if (!take(state, code.colon)) fail(state, "after object key");
    state.path.push(key);
    scanValue(state, below);
    state.path.pop();
    skipSpace(state);
    if (take(state, code.closeBrace)) return;
    if (!take(state, code.comma)) fail(state, "after object key:value pair");
  }
}

function note(
  state: State,
  seen: Map<string, number>,
  key: string,
  wanted: Wanted | undefined,
): void {
  const order = state.order++;
  if (wanted !== undefined) wanted.order ??= order;
  const count = (seen.get(key) ?? 0) + 1;
  seen.set(key, count);
  // Reported once per key and object.
  if (count !== 2 || state.duplicates.length >= duplicatesMax) return;
  state.duplicates.push({ path: [...state.path, key], order });
}

function scanArray(state: State, wanted: Wanted | undefined): void {
  state.at++;
  skipSpace(state);
  if (take(state, code.closeBracket)) return;
  for (let index = 0; ; index++) {
    state.path.push(index);
    scanValue(state, wanted?.below.get(index));
    state.path.pop();
    skipSpace(state);
    if (take(state, code.closeBracket)) return;
    if (!take(state, code.comma)) fail(state, "after array element");
  }
}

/** Reads a key; the cursor then is after the closing quote. */
function scanKey(state: State): string {
  const start = state.at;
  const isPlain = scanString(state);
  const { text, at } = state;
  // Every escape was checked, so this part is a valid JSON string.
  return isPlain ? text.slice(start + 1, at - 1) : (JSON.parse(text.slice(start, at)) as string);
}

/** @returns whether the string has no escape; the cursor then is after the closing quote. */
function scanString(state: State): boolean {
  const { text } = state;
  let isPlain = true;
  for (let at = state.at + 1; ; at++) {
    const c = text.charCodeAt(at);
    if (c === code.quote) {
      state.at = at + 1;
      return isPlain;
    }
    if (c === code.backslash) {
      isPlain = false;
      state.at = at + 1;
      scanEscape(state);
      at = state.at - 1;
    } else if (!(c >= code.space)) {
      // A control character, or NaN at the end of the text.
      state.at = at;
      fail(state, "in string literal");
    }
  }
}

const escapes: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrtu'));

function scanEscape(state: State): void {
  const c = state.text.charCodeAt(state.at);
  if (!escapes.has(c)) fail(state, "in string escape code");
  state.at++;
  if (c !== code.lowerU) return;
  for (let i = 0; i < 4; i++) {
    if (!/^[0-9a-fA-F]$/.test(state.text[state.at] ?? "")) {
      fail(state, "in \\u hexadecimal character escape");
    }
    state.at++;
  }
}

function scanNumber(state: State): void {
  take(state, code.minus);
  if (!take(state, code.zero)) scanDigits(state, "in numeric literal");
  if (take(state, code.dot)) scanDigits(state, "after decimal point in numeric literal");
  if (!take(state, code.lowerE) && !take(state, code.upperE)) return;
  if (!take(state, code.plus)) take(state, code.minus);
  scanDigits(state, "in exponent of numeric literal");
}

function scanDigits(state: State, context: string): void {
  if (!isDigit(state.text.charCodeAt(state.at))) fail(state, context);
  while (isDigit(state.text.charCodeAt(state.at))) state.at++;
}

const words = ["true", "false", "null"];

function scanLiteral(state: State): void {
  const word = words.find((w) => w[0] === state.text[state.at]);
  if (word === undefined) fail(state, "looking for beginning of value");
  for (let i = 0; i < word.length; i++, state.at++) {
    if (state.text[state.at] !== word[i]) {
      fail(state, `in literal ${word} (expecting '${word[i] ?? ""}')`);
    }
  }
}

/** For unusually long runs of white space, where the host's own loop is faster. */
const longSpace = /[ \t\r\n]*/y;
const stepsOfSpaceMax = 64;

function skipSpace(state: State): void {
  const { text } = state;
  const end = state.at + stepsOfSpaceMax;
  for (let { at } = state; at < end; at++) {
    const c = text.charCodeAt(at);
    const isSpace = c === code.space || c === code.lineFeed || c === code.return || c === code.tab;
    if (isSpace) continue;
    state.at = at;
    return;
  }
  longSpace.lastIndex = end;
  longSpace.test(text);
  state.at = longSpace.lastIndex;
}

function take(state: State, character: number): boolean {
  if (state.text.charCodeAt(state.at) !== character) return false;
  state.at++;
  return true;
}

function isDigit(c: number): boolean {
  return c >= code.zero && c <= code.nine;
}

function fail(state: State, context: string): never {
  const found = state.text.codePointAt(state.at);
  if (found === undefined) throw new SyntaxFault("unexpected end of JSON input");
  throw new SyntaxFault(`invalid character ${quoted(found)} ${context}`);
}

/** Characters for which Go's %q has a short escape. */
const namedRunes: ReadonlyMap<number, string> = new Map([
  [7, "\\a"],
  [8, "\\b"],
  [9, "\\t"],
  [10, "\\n"],
  [11, "\\v"],
  [12, "\\f"],
  [13, "\\r"],
  [39, "\\'"],
  [92, "\\\\"],
]);

function quoted(rune: number): string {
  const name = namedRunes.get(rune);
  if (name !== undefined) return `'${name}'`;
  if (rune < 32 || rune === 127) return `'\\x${rune.toString(16).padStart(2, "0")}'`;
  if ((rune > 127 && rune <= 160) || rune === 173) return `'\\u00${rune.toString(16)}'`;
  return `'${String.fromCodePoint(rune)}'`;
}
