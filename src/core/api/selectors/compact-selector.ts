/**
 * A selector in a form that is kept for a long time and applied to many objects: by a watch, a view, a list.
 *
 * A short one (`shortMax` keys and values) is a few clauses, looked up one by one. A long one is packed, and
 * the labels of the object are looked up among its keys: an object has few labels, however long the selector is.
 *
 * Holds  `matches` gives the same result as checking the selector's requirements one by one.
 * Cost   short: `size` look-ups. Long: as many look-ups as the object has labels or the selector has clauses,
 *        whichever is fewer, with log(size) comparisons each. `lookupsMax` bounds both.
 * Bound  `bytes` is the memory it keeps: about 4 bytes per key or value, plus twice its characters.
 */
import { assert } from "#base/assert.ts";
import { parseInt64 } from "../go/go-integer.ts";
import { type Clause, clauseOperators, fieldClauses, labelClauses } from "./clauses.ts";
import type { FieldSelector } from "./field-selector.ts";
import type { LabelSelector } from "./label-selector.ts";
import { numbersUpTo, PackedStrings } from "./packed-strings.ts";

interface CompactSelector<Subject> {
  /** Selectors with the same clauses have the same text. */
  readonly text: string;
  /** Number of its keys and values, each counted once. */
  readonly size: number;
  /** The clauses of a short selector; empty for a long one, which no index serves. */
  readonly clauses: readonly Clause[];
  readonly bytes: number;
  matches(subject: Subject): boolean;
}

type Labels = Readonly<Record<string, string>>;

/** A field's value, "" when absent. */
type FieldOf = (field: string) => string;

/** Maximum keys and values of a hand-written selector; generated ones may have more. */
const shortMax = 32;
/** Heap bytes of an object, and of each key or value. */
const clauseBytes = 120;
const stringBytes = 32;
/** Minimum size of a label in an object's JSON: `"a":"",`. */
const labelBytesMin = 7;

/** Upper bound of the look-ups to match an object with `count` selectors that have `size` keys and values in sum. */
export function lookupsMax(size: number, count: number, objectBytes: number): number {
  return Math.min(size, count * Math.ceil(objectBytes / labelBytesMin));
}

export function compactLabels(selector: LabelSelector): CompactSelector<Labels> {
  const clauses = labelClauses(selector);
  if (sizeOf(clauses) <= shortMax) return shortSelector(clauses, labelsHold);
  const labels = new PackedLabels(clauses);
  return longSelector(labels.packed, (subject) => labels.hold(subject));
}

export function compactFields(selector: FieldSelector): CompactSelector<FieldOf> {
  const clauses = fieldClauses(selector);
  if (sizeOf(clauses) <= shortMax) return shortSelector(clauses, fieldsHold);
  const packed = new PackedClauses(clauses);
  return longSelector(packed, (fieldOf) => packedFieldsHold(packed, fieldOf));
}

function sizeOf(clauses: readonly Clause[]): number {
  return clauses.reduce((sum, { values }) => sum + 1 + values.length, 0);
}

/** A text about as long as the selector; begins with a digit, or with a bracket when it contains separators. */
function textOf(clauses: readonly Clause[]): string {
  const isPlain = clauses.every(
    ({ key, values }) => !betweens.test(key) && !values.some((value) => betweens.test(value)),
  );
  const lines = clauses.map(({ key, operator, values }) => [
    `${clauseOperators.indexOf(operator)}${key}`,
    ...values,
  ]);
  return isPlain ? lines.map((line) => line.join("\t")).join("\n") : JSON.stringify(lines);
}

const betweens = /[\t\n]/;

function shortSelector<Subject>(
  clauses: readonly Clause[],
  hold: (clauses: readonly Clause[], subject: Subject) => boolean,
): CompactSelector<Subject> {
  const size = sizeOf(clauses);
  const text = textOf(clauses);
  return {
    text,
    size,
    clauses,
    bytes: 2 * text.length + clauses.length * clauseBytes + size * stringBytes,
    matches: (subject) => hold(clauses, subject),
  };
}

function labelsHold(clauses: readonly Clause[], labels: Labels): boolean {
  for (const { key, operator, values } of clauses) {
    const isPresent = Object.hasOwn(labels, key);
    const value = isPresent ? (labels[key] ?? "") : "";
    if (!holds(operator, isPresent, value, values)) return false;
  }
  return true;
}

function fieldsHold(clauses: readonly Clause[], fieldOf: FieldOf): boolean {
  for (const { key, operator, values } of clauses) {
    if (!holds(operator, true, fieldOf(key), values)) return false;
  }
  return true;
}

function holds(
  operator: Clause["operator"],
  isPresent: boolean,
  value: string,
  values: readonly string[],
): boolean {
  switch (operator) {
    case "in":
      return isPresent && values.includes(value);
    case "notin":
      return !isPresent || !values.includes(value);
    case "exists":
      return isPresent;
    case "!":
      return !isPresent;
    case "gt":
    case "lt":
      return isPresent && isBeyond(operator, value, values[0]);
    default:
      return operator satisfies never;
  }
}

