/**
 * Delivers the events of a cache to its live cursors: at once, in turns (crowd.ts) or in windows (pacer.ts).
 *
 * In     events of whole revisions in order (`take`), then `dispatch`.
 * Holds  a live cursor has got every event that concerns it up to its slice's position. Slices that do not
 *        wait are at `delivered`. A waiting slice reads the ring; once the ring no longer holds its
 *        position, its cursors catch up one by one.
 * Cost   the buckets of each event and the cursors in them; a slice that waits costs a set entry.
 */
import type { CacheEvent } from "./cache-event.ts";
import type { KnownState } from "./cache-state.ts";
import { Crowd, type CrowdOptions, sliceCursorsMax } from "./crowd.ts";
import type { Cursor } from "./cursor.ts";
import { type Bucket, CursorIndex } from "./cursor-index.ts";
import { batchBytesMax } from "./event-ring.ts";
import { Pacer, type PacerOptions } from "./pacer.ts";
import { SharedSelection } from "./shared-selection.ts";
import type { Slice, Slices } from "./slice.ts";
import type { ViewSums } from "./view-sum.ts";
import type { WatchItem } from "./watch-item.ts";

export interface DispatcherDeps {
  readonly state: KnownState;
  readonly views: ViewSums;
  /** Undefined: `dispatch` serves all cursors before it returns. */
  readonly crowd: CrowdOptions | undefined;
  /** Undefined: no windows. */
  readonly pacer: PacerOptions | undefined;
}

/** Without a turn scheduler, serve all cursors synchronously. */
const noTurns: CrowdOptions = {
  nextTurn: (f) => f(),
  crowdCursorsMin: Number.POSITIVE_INFINITY,
};

export class Dispatcher {
  readonly selection = new SharedSelection();
  /** Events that watchers of the latest state were spared. */
  coalesced = 0;
  readonly #state: KnownState;
  readonly #views: ViewSums;
  readonly #index: CursorIndex;
  /** Those that are served once per window. */
  readonly #paced: CursorIndex;
  readonly #pacer: Pacer | undefined;
  readonly #crowd: Crowd;
  #delivered: number;
  #undelivered: CacheEvent[] = [];

  constructor(
    { state, views, crowd, pacer }: DispatcherDeps,
    { indexedField }: { readonly indexedField: string | undefined },
  ) {
    this.#state = state;
    this.#views = views;
    this.#delivered = state.revision;
    const index = { indexedField, sliceCursorsMax: crowd?.sliceCursorsMax ?? sliceCursorsMax };
    this.#index = new CursorIndex(index);
    this.#paced = new CursorIndex(index);
    this.#crowd = new Crowd(crowd ?? noTurns, (slice) => this.#serve(slice));
    const window = (due: Iterable<Slice>): void => this.#serveSoon(due);
    this.#pacer = pacer === undefined ? undefined : new Pacer(pacer, window);
  }

  /** Live cursors have got every event up to here, except those that wait for a turn. */
  get delivered(): number {
    return this.#delivered;
  }

  /** Events were accepted but not dispatched yet. */
  get pending(): boolean {
    return this.#undelivered.length > 0;
  }

  get paces(): boolean {
    return this.#pacer !== undefined;
  }

  enlist(cursor: Cursor): Slice {
    return this.#indexOf(cursor).add(cursor);
  }

  retire(cursor: Cursor, slice: Slice): void {
    this.#indexOf(cursor).remove(cursor, slice);
  }

