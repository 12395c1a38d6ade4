/**
 * Watch cache of one resource: its state, its recent past, and the watchers of both.
 *
 * In     whole revisions in rising order (`apply`), then `dispatch`; `advance` when a revision is
 *        known to hold nothing for this resource.
 * Holds  what `cache-state.ts` says of state and past.
 * Out    the same items to every cursor concerned; a cursor whose sink refuses is read from the ring
 *        when the sink asks, from history below the ring, and 410 only where history ends.
 * Cost   dispatch: buckets of the event and the cursors in them.
 * Why not a queue per watcher: 10,000 watchers x 1,000 events are 10 M references; 10,000 cursors
 * are 10,000 numbers, and a slow one costs the others nothing.
 */
import type { CacheEvent } from "./cache-event.ts";
import {
  CacheState,
  type KnownState,
  type Change,
  type InitialState,
  type StateOptions,
} from "./cache-state.ts";
import type { CursorHome, CursorStart } from "./cursor.ts";
import { Crowd, type CrowdOptions, sliceCursorsMax } from "./crowd.ts";
import { Cursor } from "./cursor.ts";
import type { Bucket } from "./cursor-index.ts";
import { CursorIndex } from "./cursor-index.ts";
import { Pacer, type PacerOptions } from "./pacer.ts";
import type { Slice, Slices } from "./slice.ts";
import { batchBytesMax } from "./event-ring.ts";
import type { History } from "./history.ts";
import type { Predicate } from "./predicate.ts";
import { SharedSelection } from "./shared-selection.ts";
import { type DigestOf, type ViewSum, ViewSums } from "./view-sum.ts";
import type { ViewState, WatchItem, WatchSink } from "./watch-item.ts";

export interface CacheOptions extends StateOptions {
  /** A selectable field with an index of its own, such as spec.nodeName of pods. */
  readonly indexedField: string | undefined;
}

export interface CacheDeps {
  readonly history: History;
  /** Whether all of the newest revision is here: no bookmark names it before. Absent: always. */
  readonly whole?: () => boolean;
  /** Absent: however many watchers there are, dispatch serves them all before it returns. */
  readonly crowd?: CrowdOptions;
  /** Absent: who asks for the latest state only gets every event. */
  readonly pacer?: PacerOptions;
  /** Absent: no checksums. */
  readonly digestOf?: DigestOf;
}

export interface CacheWatchOptions {
  readonly predicate: Predicate;
  readonly bookmarks: boolean;
  /** Where to start: strictly after a revision, or with the current state as ADDED events. */
  readonly start: { readonly after: number } | "state";
  /** Close the initial events with a marked bookmark; absent: when bookmarks are wanted. */
  readonly marker?: boolean;
  /** Bookmarks say what the view holds: count and checksum. */
  readonly checksums?: boolean;
  /** At most one event per key and window, as `latest.ts` says. */
  readonly latest?: boolean;
}

type RingEvents = readonly CacheEvent[];

/** Whoever has no turns to give serves everybody at once. */
const noTurns: CrowdOptions = {
  nextTurn: (f) => f(),
  crowdCursorsMin: Number.POSITIVE_INFINITY,
};

export class WatchCache {
  readonly history: History;
  readonly #state: CacheState;
  #delivered: number;
  #undelivered: CacheEvent[] = [];
  readonly #index: CursorIndex;
  /** Those that are served once per window. */
  readonly #paced: CursorIndex;
  readonly #pacer: Pacer | undefined;
  readonly #cursors = new Set<Cursor>();
  /** Cursors whose bookmark waits for the rest of the newest revision. */
  readonly #due = new Set<Cursor>();
  readonly #views: ViewSums;
  readonly #home: CursorHome;
  readonly #crowd: Crowd;
  #cursorCount = 0;
  #coalesced = 0;

  constructor(deps: CacheDeps, initial: InitialState, options: CacheOptions) {
    this.history = deps.history;
    this.#state = new CacheState(initial, options);
    this.#delivered = initial.revision;
    const { indexedField } = options;
    const index = { indexedField, sliceCursorsMax: deps.crowd?.sliceCursorsMax ?? sliceCursorsMax };
    this.#index = new CursorIndex(index);
    this.#paced = new CursorIndex(index);
    this.#views = new ViewSums(deps.digestOf);
    this.#home = this.#makeHome(deps.whole ?? (() => true));
    this.#crowd = new Crowd(deps.crowd ?? noTurns, (slice) => this.#serve(slice));
    const window = (due: Iterable<Slice>): void => this.#serveSoon(due);
    this.#pacer = deps.pacer === undefined ? undefined : new Pacer(deps.pacer, window);
  }

  /** The state of the resource and its recent past. */
  get state(): KnownState {
    return this.#state;
  }

  get watchers(): number {
    return this.#cursors.size;
  }

