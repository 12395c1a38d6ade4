/**
 * Merges an applied configuration into the live object, and removes paths from an object.
 * After  structured-merge-diff typed/merge.go, typed/remove.go.
 */
import { getField, setField } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import { below } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { fieldElement } from "./fields-v1.ts";
import type { Shape } from "./shape.ts";
import type { Form } from "./walk.ts";
import {
  fieldShape,
  formOf,
  itemElement,
  itemShape,
  itemsByElement,
  keysOf,
  listOf,
  objectOf,
} from "./walk.ts";

type Side = MutableJson | undefined;
type ObjectShape = Extract<Form, { kind: "object" }>["shape"];
type ItemsShape = Extract<Form, { kind: "list" }>["shape"];

/** Merges leaf by leaf: `applied` wins, fields that it does not mention keep their `live` value. Changes neither. */
export function mergeValues(live: Side, applied: Side, shape: Shape): Side {
  if (applied === undefined) return live;
  if (live === undefined) return withoutNulls(applied, shape);
  const form = formOf(shape, live, applied);
  if (form.kind === "leaf" || isVoidPair(live, applied)) return applied;
  if (form.kind === "list") return mergeLists(listOf(live), listOf(applied), form.shape);
  return mergeObjects(objectOf(live), objectOf(applied), form.shape);
}

function isVoidPair(live: MutableJson, applied: MutableJson): boolean {
  return Object.keys(live ?? {}).length === 0 && Object.keys(applied ?? {}).length === 0;
}

function mergeObjects(
  live: MutableObject,
  applied: MutableObject,
  shape: ObjectShape,
): MutableObject {
  const merged: MutableObject = {};
  const dropsNulls = shape.kind === "struct" && shape.dropsNulls;
  for (const name of keysOf(live, applied)) {
    const before = getField(live, name);
    const value = mergeValues(before, getField(applied, name), fieldShape(shape, name));
    // A null that replaces a value counts as a change until the object is decoded.
    const isDropped = value === null && dropsNulls && before === undefined;
    if (value !== undefined && !isDropped) setField(merged, name, value);
  }
  return merged;
}

/** A new value without the nulls that its Go struct would not keep. */
function withoutNulls(value: MutableJson, shape: Shape): MutableJson {
  const form = formOf(shape, value);
  if (form.kind === "leaf" || value === null) return value;
  if (form.kind === "object") return mergeObjects({}, objectOf(value), form.shape);
  return listOf(value).map((item) => withoutNulls(item, itemShape(form.shape)));
}

/**
 * Merges two lists. Elements that only the live list has keep the live order; elements of both have the applied
 * order. Walks both lists at once, and waits at each shared element until the other side has reached it.
 */
function mergeLists(
  live: readonly MutableJson[],
  applied: readonly MutableJson[],
  shape: ItemsShape,
): MutableJson[] {
  const walk = new ListMerge(live, applied, shape);
  return walk.run();
}

class ListMerge {
  readonly #live: readonly MutableJson[];
  readonly #shape: ItemsShape;
  readonly #left: readonly string[];
  readonly #right: readonly string[];
  readonly #liveItems: ReadonlyMap<string, MutableJson[]>;
  readonly #appliedItems: ReadonlyMap<string, MutableJson[]>;
  /** Applied elements that also exist in the live list, in applied order; those from `#nextShared` on are not reached yet. */
  readonly #shared: readonly string[];
  #nextShared = 0;
  readonly #done = new Set<string>();
  readonly #merged: MutableJson[] = [];

  constructor(live: readonly MutableJson[], applied: readonly MutableJson[], shape: ItemsShape) {
    this.#live = live;
    this.#shape = shape;
    this.#left = live.map((item) => itemElement(shape, item));
    this.#right = applied.map((item) => itemElement(shape, item));
    this.#liveItems = itemsByElement(shape, live);
    this.#appliedItems = itemsByElement(shape, applied);
    this.#shared = this.#right.filter((element) => this.#liveItems.has(element));
  }

  run(): MutableJson[] {
    let [l, r] = [0, 0];
    while (l < this.#left.length || r < this.#right.length) {
      const [left, right] = [this.#left[l], this.#right[r]];
      if (left !== undefined && left === right) {
        this.#takeApplied(left);
        [l, r] = [l + 1, r + 1];
      } else if (left !== undefined && right !== undefined && this.#comesLater(left)) {
        l += 1;
      } else if (left !== undefined && !this.#appliedItems.has(left)) {
        this.#merged.push(this.#live[l] ?? null);
        l += 1;
      } else {
        if (left !== undefined && this.#done.has(left)) l += 1;
        if (right !== undefined) this.#takeApplied(right);
        if (right !== undefined) r += 1;
      }
    }
    return this.#merged;
  }

  /** Whether it is a shared element other than the next one in applied order. */
  #comesLater(element: string): boolean {
    const next = this.#shared[this.#nextShared];
    return this.#appliedItems.has(element) && next !== undefined && next !== element;
  }

  #takeApplied(element: string): void {
    if (this.#shared[this.#nextShared] === element) this.#nextShared++;
    this.#done.add(element);
    const live = this.#liveItems.get(element) ?? [];
    const mate = live.length === 1 ? live[0] : undefined; // duplicates have no single counterpart
    const item = mergeValues(mate, this.#appliedItems.get(element)?.[0], itemShape(this.#shape));
    this.#merged.push(item ?? null);
  }
}

/** The value without the members of `paths`. Containers that become empty stay, unless they are members. */
export function removePaths(value: MutableJson, paths: FieldSet, shape: Shape): MutableJson {
  if (paths.children.size === 0) return value;
  const form = formOf(shape, value);
  if (form.kind === "leaf" || value === null) return value;
  if (form.kind === "object") return removeFields(objectOf(value), paths, form.shape);
  return listOf(value).flatMap((item) => {
    const at = below(paths, itemElement(form.shape, item));
    return at.isMember ? [] : [removePaths(item, at, itemShape(form.shape))];
  });
}

function removeFields(object: MutableObject, paths: FieldSet, shape: ObjectShape): MutableObject {
  const kept: MutableObject = {};
  for (const [name, member] of Object.entries(object)) {
    const at = below(paths, fieldElement(name));
    if (!at.isMember) setField(kept, name, removePaths(member, at, fieldShape(shape, name)));
  }
  return kept;
}
