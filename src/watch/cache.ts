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
import {
  CacheState,
  type KnownState,
  type Change,
  type InitialState,
  type StateOptions,
} from "./cache-state.ts";
import type { CursorHome, CursorStart } from "./cursor.ts";
import { Cursor } from "./cursor.ts";
import type { CrowdOptions } from "./crowd.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { History } from "./history.ts";
import type { Predicate } from "./predicate.ts";
import type { PacerOptions } from "./pacer.ts";
import { type DigestOf, type ViewSum, ViewSums } from "./view-sum.ts";
import type { ViewState, WatchSink } from "./watch-item.ts";

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
  /** Absent: watchers that ask for the latest state only get every event. */
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

export class WatchCache {
  readonly history: History;
  readonly #state: CacheState;
  readonly #dispatcher: Dispatcher;
  readonly #cursors = new Set<Cursor>();
  /** Cursors whose bookmark waits for the rest of the newest revision. */
  readonly #due = new Set<Cursor>();
  readonly #views: ViewSums;
  readonly #home: CursorHome;
  #cursorCount = 0;

  constructor(deps: CacheDeps, initial: InitialState, options: CacheOptions) {
    this.history = deps.history;
    this.#state = new CacheState(initial, options);
    this.#views = new ViewSums(deps.digestOf);
    const { crowd, pacer } = deps;
    const parts = { state: this.#state, views: this.#views, crowd, pacer };
    this.#dispatcher = new Dispatcher(parts, options);
    this.#home = this.#makeHome(deps.whole ?? (() => true), crowd?.nextTurn);
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
    return this.#dispatcher.coalesced;
  }

  /** All changes of `revision`. Not seen by watchers before `dispatch`. */
  apply(revision: number, changes: readonly Change[]): void {
    const events = this.#state.apply(revision, changes);
    if (this.#cursors.size > 0 || this.#views.size > 0) this.#dispatcher.take(events);
  }

  /** Everything up to `revision` is included: the resource did not change since. */
  advance(revision: number): void {
    if (revision <= this.#state.revision) return;
    this.#state.advance(revision);
    this.#dispatcher.advanced();
  }

  /** History before `revision` is gone: lets go of what only that would need. */
  forgetBefore(revision: number): void {
    this.#state.forgetBefore(revision);
    this.#dispatcher.selection.forget();
  }

  /** Brings what was applied since the last dispatch to the live cursors it concerns. */
  dispatch(): void {
    this.#dispatcher.dispatch();
  }

  /** Starts at once: initial events may reach the sink before this returns. */
  watch(options: CacheWatchOptions, sink: WatchSink): Cursor {
    const { predicate, bookmarks } = options;
    const latest = options.latest === true && this.#dispatcher.paces;
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

  /** The feed lost its position: ends all watches with `error` and replaces the state. */
  reset(initial: InitialState, error: Error): void {
    this.end(error);
    this.#views.clear();
    this.#state.reset(initial);
    this.#dispatcher.reset();
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
   * The feed skipped positions, so it missed objects created and deleted there. Ends the watches that
   * began at a `lost` position: their clients may hold such objects from another replica.
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
    const isNow = !this.#dispatcher.pending || view?.position === this.#state.revision;
    const marker = options.marker ?? options.bookmarks;
    return {
      kind: "state",
      ...this.#state.snapshot(),
      marker,
      view: isNow ? view?.state : undefined,
    };
  }

  #makeHome(whole: () => boolean, nextTurn: CrowdOptions["nextTurn"] | undefined): CursorHome {
    const dispatcher = this.#dispatcher;
    return {
      restOf(cursor) {
        nextTurn?.(() => cursor.resume());
        return nextTurn === undefined;
      },
      whole,
      bookmarkDue: (cursor) => void this.#due.add(cursor),
      revision: () => this.#state.revision,
      delivered: () => dispatcher.delivered,
      floor: () => this.#state.floor,
      history: this.history,
      selection: dispatcher.selection,
      ringAfter: (after, latest) => this.#state.ringAfter(after, this.#state.revision, latest),
      enlist: (cursor) => dispatcher.enlist(cursor),
      retire: (cursor, slice) => dispatcher.retire(cursor, slice),
      coalesced: (events) => void (dispatcher.coalesced += events),
      ended: (cursor) => {
        this.#cursors.delete(cursor);
        this.#due.delete(cursor);
        if (cursor.view !== undefined) this.#views.leave(cursor.view);
      },
    };
  }
}