  /** Where each watcher is that has not got everything: parked, catching up, or waiting for its turn. */
  positionsBehind(): readonly number[] {
    const positions: number[] = [];
    for (const cursor of this.#cursors) if (cursor.isBehind) positions.push(cursor.position);
    return positions;
  }

  /** Events that watchers of the latest state were spared. */
  get coalesced(): number {
    return this.#coalesced;
  }

  /** All changes of `revision`. Not seen by watchers before `dispatch`. */
  apply(revision: number, changes: readonly Change[]): void {
    const events = this.#state.apply(revision, changes);
    if (this.#cursors.size > 0 || this.#views.size > 0) this.#undelivered.push(...events);
  }

  /** Everything up to `revision` is included: the resource did not change since. */
  advance(revision: number): void {
    if (revision <= this.#state.revision) return;
    this.#state.advance(revision);
    if (this.#undelivered.length === 0) this.#delivered = revision;
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

  /** Everybody here waits for a turn. */
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

  /** Brings a slice that waited to where everybody else is. */
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

  /** Who selects by place only selects what its slice does: its predicate is not even looked at. */
  #serveAlike(slice: Slice, first: Cursor, events: RingEvents, last: number): void {
    const base = slice.behindAt ?? this.#delivered;
    const { items, coalesced } = this.#home.selection.of(events, first);
    for (const cursor of slice.cursors) {
      cursor.offer(items, base, last);
      if (coalesced > 0 && cursor.live) this.#coalesced += coalesced;
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

  /** Starts at once: initial events may reach the sink before this returns. */
  watch(options: CacheWatchOptions, sink: WatchSink): Cursor {
    const { predicate, bookmarks } = options;
    const latest = options.latest === true && this.#pacer !== undefined;
    const view =
      options.checksums === true
        ? this.#views.join(predicate, () => this.#state.snapshot())
        : undefined;
    const cursor = new Cursor(
      { home: this.#home, predicate, sink },
      { id: this.#cursorCount++, bookmarks, latest, view, start: this.#start(options, view) },
    );
    this.#cursors.add(cursor);
    cursor.resume();
    return cursor;
  }

  /** What `predicate` selects of what was dispatched; kept up from the first call on. */
  viewState(predicate: Predicate): ViewState | undefined {
    return this.#views.keep(predicate, () => this.#state.snapshot())?.state;
  }

  /** Bookmarks for the cursors of one of `slots` equal shares. */
  bookmark(slot: number, slots: number): void {
    for (const cursor of this.#cursors) if (cursor.id % slots === slot) cursor.bookmark();
  }

  /** The feed lost its place: watchers are told `error`, and the state starts anew. */
  reset(initial: InitialState, error: Error): void {
    this.end(error);
    this.#views.clear();
    this.#undelivered = [];
    this.#state.reset(initial);
    this.#delivered = initial.revision;
  }

  get bookmarksDue(): boolean {
    return this.#due.size > 0;
  }

  /** All of the newest revision is here, and dispatched. */
  payBookmarks(): void {
    const due = [...this.#due];
    this.#due.clear();
    for (const cursor of due) cursor.bookmark();
  }

  /**
   * The feed jumped over `lost` positions, and what came and went there it does not know: ends the watches
   * that began at one, whose clients may know of it from elsewhere.
   */
  expireStarts(lost: (position: number) => boolean, error: Error): void {
    for (const cursor of this.#cursors) if (lost(cursor.startedAfter)) cursor.end(error);
  }

  /** Ends every watch; `error` as WatchSink.end. */
  end(error?: Error): void {
    for (const cursor of this.#cursors) cursor.end(error);
  }

  #start(options: CacheWatchOptions, view: ViewSum | undefined): CursorStart {
    if (options.start !== "state") return { kind: "after", revision: options.start.after };
    const isNow = this.#undelivered.length === 0 || view?.position === this.#state.revision;
    const marker = options.marker ?? options.bookmarks;
    return {
      kind: "state",
      ...this.#state.snapshot(),
      marker,
      view: isNow ? view?.state : undefined,
    };
  }

  #indexOf(cursor: Cursor): CursorIndex {
    return cursor.latest ? this.#paced : this.#index;
  }

  #makeHome(whole: () => boolean): CursorHome {
    return {
      whole,
      bookmarkDue: (cursor) => void this.#due.add(cursor),
      revision: () => this.#state.revision,
      delivered: () => this.#delivered,
      floor: () => this.#state.floor,
      history: this.history,
      selection: new SharedSelection(),
      ringAfter: (after, latest) => this.#state.ringAfter(after, this.#state.revision, latest),
      enlist: (cursor) => this.#indexOf(cursor).add(cursor),
      retire: (cursor, slice) => this.#indexOf(cursor).remove(cursor, slice),
      coalesced: (events) => void (this.#coalesced += events),
      ended: (cursor) => {
        this.#cursors.delete(cursor);
        this.#due.delete(cursor);
        if (cursor.view !== undefined) this.#views.leave(cursor.view);
      },
    };
  }
}

/**
 * Where the run of whole revisions from `start` on ends that is brought to watchers at once: however
 * much came together, a watcher is handed about `batchBytesMax` before its sink may refuse the rest.
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

/** To those who do not wait for a turn. */
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
