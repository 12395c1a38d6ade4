/**
 * JSON whose integers keep all 64 bits: a literal beyond 2^53 - 1 is a bigint, every other one a number.
 *
 * Holds  a value is a bigint exactly if it is an integer of 64 bits that no number holds: so equal integers
 *        are equal by `===`, and code for the integers of every day never meets a bigint.
 *        A literal beyond 64 bits is a number, rounded, as in Go (`strconv.ParseInt`, else `ParseFloat`).
 * Cost   a look at every sixteenth character; only a text with sixteen digits in a row is parsed twice.
 * Why bigint  it prints in templates, compares with numbers, is cloned and compared like a scalar. What it does
 *        not do is JSON.stringify and arithmetic with numbers: the first is taught when a process makes its
 *        first one (`exactInteger`), the second is a TypeError that names the place.
 */

// The compiler's library does not declare `rawJSON` yet; the runtime has it.
const json = JSON as unknown as { rawJSON(text: string): unknown };

/** Number of digits of 2^53. Shorter integers are exact as doubles. */
const digitsMin = 16;
/** Maximum length of a 64-bit integer, with its sign. */
const literalLengthMax = 20;

/** Parses as JSON.parse does. @throws SyntaxError */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasLongNumber(text) ? withLiterals(value, text, isLong, exactNumber) : value;
}

interface NotedJson {
  readonly value: unknown;
  /** First literal that is beyond every double, as `1e400`. The value has an infinity at its place. */
  readonly overflow?: string;
}

interface Numbers {
  /** Whether the caller has seen a dot, an exponent or `-0` outside of strings. */
  readonly hasOddNumbers: boolean;
  /** Whether to note, for `literalOf`, literals that differ from how their number prints: `1.0`, `1e3`. */
  readonly areLiteralsNoted: boolean;
}

/** Parses a text from outside in the same way. @throws SyntaxError */
export function parseNumbers(text: string, numbers: Numbers): NotedJson {
  const plain: unknown = JSON.parse(text);
  if (!numbers.hasOddNumbers && !hasLongNumber(text)) return { value: plain };
  let overflow: string | undefined;
  const value = withLiterals(plain, text, isOdd, (member, source, holder, key) => {
    if (!Number.isFinite(member)) overflow ??= shortened(source);
    const exact = exactNumber(member, source);
    if (typeof exact === "number" && numbers.areLiteralsNoted && holder !== undefined) {
      noteLiteral(holder, key, shortened(source));
    }
    return exact;
  });
  return { value, ...(overflow === undefined ? {} : { overflow }) };
}

/** Returns `value` as the object model represents it: as a number, or as a bigint. */
export function exactInteger(value: bigint): number | bigint {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  teachStringify();
  return value;
}

/**
 * The literal of the number at `key` of a list or an object that `parseNumbers` made; undefined when it is
 * an integer's usual one, or nobody knows.
 */
export function literalOf(holder: object, key: string | number): string | undefined {
  return literals.get(holder)?.get(Array.isArray(holder) ? Number(key) : String(key));
}

/** Copies the literals noted for `from` to `to`, which has the numbers of `from` under the same keys. */
export function copyLiterals(from: object, to: object): void {
  for (const [key, source] of literals.get(from) ?? []) noteLiteral(to, key, source);
}

/** Gives the number at `toKey` the literal of the number at `fromKey`, or none if that has none. */
export function carryLiteral(from: object, fromKey: string, to: object, toKey: string): void {
  const source = literalOf(from, fromKey);
  if (source !== undefined) noteLiteral(to, toKey, source);
  else literals.get(to)?.delete(toKey);
}

/** Serializes as JSON.stringify does, but writes numbers as their noted literals. */
export function stringifyWithLiterals(value: unknown): string {
  return JSON.stringify(value, function (this: object, key: string, member: unknown) {
    const source = typeof member === "number" ? literalOf(this, key) : undefined;
    return source === undefined || source.endsWith("...") ? member : json.rawJSON(source);
  });
}

/** Noted literals of each object, by index in lists and by name in objects. */
const literals = new WeakMap<object, Map<string | number, string>>();

const isFraction = /[.eE]/;

/** Maximum length of a literal in a message: a body may be one number of megabytes. */
const shownLengthMax = 1024;

function shortened(source: string): string {
  return source.length <= shownLengthMax ? source : `${source.slice(0, shownLengthMax)}...`;
}

