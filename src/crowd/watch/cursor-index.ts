/**
 * Index of live cursors by what they watch, so that an event touches only the cursors it concerns.
 *
 * A cursor is in exactly one bucket, chosen by the narrowest scope that its predicate fixes: one key, one value
 * of the indexed field (pods: spec.nodeName), one value of a label (in one namespace or in all), one
 * namespace, or everything. A bucket has three parts: cursors with nothing more to check (`plain`: all get one
 * shared array), cursors with selectors, and cursors with long selectors. The last part is separate so that
 * no other cursor waits for it.
 *
 * Invariant: the buckets of an event hold every live cursor whose predicate it can satisfy, before
 * or after the change; empty buckets are removed.
 * Cost: per event, its buckets (at most 5 look-ups, and 4 per label key used in a selector) and the cursors in
 * them.
 * Bounds: `labelKeysMax` label keys; cursors that select by a further key are found by namespace.
 */
import { must } from "#base/assert.ts";
import type { CacheEvent } from "./cache-event.ts";
import type { Cursor, CursorSlice } from "./cursor.ts";
import { lookupsPerTurn } from "./judged-portion.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import { type Slice, Slices } from "./slice.ts";

export interface Bucket {
  readonly plain: Slices;
  readonly selective: Slices;
  readonly long: Slices;
  /** Events of the current dispatch; empty between dispatches. */
  readonly events: CacheEvent[];
}

/** Location of a bucket: entry `key` of `map`. `label`: the label under which the label index holds `map`, if it does. */
interface Place {
  readonly map: Map<string, Bucket>;
  readonly key: string;
  readonly label?: string;
}

/** Maximum number of label look-ups per event; more distinct label keys than this are a mistake or an attack. */
const labelKeysMax = 16;

export class CursorIndex {
  readonly #field: string | undefined;
  readonly #sliceCursorsMax: number;
  readonly #all: Bucket;
  readonly #byNamespace = new Map<string, Bucket>();
  readonly #byKey = new Map<string, Bucket>();
  readonly #byField = new Map<string, Bucket>();
  /** By label key, then by `namespace/value`, where namespace "" stands for all namespaces. */
  readonly #byLabel = new Map<string, Map<string, Bucket>>();
  /** The label under which each cursor in #byLabel was indexed, which depends on the time of its insertion. */
  readonly #labelPlaces = new Map<Cursor, Place>();

  constructor(options: { indexedField: string | undefined; sliceCursorsMax: number }) {
    this.#field = options.indexedField;
    this.#sliceCursorsMax = options.sliceCursorsMax;
    this.#all = emptyBucket(options.sliceCursorsMax);
  }

  /** @returns the slice of the cursor, which `remove` takes. */
  add(cursor: Cursor): Slice {
    const place = this.#place(cursor) ?? this.#addLabelPlace(cursor) ?? this.#namespace(cursor);
    const bucket = place === undefined ? this.#all : this.#bucket(place);
    return side(bucket, cursor).add(cursor);
  }

