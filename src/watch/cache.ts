/**
 * Watch cache of one resource: its state, its recent past, and the watchers of both.
 *
 * In     whole revisions in rising order (`apply`), then `dispatch`; `advance` when a revision is
 *        known to hold nothing for this resource.
 * Holds  for every r in [floor, revision]: state(r) = state(floor) + events in (floor, r].
 * Out    the same items to every cursor concerned; a cursor whose sink refuses is read from the ring
 *        when the sink asks, from history below the ring, and 410 only where history ends.
 * Cost   apply O(log n); dispatch: buckets of the event and the cursors in them; a snapshot is two
 *        pointers until the next write.
 * Bounds ring items and bytes; pinned snapshots. State is as large as the resource.
 * Why not a queue per watcher: 10,000 watchers x 1,000 events are 10 M references; 10,000 cursors
 * are 10,000 numbers, and a slow one costs the others nothing.
 */
import { assert } from "#base/assert.ts";
import { CacheEvent } from "./cache-event.ts";
import type { CursorHome, CursorStart } from "./cursor.ts";
import { Crowd, type CrowdOptions, sliceCursorsMax } from "./crowd.ts";
import { Cursor } from "./cursor.ts";
import type { Bucket } from "./cursor-index.ts";
import { CursorIndex } from "./cursor-index.ts";
import { Pacer, type PacerOptions } from "./pacer.ts";
import type { Slice, Slices } from "./slice.ts";
import { batchBytesMax, EventRing } from "./event-ring.ts";
import type { History } from "./history.ts";
import type { Predicate } from "./predicate.ts";
import type { SharedObject } from "./shared-object.ts";
import { SharedSelection } from "./shared-selection.ts";
import { SortedSet } from "./sorted-set.ts";
import { type DigestOf, type ViewSum, ViewSums } from "./view-sum.ts";
import type { ViewState, WatchItem, WatchSink } from "./watch-item.ts";

/** One object's change: `next` undefined deletes `key`. */
export interface Change {
  readonly key: string;
  readonly next: SharedObject | undefined;
}

export interface CacheOptions {
  readonly ringItemsMax: number;
  readonly ringBytesMax: number;
  /** Snapshots kept for paginated lists, the least recently used first to go. */
  readonly pinnedMax: number;
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

/** The state at one revision; never changes. */
export interface Snapshot {
  readonly revision: number;
  readonly objects: SortedSet<SharedObject>;
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

/** Half a millisecond or so. */
const rehomeStep = 256;

type RingEvents = readonly CacheEvent[];

interface RingRead {
  readonly after: number;
  readonly upTo: number;
  readonly latest: boolean;
  readonly events: RingEvents;
}

/** Whoever has no turns to give serves everybody at once. */
const noTurns: CrowdOptions = {
  nextTurn: (f) => f(),
  crowdCursorsMin: Number.POSITIVE_INFINITY,
};

export class WatchCache {
  readonly history: History;
  readonly #options: CacheOptions;
  #objects: SortedSet<SharedObject>;
  #ring: EventRing;
  #revision: number;
  #delivered: number;
  #changedAt = 0;
  #bytes = 0;
  #undelivered: CacheEvent[] = [];
  readonly #index: CursorIndex;
  /** Those that are served once per window. */
  readonly #paced: CursorIndex;
  readonly #pacer: Pacer | undefined;
  readonly #cursors = new Set<Cursor>();
  readonly #pinned = new Map<number, Snapshot>();
  /** Cursors whose bookmark waits for the rest of the newest revision. */
  readonly #due = new Set<Cursor>();
  readonly #views: ViewSums;
  readonly #home: CursorHome;
  readonly #crowd: Crowd;
  /** The last read of the ring: a crowd's cursors ask for the same, one after the other. */
  #lastRead: RingRead | undefined;
  #cursorCount = 0;
  #coalesced = 0;

