/**
 * Evaluates the printer columns of one object. The author of a definition chooses their number and
 * paths, so a whole row is bounded: by the values its paths visit, and by the size of its texts.
 *
 * Holds  equal paths are evaluated once per row. Once the bound is reached the other cells are empty, like a cell
 *        whose path fails.
 * Cost   `valuesMax` values: a few milliseconds.
 */
import { hasValues } from "../json/value-count.ts";
import {
  firstValue,
  type JsonPath,
  parseJsonPath,
  type PathBudget,
  printValue,
} from "./json-path.ts";

/** Maximum values visited and printed per row. */
const valuesMax = 100_000;
/** Characters that cost as much as one value; a single text of any length always fits. */
const charactersPerValue = 8;
/** Printing an object costs as much as visiting it this many times. */
const printShare = 4;

/** The column values and texts of one object. */
export class RowValues {
  readonly #object: unknown;
  readonly #budget: PathBudget = { left: valuesMax };
  readonly #values = new Map<JsonPath, unknown>();
  readonly #texts = new Map<JsonPath, string | undefined>();

  constructor(object: unknown) {
    this.#object = object;
  }

  /** Undefined: no value, a failing path, or an exhausted budget. Equal paths share one object. */
  value(path: JsonPath): unknown {
    if (this.#values.has(path)) return this.#values.get(path);
    const value = firstValue(path, this.#object, this.#budget);
    this.#values.set(path, value);
    return value;
  }

  text(path: JsonPath): string | undefined {
    const text = this.#texts.has(path) ? this.#texts.get(path) : this.#print(path);
    this.#texts.set(path, text);
    if (text === undefined || this.#budget.left <= 0) return undefined;
    this.#budget.left -= text.length / charactersPerValue;
    return text;
  }

  #print(path: JsonPath): string | undefined {
    const value = this.value(path);
    if (value === undefined) return undefined;
    const most = this.#budget.left / printShare;
    if (most > 0 && !hasValues(value, most)) return printValue(value);
    // The row is full: values that do not fit cost too.
    this.#budget.left = 0;
    return undefined;
  }
}

/** The paths of one definition's columns; equal paths share one object. */
export class ColumnPaths {
  readonly #known = new Map<string, JsonPath>();

  /** Throws JsonPathError. */
  parse(text: string): JsonPath {
    const path = this.#known.get(text) ?? parseJsonPath(text);
    this.#known.set(text, path);
    return path;
  }
}
