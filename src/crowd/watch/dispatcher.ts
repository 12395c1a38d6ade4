/**
 * Brings the events of a cache to its live cursors: it finds the cursors that an event concerns, and forms the
 * batches. The scheduler decides when that happens (delivery-scheduler.ts).
 *
 * In     events of whole revisions in order (`take`), then `request` or `dispatch`.
 * Holds  a live cursor has got every event that concerns it up to its slice's position: `dispatched`, or
 *        `behindAt` of a waiting slice. `dispatched` <= the state's revision, and only `reset` moves it back.
 * Cost   the buckets of each event and the cursors in them; a waiting slice costs a set entry.
 */
import { assert } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { CacheEvent } from "./cache-event.ts";
import type { KnownState } from "./cache-state.ts";
import type { Cursor, CursorSlice } from "./cursor.ts";
import { type Bucket, CursorIndex } from "./cursor-index.ts";
import { type DeliveryPolicy, DeliveryScheduler } from "./delivery-scheduler.ts";
import { batchBytesMax } from "./event-ring.ts";
import { lookupsOf } from "./judged-portion.ts";
import { SharedSelection } from "./shared-selection.ts";
import type { Slice, Slices, SliceSource } from "./slice.ts";
import type { ViewSums } from "./view-sum.ts";
import type { WatchItem } from "./watch-item.ts";

interface DispatcherDeps {
  readonly state: KnownState;
  readonly views: ViewSums;
  readonly clock: Clock;
  /** Called after each dispatch. */
  readonly onDispatched: (() => void) | undefined;
}

interface DispatcherOptions {
  readonly indexedField: string | undefined;
  readonly delivery: DeliveryPolicy;
}

export class Dispatcher implements SliceSource {
  readonly state: KnownState;
  readonly selection = new SharedSelection();
  readonly #views: ViewSums;
  readonly #onDispatched: (() => void) | undefined;
  readonly #index: CursorIndex;
  /** Watchers of the latest state. */
  readonly #latestIndex: CursorIndex;
  readonly #scheduler: DeliveryScheduler;
  #dispatched: number;
  #pending: CacheEvent[] = [];

  constructor(
    { state, views, clock, onDispatched }: DispatcherDeps,
    { indexedField, delivery }: DispatcherOptions,
  ) {
    this.state = state;
    this.#views = views;
    this.#onDispatched = onDispatched;
    this.#dispatched = state.revision;
    const index = { indexedField, sliceCursorsMax: delivery.turns.cursorsPerTurn };
    this.#index = new CursorIndex(index);
    this.#latestIndex = new CursorIndex(index);
    const dispatch = (): void => this.#dispatch();
    const serve = (slice: Slice, lookups: number): number => slice.catchUp(this, lookups);
    this.#scheduler = new DeliveryScheduler({ clock, dispatch, serve }, delivery);
  }

  /** Every event up to this revision has been delivered to live cursors, except those that wait for a turn. */
  get dispatched(): number {
    return this.#dispatched;
  }

  /** Events were accepted but not dispatched yet. */
  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** Whether watchers may ask for latest-state delivery. */
  get servesLatest(): boolean {
    return this.#scheduler.hasLatestWindow;
  }

  join(cursor: Cursor): Slice {
    return this.#indexOf(cursor).add(cursor);
  }

  leave(cursor: Cursor, slice: CursorSlice): void {
    this.#indexOf(cursor).remove(cursor, slice);
  }

