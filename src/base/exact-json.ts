/**
 * JSON whose integers keep all 64 bits: a literal beyond 2^53 - 1 is a bigint, every other one a number.
 *
 * Holds  a value is a bigint exactly if it is an integer of 64 bits that no number holds: so equal integers
 *        are equal by `===`, and code for the integers of every day never meets a bigint.
 *        A literal beyond 64 bits is a number, rounded, as in Go (`strconv.ParseInt`, else `ParseFloat`).
 * Cost   a look at every sixteenth character; only a text with sixteen digits in a row is read with a
 *        reviver, which takes several times as long.
 * Why bigint  it prints in templates, compares with numbers, is cloned and compared like a scalar. What it does
 *        not do is JSON.stringify and arithmetic with numbers: the first is taught when a process makes its
 *        first one (`exactInteger`), the second is a TypeError that names the place.
 */

type Reviver = (
  this: object,
  key: string,
  value: unknown,
  context: { readonly source?: string },
) => unknown;

// The compiler's library does not know these two yet; the runtime does.
const json = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): unknown;
};

/** 2^53 has this many. */
const digitsMin = 16;
/** Of an integer of 64 bits, with its sign. */
const literalLengthMax = 20;

/** As JSON.parse. @throws SyntaxError */
export function parseExactJson(text: string): unknown {
  return hasLongNumber(text) ? json.parse(text, reviveExact) : JSON.parse(text);
}

interface NotedJson {
  readonly value: unknown;
  /** The first literal that is beyond every double: `1e400`. Its place in the value holds an infinity. */
  readonly overflow?: string;
}

interface Numbers {
  /** The caller has seen a dot, an exponent or `-0` outside of strings. */
  readonly hasOddNumbers: boolean;
  /** Literals that are not what their number prints as are noted for `literalOf`: `1.0`, `1e3`. */
  readonly areLiteralsNoted: boolean;
}

/** The same for a text from outside. @throws SyntaxError */
export function parseNumbers(text: string, numbers: Numbers): NotedJson {
  if (!numbers.hasOddNumbers && !hasLongNumber(text)) return { value: JSON.parse(text) };
  let overflow: string | undefined;
  const value = json.parse(text, function (key, member, { source }) {
    if (typeof member !== "number" || source === undefined || isPlain(member, source)) {
      return member;
    }
    if (!Number.isFinite(member)) overflow ??= shortened(source);
    const exact = exactNumber(member, source);
    if (typeof exact === "number" && numbers.areLiteralsNoted) {
      noteLiteral(this, key, shortened(source));
    }
    return exact;
  });
  return { value, ...(overflow === undefined ? {} : { overflow }) };
}

/** `value` as the object model holds it. */
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
  return literals.get(holder)?.get(String(key));
}

const literals = new WeakMap<object, Map<string, string>>();

const reviveExact: Reviver = function (_key, value, { source }) {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  return source === undefined ? value : exactNumber(value, source);
};

const isFraction = /[.eE]/;

/** Of a literal that a message shows: a body may be one number of megabytes. */
const shownLengthMax = 1024;

function shortened(source: string): string {
  return source.length <= shownLengthMax ? source : `${source.slice(0, shownLengthMax)}...`;
}

/** The number is what the literal says, and the object model has it as a number. */
function isPlain(value: number, source: string): boolean {
  return String(value) === source && (Number.isSafeInteger(value) || !Number.isInteger(value));
}

function noteLiteral(holder: object, key: string, source: string): void {
  let noted = literals.get(holder);
  if (noted === undefined) literals.set(holder, (noted = new Map()));
  noted.set(key, source);
}

function exactNumber(value: number, source: string): number | bigint {
  if (source.length > literalLengthMax || isFraction.test(source)) return value;
  const integer = BigInt(source);
  return integer === BigInt.asIntN(64, integer) ? exactInteger(integer) : value;
}

/** A run of sixteen digits covers a character at one of these places, whatever lies before it. */
function hasLongNumber(text: string): boolean {
  for (let at = digitsMin - 1; at < text.length; at += digitsMin) {
    if (isDigit(text.charCodeAt(at)) && runAround(text, at) >= digitsMin) return true;
  }
  return false;
}

function runAround(text: string, at: number): number {
  let start = at;
  let end = at + 1;
  while (end - start < digitsMin && isDigit(text.charCodeAt(start - 1))) start--;
  while (end - start < digitsMin && isDigit(text.charCodeAt(end))) end++;
  return end - start;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Without it JSON.stringify throws on a bigint. Other programs in the process may have taught it before. */
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