function isBeyond(operator: "gt" | "lt", text: string, boundText: string | undefined): boolean {
  const value = parseInt64(text);
  const bound = boundText === undefined ? undefined : parseInt64(boundText);
  if (value === undefined || bound === undefined) return false;
  return operator === "gt" ? value > bound : value < bound;
}

/** Clauses in a compact form that is searched by key. */
class PackedClauses {
  readonly text: string;
  readonly size: number;
  readonly #keys: PackedStrings;
  readonly #values: PackedStrings;
  readonly #operators: Uint8Array;
  /** End of the values of each clause; those of the next clause begin there. */
  readonly #valueEnds: Uint16Array | Uint32Array;

  constructor(clauses: readonly Clause[]) {
    this.text = textOf(clauses);
    this.size = sizeOf(clauses);
    this.#keys = new PackedStrings(clauses.map(({ key }) => key));
    this.#values = new PackedStrings(clauses.flatMap(({ values }) => values));
    this.#operators = Uint8Array.from(clauses, ({ operator }) => clauseOperators.indexOf(operator));
    this.#valueEnds = numbersUpTo(this.#values.length, clauses.length);
    let end = 0;
    for (const [at, { values }] of clauses.entries()) this.#valueEnds[at] = end += values.length;
  }

  get length(): number {
    return this.#operators.length;
  }

  get bytes(): number {
    const numbers = this.#operators.byteLength + this.#valueEnds.byteLength;
    return this.text.length + this.#keys.bytes + this.#values.bytes + numbers;
  }

  keyAt(at: number): string {
    return this.#keys.at(at);
  }

  /** Index of the first clause of `key`; clauses of one key are adjacent. */
  find(key: string): number {
    return this.#keys.lowerBound(key, 0, this.length);
  }

  isOf(at: number, key: string): boolean {
    return at < this.length && this.#keys.compare(at, key) === 0;
  }

  /** Whether the clause fails for an object without the key. */
  needsKey(at: number): boolean {
    const operator = this.#operatorAt(at);
    return operator !== "notin" && operator !== "!";
  }

  holds(at: number, isPresent: boolean, value: string): boolean {
    const operator = this.#operatorAt(at);
    const from = at === 0 ? 0 : (this.#valueEnds[at - 1] ?? 0);
    const to = this.#valueEnds[at] ?? from;
    if (operator === "in") return isPresent && this.#values.has(value, from, to);
    if (operator === "notin") return !isPresent || !this.#values.has(value, from, to);
    return holds(operator, isPresent, value, from < to ? [this.#values.at(from)] : []);
  }

  #operatorAt(at: number): Clause["operator"] {
    const operator = clauseOperators[this.#operators[at] ?? clauseOperators.length];
    assert(operator !== undefined, "a clause has no operator");
    return operator;
  }
}

function longSelector<Subject>(
  { text, size, bytes }: PackedClauses,
  matches: (subject: Subject) => boolean,
): CompactSelector<Subject> {
  return { text, size, clauses: [], bytes, matches };
}

class PackedLabels {
  readonly packed: PackedClauses;
  /** Number of clauses that fail for an object without their key. */
  readonly #needed: number;

  constructor(clauses: readonly Clause[]) {
    const packed = new PackedClauses(clauses);
    this.packed = packed;
    this.#needed = clauses.filter((_, at) => packed.needsKey(at)).length;
  }

  hold(labels: Labels): boolean {
    const keys = Object.keys(labels);
    return keys.length < this.packed.length ? this.#byLabel(labels, keys) : this.#byClause(labels);
  }

  #byLabel(labels: Labels, keys: readonly string[]): boolean {
    const { packed } = this;
    let needed = this.#needed;
    for (const key of keys) {
      for (let at = packed.find(key); packed.isOf(at, key); at++) {
        if (!packed.holds(at, true, labels[key] ?? "")) return false;
        if (packed.needsKey(at)) needed--;
      }
    }
    assert(needed >= 0, "a selector counts clauses it has not");
    return needed === 0;
  }

  #byClause(labels: Labels): boolean {
    const { packed } = this;
    for (let at = 0; at < packed.length; at++) {
      const key = packed.keyAt(at);
      const isPresent = Object.hasOwn(labels, key);
      if (!packed.holds(at, isPresent, isPresent ? (labels[key] ?? "") : "")) return false;
    }
    return true;
  }
}

function packedFieldsHold(packed: PackedClauses, fieldOf: FieldOf): boolean {
  for (let at = 0; at < packed.length; at++) {
    if (!packed.holds(at, true, fieldOf(packed.keyAt(at)))) return false;
  }
  return true;
}