  #indexOf(cursor: Cursor): CursorIndex {
    return cursor.latest ? this.#paced : this.#index;
  }

  /** What the state just took. Not seen by watchers before `dispatch`. */
  take(events: readonly CacheEvent[]): void {
    this.#undelivered.push(...events);
  }

  /** The state is at a revision without events. */
  advanced(): void {
    if (this.#undelivered.length === 0) this.#delivered = this.#state.revision;
  }

  /** The state began anew. */
  reset(): void {
    this.#undelivered = [];
    this.#delivered = this.#state.revision;
  }

  /** Brings what was applied since the last dispatch to the live cursors it concerns. */
  dispatch(): void {
    const base = this.#delivered;
    const last = this.#state.revision;
    const events = this.#undelivered;
    this.#undelivered = [];
    for (let at = 0; at < events.length;) {
      const end = runEnd(events, at);
      const run = at === 0 && end === events.length ? events : events.slice(at, end);
      const to = end === events.length ? last : (events[end - 1]?.revision ?? last);
      this.#dispatchRun(run, at === 0 ? base : this.#delivered, to);
      at = end;
    }
    this.#delivered = Math.max(this.#delivered, last);
  }

  #dispatchRun(events: readonly CacheEvent[], base: number, last: number): void {
    this.#views.take(events, last);
    const buckets = this.#index.assign(events);
    const crowd = this.#crowd.isCrowd(buckets.reduce((sum, { plain }) => sum + plain.size, 0));
    for (const bucket of buckets) {
      if (crowd) this.#postpone(bucket.plain, base);
      if (this.#crowd.isCrowd(bucket.selective.size)) this.#postpone(bucket.selective, base);
      dispatchBucket(bucket, base, last);
    }
    for (const bucket of this.#paced.assign(events)) {
      bucket.events.length = 0;
      this.#pace(bucket.plain, base);
      this.#pace(bucket.selective, base);
    }
    this.#delivered = Math.max(this.#delivered, last);
    this.#crowd.start();
  }

  /** Makes all cursors of these slices wait for a turn. */
  #postpone({ all }: Slices, base: number): void {
    for (const slice of all) {
      slice.behindAt ??= base;
      this.#crowd.add(slice);
    }
  }

  #pace({ all }: Slices, base: number): void {
    for (const slice of all) {
      if (slice.behindAt !== undefined) continue;
      slice.behindAt = base;
      this.#pacer?.add(slice);
    }
  }

  #serveSoon(slices: Iterable<Slice>): void {
    for (const slice of slices) this.#crowd.add(slice);
    this.#crowd.start();
  }

  /** Serves a slice that waited, up to the dispatched position. */
  #serve(slice: Slice): void {
    let at = slice.behindAt ?? this.#delivered;
    const [first] = slice.cursors;
    const latest = first?.latest === true;
    while (at < this.#delivered && slice.cursors.size > 0) {
      if (at < this.#state.floor) return this.#dissolve(slice, at);
      const events = this.#state.ringAfter(at, this.#delivered, latest);
      const last = events.at(-1)?.revision;
      if (last === undefined) break;
      if (first?.predicate.selective === false) this.#serveAlike(slice, first, events, last);
      else for (const cursor of slice.cursors) cursor.serve(events, at, last);
      slice.behindAt = at = last;
    }
    slice.behindAt = undefined;
    for (const cursor of slice.bookmarksDue.splice(0)) cursor.bookmark();
  }

  /** Cursors without selectors see exactly what their slice selects, so their predicates are not evaluated. */
  #serveAlike(slice: Slice, first: Cursor, events: readonly CacheEvent[], last: number): void {
    const base = slice.behindAt ?? this.#delivered;
    const { items, coalesced } = this.selection.of(events, first);
    for (const cursor of slice.cursors) {
      cursor.offer(items, base, last);
      if (coalesced > 0 && cursor.live) this.coalesced += coalesced;
    }
  }

  /** The ring has forgotten where the slice is: each of its cursors reads on alone. */
  #dissolve(slice: Slice, at: number): void {
    const cursors = [...slice.cursors];
    for (const cursor of cursors) cursor.fallBehind(at);
    slice.behindAt = undefined;
    slice.bookmarksDue.length = 0;
    for (const cursor of cursors) cursor.resume();
  }
}

/**
 * Finds the end of the run of whole revisions from `start` that one delivery takes. However many events
 * arrived together, a sink gets about `batchBytesMax` and may then refuse the rest.
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

/** Delivers to the cursors that do not wait for a turn. */
function dispatchBucket({ plain, selective, events }: Bucket, base: number, last: number): void {
  const these = events.splice(0);
  dispatchPlain(present(plain), these, base, last);
  for (const { cursors } of present(selective)) {
    for (const cursor of cursors) cursor.serve(these, base, last);
  }
}

/** A copy: a cursor may leave its slice, and a slice its bucket, from inside `offer`. */
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
