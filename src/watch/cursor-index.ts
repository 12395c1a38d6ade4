/**
 * Live cursors by what they watch, so that an event touches only those it concerns.
 *
 * A cursor is in exactly one bucket, by the narrowest thing its predicate fixes: one key, one value
 * of the indexed field (pods: spec.nodeName), one namespace, or everything. A bucket keeps cursors
 * with nothing more to check (`plain`: all get one shared array) apart from those with selectors.
 *
 * Invariant: the buckets of an event hold every live cursor whose predicate it can satisfy, before
 * or after the change; empty buckets are removed.
 * Cost: an event costs its buckets (at most 5 look-ups) and the cursors in them.
 */
import type { CacheEvent } from "./cache-event.ts";
import type { Cursor } from "./cursor.ts";

export interface Bucket {
  readonly plain: Set<Cursor>;
  readonly selective: Set<Cursor>;
  /** Events of the dispatch under way; empty between dispatches. */
  readonly events: CacheEvent[];
}

export class CursorIndex {
  readonly #field: string | undefined;
  readonly #all: Bucket = emptyBucket();
  readonly #byNamespace = new Map<string, Bucket>();
  readonly #byKey = new Map<string, Bucket>();
  readonly #byField = new Map<string, Bucket>();

  constructor(options: { indexedField: string | undefined }) {
    this.#field = options.indexedField;
  }

  add(cursor: Cursor): void {
    const place = this.#place(cursor);
    const bucket = place === undefined ? this.#all : addBucket(place.map, place.key);
    side(bucket, cursor).add(cursor);
  }

  remove(cursor: Cursor): void {
    const place = this.#place(cursor);
    const bucket = place === undefined ? this.#all : place.map.get(place.key);
    if (bucket === undefined) return;
    side(bucket, cursor).delete(cursor);
    if (place !== undefined && bucket.plain.size + bucket.selective.size === 0) {
      place.map.delete(place.key);
    }
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

  #place(cursor: Cursor): { map: Map<string, Bucket>; key: string } | undefined {
    const { predicate } = cursor;
    if (predicate.key !== undefined) return { map: this.#byKey, key: predicate.key };
    const value = this.#field === undefined ? undefined : predicate.required(this.#field);
    if (value !== undefined) return { map: this.#byField, key: value };
    if (predicate.namespace !== "") return { map: this.#byNamespace, key: predicate.namespace };
    return undefined;
  }
}

function emptyBucket(): Bucket {
  return { plain: new Set(), selective: new Set(), events: [] };
}

function addBucket(map: Map<string, Bucket>, key: string): Bucket {
  let bucket = map.get(key);
  if (bucket === undefined) map.set(key, (bucket = emptyBucket()));
  return bucket;
}

function side(bucket: Bucket, cursor: Cursor): Set<Cursor> {
  return cursor.predicate.selective ? bucket.selective : bucket.plain;
}

function assignTo(touched: Bucket[], bucket: Bucket | undefined, event: CacheEvent): void {
  if (bucket === undefined || bucket.plain.size + bucket.selective.size === 0) return;
  if (bucket.events.length === 0) touched.push(bucket);
  bucket.events.push(event);
}

function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}