  #indexOf(cursor: Cursor): CursorIndex {
    return cursor.latest ? this.#latestIndex : this.#index;
  }

  /** Queues the events that were just applied to the state for the next dispatch. */
  take(events: readonly CacheEvent[]): void {
    // Not spread: a list may bring more events than a call takes arguments.
    for (const event of events) this.#pending.push(event);
  }

  /** The state advanced to a revision without events. */
  advanced(): void {
    if (this.#pending.length === 0) this.#dispatched = this.state.revision;
  }

  /** The state was replaced. */
  reset(): void {
    this.#pending = [];
    this.#dispatched = this.state.revision;
  }

  /** Dispatches now or when the feed's window ends, as its policy says. */
  request(watchers: number): void {
    this.#scheduler.request(watchers);
  }

  /** Dispatches now. */
  dispatch(): void {
    this.#scheduler.dispatchNow();
  }

  close(): void {
    this.#scheduler.close();
  }

  #dispatch(): void {
    const base = this.#dispatched;
    const last = this.state.revision;
    assert(base <= last, "dispatch is ahead of the state");
    const events = this.#pending;
    this.#pending = [];
    for (let at = 0; at < events.length;) {
      const end = runEnd(events, at);
      const run = at === 0 && end === events.length ? events : events.slice(at, end);
      const to = end === events.length ? last : (events[end - 1]?.revision ?? last);
      this.#dispatchRun(run, at === 0 ? base : this.#dispatched, to);
      at = end;
    }
    this.#dispatched = Math.max(this.#dispatched, last);
    this.#onDispatched?.();
  }

  #dispatchRun(events: readonly CacheEvent[], base: number, last: number): void {
    this.#views.take(events, last);
    const buckets = this.#index.assign(events);
    for (const kind of bucketKinds) {
      if (this.#isCrowd(buckets, kind))
        for (const bucket of buckets) this.#postpone(bucket[kind], base);
    }
    for (const bucket of buckets) dispatchBucket(bucket, base, last);
    for (const bucket of this.#latestIndex.assign(events)) {
      bucket.events.length = 0;
      for (const kind of bucketKinds) this.#postponeToWindow(bucket[kind], base);
    }
    this.#dispatched = Math.max(this.#dispatched, last);
    this.#scheduler.startTurns();
  }

  /** Whether the cursors of one kind that an event concerns are too many, or have too many look-ups, for one turn. */
  #isCrowd(buckets: readonly Bucket[], kind: (typeof bucketKinds)[number]): boolean {
    let cursors = 0;
    let lookups = 0;
    for (const bucket of buckets) {
      cursors += bucket[kind].size;
      lookups += lookupsOf(bucket.events, bucket[kind].judges);
    }
    return this.#scheduler.isCrowd(cursors, lookups);
  }

  /** Makes all cursors of these slices wait for a turn. */
  #postpone({ all }: Slices, base: number): void {
    for (const slice of all) {
      slice.behindAt ??= base;
      this.#scheduler.waitForTurn(slice);
    }
  }

  #postponeToWindow({ all }: Slices, base: number): void {
    for (const slice of all) {
      slice.behindAt ??= base;
      this.#scheduler.waitForWindow(slice);
    }
  }
}

const bucketKinds = ["plain", "selective", "long"] as const;

/**
 * Finds the end of the run of whole revisions from `start` that one delivery takes. Even when many events arrive
 * together, a sink gets about `batchBytesMax` per delivery and may then refuse the rest.
 */
function runEnd(events: readonly CacheEvent[], start: number): number {
  let bytes = 0;
  let end = start;
  while (end < events.length) {
    const event = events[end];
    if (event === undefined) break;
    if (bytes >= batchBytesMax && event.revision !== events[end - 1]?.revision) break;
    bytes += event.sentBytes;
    end++;
  }
  return end;
}

/** Delivers to the cursors that do not have to wait for a turn. */
function dispatchBucket(bucket: Bucket, base: number, last: number): void {
  const these = bucket.events.splice(0);
  dispatchPlain(present(bucket.plain), these, base, last);
  for (const { cursors } of [...present(bucket.selective), ...present(bucket.long)]) {
    for (const cursor of cursors) cursor.serve(these, base, last);
  }
}

/** Returns a copy, because `offer` may remove a cursor from its slice and a slice from its bucket. */
function present({ all }: Slices): readonly Slice[] {
  return all.filter(({ behindAt }) => behindAt === undefined);
}

function dispatchPlain(
  slices: readonly Slice[],
  events: readonly CacheEvent[],
  base: number,
  last: number,
): void {
  if (slices.length === 0) return;
  const items: WatchItem[] = [];
  for (const event of events) pushItem(items, event.plainItem());
  for (const { cursors } of slices) for (const cursor of cursors) cursor.offer(items, base, last);
}

function pushItem(items: WatchItem[], item: WatchItem | undefined): void {
  if (item !== undefined) items.push(item);
}