  /** `objects` are the state at `revision`, in key order. */
  constructor(
    deps: CacheDeps,
    initial: { objects: readonly SharedObject[]; revision: number },
    options: CacheOptions,
  ) {
    this.history = deps.history;
    this.#options = options;
    const { indexedField } = options;
    const index = { indexedField, sliceCursorsMax: deps.crowd?.sliceCursorsMax ?? sliceCursorsMax };
    this.#index = new CursorIndex(index);
    this.#paced = new CursorIndex(index);
    this.#views = new ViewSums(deps.digestOf);
    this.#objects = SortedSet.from(initial.objects);
    this.#bytes = bytesOf(initial.objects);
    this.#revision = this.#delivered = initial.revision;
    this.#ring = this.#newRing();
    this.#home = this.#makeHome(deps.whole ?? (() => true));
    this.#crowd = new Crowd(deps.crowd ?? noTurns, (slice) => this.#serve(slice));
    const window = (due: Iterable<Slice>): void => this.#serveSoon(due);
    this.#pacer = deps.pacer === undefined ? undefined : new Pacer(deps.pacer, window);
  }

  /** Newest revision known to be included. */
  get revision(): number {
    return this.#revision;
  }

  /** Revision of the last change of this resource since the start; 0 when there was none. */
  get changedAt(): number {
    return this.#changedAt;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Of the current state, as stored. */
  get bytes(): number {
    return this.#bytes;
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

  /** Highest revision whose events may have left the ring. */
  get floor(): number {
    return this.#ring.floor;
  }

  get(key: string): SharedObject | undefined {
    return this.#objects.get(key);
  }

  /** Whether the ring knows of a change of `key` at `revision`: tells a repeated event from a new one. */
  holds(revision: number, key: string): boolean {
    return this.#ring.holds(revision, key);
  }

  /** Visits current objects in [from, to) in key order until `visit` returns false. */
  scan(from: string, to: string, visit: (object: SharedObject) => boolean): void {
    this.#objects.scan(from, to, visit);
  }

  /** All changes of `revision`. Not seen by watchers before `dispatch`. */
  apply(revision: number, changes: readonly Change[]): void {
    assert(revision > this.#revision, "revisions must rise", { revision, at: this.#revision });
    this.#revision = this.#changedAt = revision;
    const events: CacheEvent[] = [];
    for (const { key, next } of changes) {
      const previous = next === undefined ? this.#objects.delete(key) : this.#objects.set(next);
      if (next !== undefined || previous !== undefined) {
        this.#bytes += (next?.value.length ?? 0) - (previous?.value.length ?? 0);
        events.push(new CacheEvent(revision, key, next, previous));
      }
    }
    this.#ring.push(events);
    if (this.#cursors.size > 0 || this.#views.size > 0) this.#undelivered.push(...events);
  }

  /** Everything up to `revision` is included: the resource did not change since. */
  advance(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    if (this.#undelivered.length === 0) this.#delivered = revision;
  }

  /** Brings what was applied since the last dispatch to the live cursors it concerns. */
  dispatch(): void {
    const base = this.#delivered;
    const last = this.#revision;
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
      if (at < this.#ring.floor) return this.#dissolve(slice, at);
      const events = this.#ringAfter(at, this.#delivered, latest);
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

  #ringAfter(after: number, upTo: number, latest: boolean): RingEvents {
    const known = this.#lastRead;
    if (known?.after === after && known.upTo === upTo && known.latest === latest) {
      return known.events;
    }
    const ring = this.#ring;
    const events = latest ? ring.afterForLatest(after, upTo) : ring.after(after, upTo);
    if (events.length > 0) this.#lastRead = { after, upTo, latest, events };
    return events;
  }

  /** The current state, as a value. */
  snapshot(): Snapshot {
    return { revision: this.#revision, objects: this.#objects.snapshot() };
  }

  /**
   * The state at `revision`, when the ring still reaches there; undefined below its floor. Kept for
   * the next page until `pinnedMax` younger ones were asked for.
   */
  snapshotAt(revision: number): Snapshot | undefined {
    assert(revision <= this.#revision, "snapshot of the future", { revision, at: this.#revision });
    const snapshot = this.#pinned.get(revision) ?? this.#rewound(revision);
    if (snapshot === undefined) return undefined;
    this.pin(snapshot);
    return snapshot;
  }

  /** Keeps `snapshot` at hand for snapshotAt. */
  pin(snapshot: Snapshot): void {
    this.#pinned.delete(snapshot.revision);
    this.#pinned.set(snapshot.revision, snapshot);
    for (const oldest of this.#pinned.keys()) {
      if (this.#pinned.size <= this.#options.pinnedMax) return;
      this.#pinned.delete(oldest);
    }
  }

  /** Lets go of pinned snapshots below `revision`: history before it is gone. */
  forgetBefore(revision: number): void {
    for (const pinned of this.#pinned.keys()) if (pinned < revision) this.#pinned.delete(pinned);
  }

  /**
   * The store forgets what is below `mark`, and empties the blocks it lay in: what is kept here for
   * longer must not hold them. The state goes where `stored` finds it now, the past to copies, at most
   * `ringBytesMax` of them. A step is `rehomeStep` objects.
   */
  *rehome(mark: number, stored: (object: SharedObject) => Uint8Array | undefined): Generator<void> {
    const isCurrent = (object: SharedObject): boolean => this.#objects.get(object.key) === object;
    let steps = 0;
    for (const event of this.#ring.upTo(mark)) {
      event.rehome(mark, isCurrent);
      if (++steps % rehomeStep === 0) yield;
    }
    // The state may change between steps; a snapshot does not, and whoever left it needs no home.
    for (const object of this.#objects.snapshot()) {
      if (object.revision <= mark && isCurrent(object)) object.rehome(mark, stored(object));
      if (++steps % rehomeStep === 0) yield;
    }
  }

  /** Starts at once: initial events may reach the sink before this returns. */
  watch(options: CacheWatchOptions, sink: WatchSink): Cursor {
    const { predicate, bookmarks } = options;
    const latest = options.latest === true && this.#pacer !== undefined;
    const view =
      options.checksums === true ? this.#views.join(predicate, () => this.snapshot()) : undefined;
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
    return this.#views.keep(predicate, () => this.snapshot())?.state;
  }

  /** Bookmarks for the cursors of one of `slots` equal shares. */
  bookmark(slot: number, slots: number): void {
    for (const cursor of this.#cursors) if (cursor.id % slots === slot) cursor.bookmark();
  }

  /** The feed lost its place: watchers are told `error`, and the state starts anew. */
  reset(initial: { objects: readonly SharedObject[]; revision: number }, error: Error): void {
    this.end(error);
    this.#views.clear();
    this.#pinned.clear();
    this.#undelivered = [];
    this.#lastRead = undefined;
    this.#objects = SortedSet.from(initial.objects);
    this.#bytes = bytesOf(initial.objects);
    this.#revision = this.#delivered = initial.revision;
    this.#ring = this.#newRing();
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

  #newRing(): EventRing {
    const { ringItemsMax: itemsMax, ringBytesMax: bytesMax } = this.#options;
    return new EventRing(this.#revision, { itemsMax, bytesMax });
  }

  #start(options: CacheWatchOptions, view: ViewSum | undefined): CursorStart {
    if (options.start !== "state") return { kind: "after", revision: options.start.after };
    const isNow = this.#undelivered.length === 0 || view?.position === this.#revision;
    const marker = options.marker ?? options.bookmarks;
    return { kind: "state", ...this.snapshot(), marker, view: isNow ? view?.state : undefined };
  }

  /** The present with every event above `revision` undone. */
  #rewound(revision: number): Snapshot | undefined {
    if (revision < this.#ring.floor) return undefined;
    const objects = this.#objects.snapshot();
    this.#ring.newestFirst(revision, (event) => {
      if (event.previous === undefined) objects.delete(event.key);
      else objects.set(event.previous);
    });
    return { revision, objects };
  }

  #indexOf(cursor: Cursor): CursorIndex {
    return cursor.latest ? this.#paced : this.#index;
  }

  #makeHome(whole: () => boolean): CursorHome {
    return {
      whole,
      bookmarkDue: (cursor) => void this.#due.add(cursor),
      revision: () => this.#revision,
      delivered: () => this.#delivered,
      floor: () => this.#ring.floor,
      history: this.history,
      selection: new SharedSelection(),
      ringAfter: (after, latest) => this.#ringAfter(after, this.#revision, latest),
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

function bytesOf(objects: readonly SharedObject[]): number {
  return objects.reduce((sum, object) => sum + object.value.length, 0);
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
