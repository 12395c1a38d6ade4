/**
 * Pairs a new value with the old one it came from, so that an unchanged value that was invalid before stays
 * allowed. Fields are paired by name, items of keyed lists by their keys, other items not at all.
 *
 * After  apiserver pkg/cel/common/equality.go and maplist.go.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { jsonEqual } from "../json/json-value.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import type { Structural } from "./structural.ts";

export class Correlated {
  readonly #value: JsonValue;
  readonly #old: JsonValue;
  readonly #node: Structural;
  #isUnchanged: boolean | undefined;
  #children: Map<string | number, Correlated> | undefined;
  #oldByKey: ReadonlyMap<string, JsonObject> | undefined;

  constructor(value: JsonValue, old: JsonValue, node: Structural) {
    this.#value = value;
    this.#old = old;
    this.#node = node;
  }

  /** Undefined: the field is new, or unknown to the schema. */
  field(name: string): Correlated | undefined {
    const known = this.#children?.get(name);
    if (known !== undefined) return known;
    if (!isRecord(this.#value) || !isRecord(this.#old)) return undefined;
    const value = ownEntry(this.#value as JsonObject, name);
    const old = ownEntry(this.#old as JsonObject, name);
    if (value === undefined || old === undefined) return undefined;
    const { additional } = this.#node;
    const below =
      this.#node.property(name) ?? (typeof additional === "object" ? additional : undefined);
    return below === undefined ? undefined : this.#keep(name, new Correlated(value, old, below));
  }

  item(at: number): Correlated | undefined {
    const known = this.#children?.get(at);
    if (known !== undefined) return known;
    const { items } = this.#node;
    if (items === undefined || this.#node.listType !== "map") return undefined;
    if (!Array.isArray(this.#value) || !Array.isArray(this.#old)) return undefined;
    const value = (this.#value as readonly JsonValue[])[at];
    const key = keyOf(value, this.#node.listMapKeys);
    if (value === undefined || key === undefined) return undefined;
    this.#oldByKey ??= itemsByKey(this.#old as readonly JsonValue[], this.#node.listMapKeys);
    const old = this.#oldByKey.get(key);
    return old === undefined ? undefined : this.#keep(at, new Correlated(value, old, items));
  }

  get isUnchanged(): boolean {
    this.#isUnchanged ??= this.#compare();
    return this.#isUnchanged;
  }

  #keep(at: string | number, child: Correlated): Correlated {
    (this.#children ??= new Map()).set(at, child);
    return child;
  }

  /** As upstream, an object with a field unknown to its schema counts as changed. */
  #compare(): boolean {
    const value = this.#value;
    const old = this.#old;
    if (Array.isArray(value)) {
      if (!Array.isArray(old) || value.length !== old.length) return false;
      if (this.#node.listType !== "map") return jsonEqual(value, old);
      return value.every((_, at) => this.item(at)?.isUnchanged ?? false);
    }
    if (!isRecord(value) || !isRecord(old)) return value === old;
    const names = Object.keys(value);
    if (names.length !== Object.keys(old).length) return false;
    return names.every((name) => this.field(name)?.isUnchanged ?? false);
  }
}

export function itemsByKey(
  list: readonly JsonValue[],
  keys: readonly string[],
): ReadonlyMap<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  for (const item of list) {
    const key = keyOf(item, keys);
    if (key !== undefined && !found.has(key)) found.set(key, item as JsonObject); // has a key
  }
  return found;
}

export function keyOf(item: JsonValue | undefined, keys: readonly string[]): string | undefined {
  if (!isRecord(item) || keys.length === 0) return undefined;
  const values: unknown[] = [];
  for (const key of keys) {
    const value = ownEntry(item, key);
    if (value === undefined || value === null || typeof value === "object") return undefined;
    values.push(value);
  }
  return JSON.stringify(values);
}
