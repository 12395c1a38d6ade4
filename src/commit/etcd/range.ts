/**
 * Range, with every option. The store finds keys in order at a revision; etcd's further
 * options (filters by revision, sorting by any field) are applied here to the keys found.
 *
 * Holds  `count` counts the whole range, ignoring limit and filters; `more` is whether the limit cut keys
 *        off; the header's revision is the newest, not the one read.
 * Cost   with sorting or filters the whole range is read, as in etcd.
 */
import type {
  Key,
  KeyValue,
  RangeRequest as StoreRange,
  RangeResult,
  Revision,
} from "#store/store.ts";
import { SortOrder, SortTarget, type RangeRequest } from "#wire/etcd-messages.ts";
import { etcdError, readError } from "./rpc-error.ts";

/** Greater than every key, because keys are strings of chars up to 255. */
const afterAllKeys = "\u0100" as Key;

/** The state at one revision: the committed one, or that of a transaction. */
export interface ReadView {
  readonly revision: Revision;
  range(request: StoreRange): RangeResult;
}

export interface RangeAnswer {
  readonly header: { readonly revision: number };
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: number;
}

/** Converts etcd's key and range end to the store's [start, end). */
export function span(key: string, rangeEnd: string): { readonly start: Key; readonly end: Key } {
  const start = key as Key;
  if (rangeEnd === "") return { start, end: `${key}\0` as Key };
  return { start, end: rangeEnd === "\0" ? afterAllKeys : (rangeEnd as Key) };
}

export function checkRangeRequest(request: RangeRequest): void {
  if (request.key === "") throw etcdError("emptyKey");
  const { sortOrder, sortTarget } = request;
  if (
    sortOrder < 0 ||
    sortOrder > SortOrder.descend ||
    sortTarget < 0 ||
    sortTarget > SortTarget.value
  )
    throw etcdError("invalidSortOption");
}

/** Throws GrpcError when the revision cannot be read. */
export function executeRange(view: ReadView, request: RangeRequest): RangeAnswer {
  const whole = request.sortOrder !== SortOrder.none || hasRevisionFilter(request);
  // One key more than requested, as in etcd; with a target but no order it takes part in the sorting.
  const limit = request.limit + 1;
  const found = view.range({
    ...span(request.key, request.rangeEnd),
    ...(request.revision > 0 ? { at: request.revision as Revision } : {}),
    ...(request.countOnly ? { limit: 0 } : whole || request.limit <= 0 ? {} : { limit }),
  });
  if (found.kind !== "ok") throw readError(found);
  const { count } = found;
  const header = { revision: view.revision };
  if (request.countOnly) return { header, kvs: [], more: false, count };
  const sorted = sort(hasRevisionFilter(request) ? filter(found.kvs, request) : found.kvs, request);
  const cut = request.limit > 0 && sorted.length > request.limit;
  const kept = cut ? sorted.slice(0, request.limit) : sorted;
  return { header, kvs: request.keysOnly ? kept.map(withoutValue) : kept, more: cut, count };
}

/** etcd 3.7 begins a stream with a Range of this many keys. */
const firstChunkKeys = 10;

/**
 * Answers a streamed range that has a sort target but no order. etcd sorts each of its chunks by the target, so a
 * result that fits into the first chunk is sorted. With more keys etcd loses or repeats some; undefined then: the keys
 * are sent in key order.
 */
export function fewByTarget(view: ReadView, request: RangeRequest): RangeAnswer | undefined {
  const { sortOrder, sortTarget, countOnly } = request;
  if (sortTarget === SortTarget.key || sortOrder !== SortOrder.none) return undefined;
  if (countOnly || hasRevisionFilter(request)) return undefined;
  const limit = request.limit > 0 ? Math.min(request.limit, firstChunkKeys) : firstChunkKeys;
  const answer = executeRange(view, { ...request, limit });
  return answer.more ? undefined : answer;
}

export function hasRevisionFilter(request: RangeRequest): boolean {
  return (
    request.minModRevision !== 0 ||
    request.maxModRevision !== 0 ||
    request.minCreateRevision !== 0 ||
    request.maxCreateRevision !== 0
  );
}

function filter(kvs: readonly KeyValue[], request: RangeRequest): readonly KeyValue[] {
  const { minModRevision, maxModRevision, minCreateRevision, maxCreateRevision } = request;
  return kvs.filter(
    (kv) =>
      (maxModRevision === 0 || kv.modRevision <= maxModRevision) &&
      (minModRevision === 0 || kv.modRevision >= minModRevision) &&
      (maxCreateRevision === 0 || kv.createRevision <= maxCreateRevision) &&
      (minCreateRevision === 0 || kv.createRevision >= minCreateRevision),
  );
}

/** Sorts by a target other than the key even when no order is requested, as etcd does. */
function sort(kvs: readonly KeyValue[], request: RangeRequest): readonly KeyValue[] {
  const { sortOrder, sortTarget } = request;
  const byKey = sortTarget === SortTarget.key;
  if (byKey && sortOrder !== SortOrder.descend) return kvs;
  const compare = comparators[sortTarget] as (a: KeyValue, b: KeyValue) => number;
  const sign = sortOrder === SortOrder.descend ? -1 : 1;
  return kvs.toSorted((a, b) => sign * compare(a, b));
}

const comparators: readonly ((a: KeyValue, b: KeyValue) => number)[] = [
  (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0),
  (a, b) => a.version - b.version,
  (a, b) => a.createRevision - b.createRevision,
  (a, b) => a.modRevision - b.modRevision,
  (a, b) => compareBytes(a.value, b.value),
];

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const noBytes = new Uint8Array(0);

function withoutValue(kv: KeyValue): KeyValue {
  return { ...kv, value: noBytes };
}
