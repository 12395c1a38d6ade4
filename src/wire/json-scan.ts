/**
 * A slow, exact walk over a JSON text, for what JSON.parse does not tell: where a key stands twice,
 * and what is wrong, in the words of Go's encoding/json.
 *
 * Runs only after a cheap test said that one of them is there. Recursive: the caller has bounded
 * the nesting. One pass, linear in the text.
 */

export interface ScannedKey {
  /** `spec.containers[0].name`: map keys and fields alike are joined by dots. */
  readonly path: string;
  /** Rank of the key among all keys of the text. */
  readonly order: number;
}

export interface JsonScan {
  /** Keys that stand in their object a second time: each path once, in order of appearance. */
  readonly duplicates: readonly ScannedKey[];
  /** First appearance of each path: lets findings of another walk be put in the text's order. */
  readonly keys: ReadonlyMap<string, number>;
  /** Undefined: the text is JSON. */
  readonly error: string | undefined;
}

class SyntaxFault extends Error {}

interface State {
  readonly text: string;
  at: number;
  order: number;
  readonly keys: Map<string, number>;
  readonly duplicates: Map<string, number>;
}

export function scanJson(text: string): JsonScan {
  const state: State = {
    text,
    at: 0,
    order: 0,
    keys: new Map(),
    duplicates: new Map(),
  };
  const error = scanDocument(state);
  return {
    duplicates: [...state.duplicates].map(([path, order]) => ({ path, order })),
    keys: state.keys,
    error,
  };
}

function scanDocument(state: State): string | undefined {
  try {
    scanValue(state, "");
    skipSpace(state);
    if (state.at < state.text.length) fail(state, "after top-level value");
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxFault) return error.message;
    throw error;
  }
}

function scanValue(state: State, path: string): void {
  skipSpace(state);
  const c = state.text[state.at];
  if (c === "{") scanObject(state, path);
  else if (c === "[") scanArray(state, path);
  else if (c === '"') scanString(state);
  else if (c === "-" || isDigit(c)) scanNumber(state);
  else scanLiteral(state);
}

function scanObject(state: State, path: string): void {
  state.at++;
  skipSpace(state);
  if (take(state, "}")) return;
  const seen = new Set<string>();
  for (;;) {
    skipSpace(state);
    if (state.text[state.at] !== '"') fail(state, "looking for beginning of object key string");
    const key = scanString(state);
    const keyPath = path === "" ? key : `${path}.${key}`;
    note(state, seen, key, keyPath);
    skipSpace(state);
    if (!take(state, ":")) fail(state, "after object key");
    scanValue(state, keyPath);
    skipSpace(state);
    if (take(state, "}")) return;
    if (!take(state, ",")) fail(state, "after object key:value pair");
  }
}

function note(state: State, seen: Set<string>, key: string, keyPath: string): void {
  const order = state.order++;
  if (seen.has(key)) {
    if (!state.duplicates.has(keyPath)) state.duplicates.set(keyPath, order);
    return;
  }
  seen.add(key);
  if (!state.keys.has(keyPath)) state.keys.set(keyPath, order);
}

function scanArray(state: State, path: string): void {
  state.at++;
  skipSpace(state);
  if (take(state, "]")) return;
  for (let index = 0; ; index++) {
    scanValue(state, `${path}[${index}]`);
    skipSpace(state);
    if (take(state, "]")) return;
    if (!take(state, ",")) fail(state, "after array element");
  }
}

/** Returns the string's value; the cursor is left behind the closing quote. */
function scanString(state: State): string {
  const start = state.at++;
  for (;;) {
    const c = state.text[state.at];
    if (c === undefined || c < " ") fail(state, "in string literal");
    state.at++;
    if (c === '"') break;
    if (c === "\\") scanEscape(state);
  }
  // Every escape was checked, so this is a JSON string by itself.
  return JSON.parse(state.text.slice(start, state.at)) as string;
}

function scanEscape(state: State): void {
  const c = state.text[state.at];
  if (c === undefined || !'"\\/bfnrtu'.includes(c)) fail(state, "in string escape code");
  state.at++;
  if (c !== "u") return;
  for (let i = 0; i < 4; i++) {
    if (!/^[0-9a-fA-F]$/.test(state.text[state.at] ?? "")) {
      fail(state, "in \\u hexadecimal character escape");
    }
    state.at++;
  }
}

function scanNumber(state: State): void {
  take(state, "-");
  if (!take(state, "0")) scanDigits(state, "in numeric literal");
  if (take(state, ".")) scanDigits(state, "after decimal point in numeric literal");
  if (!take(state, "e") && !take(state, "E")) return;
  if (!take(state, "+")) take(state, "-");
  scanDigits(state, "in exponent of numeric literal");
}

function scanDigits(state: State, context: string): void {
  if (!isDigit(state.text[state.at])) fail(state, context);
  while (isDigit(state.text[state.at])) state.at++;
}

function scanLiteral(state: State): void {
  const word = ["true", "false", "null"].find((w) => w[0] === state.text[state.at]);
  if (word === undefined) fail(state, "looking for beginning of value");
  for (let i = 0; i < word.length; i++, state.at++) {
    if (state.text[state.at] !== word[i]) {
      fail(state, `in literal ${word} (expecting '${word[i] ?? ""}')`);
    }
  }
}

function skipSpace(state: State): void {
  while (" \t\r\n".includes(state.text[state.at] ?? "x")) state.at++;
}

function take(state: State, character: string): boolean {
  if (state.text[state.at] !== character) return false;
  state.at++;
  return true;
}

function isDigit(c: string | undefined): boolean {
  return c !== undefined && c >= "0" && c <= "9";
}

function fail(state: State, context: string): never {
  const code = state.text.codePointAt(state.at);
  if (code === undefined) throw new SyntaxFault("unexpected end of JSON input");
  throw new SyntaxFault(`invalid character ${quoted(code)} ${context}`);
}

/** As Go quotes a rune. */
function quoted(code: number): string {
  const named: Readonly<Record<number, string>> = {
    7: "\\a",
    8: "\\b",
    9: "\\t",
    10: "\\n",
    11: "\\v",
    12: "\\f",
    13: "\\r",
    39: "\\'",
    92: "\\\\",
  };
  const name = named[code];
  if (name !== undefined) return `'${name}'`;
  if (code < 32 || code === 127) return `'\\x${code.toString(16).padStart(2, "0")}'`;
  return `'${String.fromCodePoint(code)}'`;
}