/** Whether a literal differs from how its number prints, or the object model represents its number as a bigint. */
function isOdd(source: string): boolean {
  const value = Number(source);
  const isUsual = Number.isSafeInteger(value) || !Number.isInteger(value);
  return !isUsual || String(value) !== source;
}

function isLong(source: string): boolean {
  return source.length >= digitsMin;
}

type Replace = (
  value: number,
  source: string,
  holder: object | undefined,
  key: string | number,
) => number | bigint;

/**
 * `value`, which `text` was parsed to, with some numbers replaced by what their literals say.
 *
 * Why twice  the text is parsed once more with those literals in quotes. Both values have the same shape, so a string
 *            beside a number is its literal, whatever strings the text has. The reviver of JSON.parse, which knows
 *            literals, too, is not used: with Node 26 it now and then damaged memory on generated texts.
 */
function withLiterals(
  value: unknown,
  text: string,
  isWanted: (source: string) => boolean,
  replace: Replace,
): unknown {
  const quoted: unknown = JSON.parse(quoteNumbers(text, isWanted));
  if (typeof value === "number") {
    return typeof quoted === "string" ? replace(value, quoted, undefined, "") : value;
  }
  const waiting = [[value, quoted]];
  for (let pair = waiting.pop(); pair !== undefined; pair = waiting.pop()) {
    const [plain, beside] = pair as [Fields, Fields]; // both or neither: the shape is the same
    if (typeof plain !== "object" || plain === null) continue;
    const visit = (key: string | number): void => {
      const member = plain[key];
      const literal = beside[key];
      if (typeof member === "object") waiting.push([member, literal]);
      else if (typeof member === "number" && typeof literal === "string") {
        setOwn(plain, key, replace(member, literal, plain, key));
      }
    };
    // Visits lists by index: reading their keys would make a text for each item.
    if (Array.isArray(plain)) for (let at = 0; at < plain.length; at++) visit(at);
    else for (const key of Object.keys(plain)) visit(key);
  }
  return value;
}

type Fields = Record<string | number, unknown>;

/** Sets an own field, even one with the name `__proto__`. */
function setOwn(fields: Fields, key: string | number, value: unknown): void {
  if (key !== "__proto__") fields[key] = value;
  else
    Object.defineProperty(fields, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
}

const quote = 34;
const backslash = 92;
const minus = 45;

/** Returns `text`, which is JSON, with the wanted numbers as strings. */
function quoteNumbers(text: string, isWanted: (source: string) => boolean): string {
  const parts: string[] = [];
  let taken = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === minus || isDigit(code)) {
      const end = endOfNumber(text, at);
      const source = text.slice(at, end);
      if (isWanted(source)) {
        parts.push(text.slice(taken, at), `"${source}"`);
        taken = end;
      }
      at = end - 1;
    }
  }
  parts.push(text.slice(taken));
  return parts.join("");
}

/** Returns the index of the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}

const plus = 43;
const dot = 46;
const [upperE, lowerE] = [69, 101];

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (isNumberPart(text.charCodeAt(at))) at++;
  return at;
}

function isNumberPart(code: number): boolean {
  if (isDigit(code)) return true;
  return code === dot || code === minus || code === plus || code === lowerE || code === upperE;
}

function noteLiteral(holder: object, key: string | number, source: string): void {
  let noted = literals.get(holder);
  if (noted === undefined) literals.set(holder, (noted = new Map()));
  noted.set(key, source);
}

function exactNumber(value: number, source: string): number | bigint {
  if (source.length > literalLengthMax || isFraction.test(source)) return value;
  const integer = BigInt(source);
  return integer === BigInt.asIntN(64, integer) ? exactInteger(integer) : value;
}

/**
 * A run of sixteen digits covers a character at one of these places, whatever lies before it. A hash in hex has such
 * runs too: they follow a letter, where the digits of a number follow what JSON has before a number.
 */
function hasLongNumber(text: string): boolean {
  for (let at = digitsMin - 1; at < text.length; at += digitsMin) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (isDigit(text.charCodeAt(start - 1))) start--;
    while (isDigit(text.charCodeAt(at + 1))) at++;
    if (at + 1 - start >= digitsMin && !isLetter(text.charCodeAt(start - 1))) return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

/** JSON.stringify throws on a bigint unless it is taught. Other code in the process may have taught it before. */
function teachStringify(): void {
  if (Object.hasOwn(BigInt.prototype, "toJSON")) return;
  Object.defineProperty(BigInt.prototype, "toJSON", {
    value(this: bigint) {
      return json.rawJSON(this.toString());
    },
    configurable: true,
    writable: true,
  });
}
