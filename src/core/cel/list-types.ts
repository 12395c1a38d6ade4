/**
 * Lists of x-kubernetes-list-type set and map: `==` takes no account of the order, `+` merges.
 *
 * Holds  the list on the left decides how two are compared or joined.
 * Source: k8s.io/apiserver pkg/cel/common/valuesunstructured.go, 1.36. An element is looked up by what it is as JSON and
 *         not by what it means: so a set of times or of whole doubles is equal to no other list, as upstream.
 */
import { spendEffort } from "./effort.ts";
import { FunctionError } from "./libraries/limits.ts";
import { Duration, ListValue, Timestamp, Uint, type Value } from "./libraries/values.ts";

type Keys = readonly (string | undefined)[];

/** A list of elements with keys, which are read at the first comparison. */
abstract class ListWithKeys extends ListValue {
  readonly #list: ListValue;
  readonly #readKeys: () => Keys;
  #keys: Keys | undefined;
  #places: Map<string, number> | undefined;

  constructor(list: ListValue, readKeys: () => Keys) {
    super([]);
    this.#list = list;
    this.#readKeys = readKeys;
  }

  override get items(): readonly Value[] {
    return this.#list.items;
  }

  override get size(): number {
    return this.#list.size;
  }

  protected get keys(): Keys {
    this.#keys ??= this.#readKeys();
    return this.#keys;
  }

  /** Index of the last element with each key. */
  protected get places(): ReadonlyMap<string, number> {
    this.#places ??= placesOf(this.keys);
    return this.#places;
  }
}

export class SetList extends ListWithKeys {
  override equals(other: ListValue): boolean {
    spendEffort(this.size);
    return this.size === other.size && other.items.every((item) => this.places.has(valueKey(item)));
  }

  override join(other: ListValue): ListValue {
    spendEffort(this.size + other.size);
    const known = new Set(this.places.keys());
    const keys = [...this.keys];
    const items = [...this.items];
    for (const item of other.items) {
      const key = valueKey(item);
      if (known.has(key)) continue;
      known.add(key);
      keys.push(key);
      items.push(item);
    }
    return new SetList(new ListValue(items), () => keys);
  }
}

export class KeyedList extends ListWithKeys {
  readonly #keyOf: (element: Value) => string | undefined;

  constructor(
    list: ListValue,
    readKeys: () => Keys,
    keyOf: (element: Value) => string | undefined,
  ) {
    super(list, readKeys);
    this.#keyOf = keyOf;
  }

  override equals(other: ListValue, equal: (a: Value, b: Value) => boolean): boolean {
    if (this.size !== other.size) return false;
    spendEffort(this.size);
    return other.items.every((item) => {
      const at = this.places.get(this.#keyOf(item) ?? "");
      return at !== undefined && equal(this.items[at] ?? null, item);
    });
  }

  /** An element of the right list replaces the one with the same key. */
  override join(other: ListValue): ListValue {
    spendEffort(this.size + other.size);
    const keys = [...this.keys];
    const items = [...this.items];
    for (const item of other.items) {
      const key = this.#keyOf(item);
      const at = key === undefined ? undefined : this.places.get(key);
      if (at !== undefined) items[at] = item;
      else {
        keys.push(key);
        items.push(item);
      }
    }
    return new KeyedList(new ListValue(items), () => keys, this.#keyOf);
  }
}

function placesOf(keys: Keys): Map<string, number> {
  const places = new Map<string, number>();
  for (const [at, key] of keys.entries()) if (key !== undefined) places.set(key, at);
  return places;
}

/** The key of the JSON in a Go map, in which whole numbers are integers, whatever the schema says. */
export function jsonKey(json: unknown): string {
  if (typeof json === "number" && Number.isInteger(json)) return `i${json}`;
  if (json !== null && typeof json === "object") {
    throw unhashable(Array.isArray(json) ? "[]interface {}" : "map[string]interface {}");
  }
  return scalarKey(json);
}

/** Like `jsonKey` for a value: equal types and contents give equal keys. */
function valueKey(value: Value): string {
  if (typeof value !== "object" || value === null) return scalarKey(value);
  if (value instanceof Uint) return `u${value.value}`;
  if (value instanceof Duration) return `duration ${value.nanos}`;
  if (value instanceof Timestamp) return `time ${value.nanos}`;
  if (value instanceof Uint8Array) throw unhashable("[]uint8");
  throw unhashable(value instanceof ListValue ? "[]interface {}" : "map[string]interface {}");
}

function scalarKey(value: unknown): string {
  return typeof value === "bigint" ? `i${value}` : `${typeof value} ${String(value)}`;
}

/** Go's error text, because upstream fails here too. */
function unhashable(type: string): FunctionError {
  return new FunctionError(`internal error: runtime error: hash of unhashable type ${type}`);
}