  #bucket({ map, key }: Place): Bucket {
    let bucket = map.get(key);
    if (bucket === undefined) map.set(key, (bucket = emptyBucket(this.#sliceCursorsMax)));
    return bucket;
  }

  remove(cursor: Cursor, slice: CursorSlice): void {
    const place = this.#place(cursor) ?? this.#labelPlaces.get(cursor) ?? this.#namespace(cursor);
    this.#labelPlaces.delete(cursor);
    const bucket = place === undefined ? this.#all : must(place.map.get(place.key), "no bucket");
    side(bucket, cursor).remove(cursor, slice);
    if (place === undefined || cursorsOf(bucket) > 0) return;
    place.map.delete(place.key);
    if (place.label !== undefined && place.map.size === 0) this.#byLabel.delete(place.label);
  }

  /** Sorts `events` into the buckets they concern. @returns those buckets. */
  assign(events: readonly CacheEvent[]): readonly Bucket[] {
    const touched: Bucket[] = [];
    for (const event of events) {
      assignTo(touched, this.#all, event);
      if (this.#byNamespace.size > 0) {
        assignTo(touched, this.#byNamespace.get(namespaceOf(event.key)), event);
      }
      if (this.#byKey.size > 0) assignTo(touched, this.#byKey.get(event.key), event);
      if (this.#byField.size > 0) this.#assignByField(touched, event);
      for (const [label, map] of this.#byLabel) assignByLabel(touched, map, label, event);
    }
    return touched;
  }

  #assignByField(touched: Bucket[], event: CacheEvent): void {
    const field = this.#field ?? "";
    const next = event.next?.field(field);
    const previous = event.previous?.field(field);
    if (next !== undefined) assignTo(touched, this.#byField.get(next), event);
    if (previous !== undefined && previous !== next) {
      assignTo(touched, this.#byField.get(previous), event);
    }
  }

  #place(cursor: Cursor): Place | undefined {
    const { predicate } = cursor;
    if (predicate.key !== undefined) return { map: this.#byKey, key: predicate.key };
    const value = this.#field === undefined ? undefined : predicate.required(this.#field);
    return value === undefined ? undefined : { map: this.#byField, key: value };
  }

  #addLabelPlace(cursor: Cursor): Place | undefined {
    const { requiredLabels, namespace } = cursor.predicate;
    const indexed = requiredLabels.find(({ key }) => this.#byLabel.has(key));
    const chosen = this.#byLabel.size < labelKeysMax ? (indexed ?? requiredLabels[0]) : indexed;
    if (chosen === undefined) return undefined;
    let map = this.#byLabel.get(chosen.key);
    if (map === undefined) this.#byLabel.set(chosen.key, (map = new Map()));
    const place = { map, key: `${namespace}/${chosen.value}`, label: chosen.key };
    this.#labelPlaces.set(cursor, place);
    return place;
  }

  #namespace({ predicate }: Cursor): Place | undefined {
    return predicate.namespace === ""
      ? undefined
      : { map: this.#byNamespace, key: predicate.namespace };
  }
}

function emptyBucket(cursorsMax: number): Bucket {
  const all = { cursorsMax, selectorSizeMax: Number.POSITIVE_INFINITY };
  return {
    plain: new Slices(all),
    selective: new Slices(all),
    long: new Slices({ cursorsMax, selectorSizeMax: lookupsPerTurn }),
    events: [],
  };
}

function side(bucket: Bucket, { predicate }: Cursor): Slices {
  if (predicate.isLong) return bucket.long;
  return predicate.selective ? bucket.selective : bucket.plain;
}

function cursorsOf({ plain, selective, long }: Bucket): number {
  return plain.size + selective.size + long.size;
}

function assignTo(touched: Bucket[], bucket: Bucket | undefined, event: CacheEvent): void {
  if (bucket === undefined || cursorsOf(bucket) === 0) return;
  if (bucket.events.length === 0) touched.push(bucket);
  bucket.events.push(event);
}

function assignByLabel(
  touched: Bucket[],
  map: ReadonlyMap<string, Bucket>,
  label: string,
  event: CacheEvent,
): void {
  const next = labelOf(event.next, label);
  const previous = labelOf(event.previous, label);
  if (next !== undefined) assignByValue(touched, map, next, event);
  if (previous !== undefined && previous !== next) assignByValue(touched, map, previous, event);
}

function assignByValue(
  touched: Bucket[],
  map: ReadonlyMap<string, Bucket>,
  value: string,
  event: CacheEvent,
): void {
  assignTo(touched, map.get(`/${value}`), event);
  const namespace = namespaceOf(event.key);
  if (namespace !== "") assignTo(touched, map.get(`${namespace}/${value}`), event);
}

/** Own labels only: a label may be called `constructor`. */
function labelOf(object: SharedObject | undefined, label: string): string | undefined {
  if (object === undefined) return undefined;
  return Object.hasOwn(object.labels, label) ? object.labels[label] : undefined;
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}
