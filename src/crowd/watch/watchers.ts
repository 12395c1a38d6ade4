/**
 * All watchers of one cache: their cursors, bookmarks and checksums. The cursors reach the cache through it.
 *
 * Holds  a cursor that is not listed here has ended. A bookmark that could not be sent because parts of the
 *        newest revision may be missing stays due until the feed reports that these parts have arrived.
 */
import { assert } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import { onNextTurn } from "#platform/pace.ts";
import { wholeRevision } from "./cache-event.ts";
import type { KnownState } from "./cache-state.ts";
import { Cursor, type CursorHome, type CursorSlice, type CursorStart } from "./cursor.ts";
import { CursorTurns } from "./cursor-turns.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { History } from "./history.ts";
import type { Predicate } from "./predicate.ts";
import type { SharedSelection } from "./shared-selection.ts";
import type { ViewSum, ViewSums } from "./view-sum.ts";
import type { WatchSink } from "./watch-item.ts";

export interface WatchOptions {
  readonly predicate: Predicate;
  readonly bookmarks: boolean;
  /** Start strictly after a revision, or with the current state as ADDED events. */
  readonly start: { readonly after: number } | "state";
  /** Ends the initial events with an annotated bookmark; absent: only when bookmarks are requested. */
  readonly marker?: boolean;
  /** Bookmarks carry count and checksum of the selected objects. */
  readonly checksums?: boolean;
  /** At most one event per key and window, as `latest.ts` says. */
  readonly latest?: boolean;
}

interface WatchersDeps {
  readonly clock: Clock;
  readonly state: KnownState;
  readonly history: History;
  readonly dispatcher: Dispatcher;
  readonly views: ViewSums;
  /** False while changes of the newest revision may be missing. */
  readonly isWhole: () => boolean;
}

export class Watchers implements CursorHome {
  readonly state: KnownState;
  readonly history: History;
  readonly selection: SharedSelection;
  readonly #clock: Clock;
  readonly #dispatcher: Dispatcher;
  readonly #views: ViewSums;
  readonly #isWhole: () => boolean;
  readonly #cursors = new Set<Cursor>();
  readonly #bookmarksDue = new Set<Cursor>();
  readonly #turns: CursorTurns;
  #startedCount = 0;

  constructor({ clock, state, history, dispatcher, views, isWhole }: WatchersDeps) {
    this.#clock = clock;
    this.#turns = new CursorTurns(clock);
    this.state = state;
    this.history = history;
    this.selection = dispatcher.selection;
    this.#dispatcher = dispatcher;
    this.#views = views;
    this.#isWhole = isWhole;
  }

  get count(): number {
    return this.#cursors.size;
  }

  /** Positions of watchers that are behind: their sink is full, they are catching up, or they wait for a turn. */
  positionsBehind(): readonly number[] {
    const positions: number[] = [];
    for (const cursor of this.#cursors) if (cursor.isBehind) positions.push(cursor.position);
    return positions;
  }

  /** Starts a watch. Initial events may reach the sink before this returns. */
  watch(options: WatchOptions, sink: WatchSink): Cursor {
    const { predicate, bookmarks } = options;
    const latest = options.latest === true && this.#dispatcher.servesLatest;
    const view =
      options.checksums === true
        ? this.#views.join(predicate, () => this.state.snapshot())
        : undefined;
    const cursor = new Cursor(
      { home: this, predicate, sink },
      { id: this.#startedCount++, bookmarks, latest, view, start: this.#start(options, view) },
    );
    this.#cursors.add(cursor);
    cursor.resume();
    return cursor;
  }

  #start(options: WatchOptions, view: ViewSum | undefined): CursorStart {
    if (options.start !== "state") return { kind: "after", revision: options.start.after };
    const isNow = !this.#dispatcher.hasPending || view?.position === this.state.revision;
    const marker = options.marker ?? options.bookmarks;
    return {
      kind: "state",
      ...this.state.snapshot(),
      marker,
      view: isNow ? view?.state : undefined,
    };
  }

  /** Sends bookmarks to the cursors of one of `slots` equal shares. */
  bookmark(slot: number, slots: number): void {
    for (const cursor of this.#cursors) if (cursor.id % slots === slot) cursor.bookmark();
  }

  get hasBookmarksDue(): boolean {
    return this.#bookmarksDue.size > 0;
  }

  /** Sends the delayed bookmarks: the newest revision is complete and dispatched. */
  payBookmarks(): void {
    const due = [...this.#bookmarksDue];
    this.#bookmarksDue.clear();
    for (const cursor of due) cursor.bookmark();
  }

  /** Ends the watches whose start position is `lost`. */
  expireStarts(lost: (position: number) => boolean, error: Error): void {
    for (const cursor of this.#cursors) if (lost(cursor.startedAfter)) cursor.end(error);
  }

  /** Cancels all timers. */
  close(): void {
    this.#turns.close();
  }

  /** Ends every watch. `error` is passed on as in WatchSink.end. */
  end(error?: Error): void {
    for (const cursor of this.#cursors) cursor.end(error);
  }

  get dispatched(): number {
    return this.#dispatcher.dispatched;
  }

  join(cursor: Cursor): CursorSlice {
    return this.#dispatcher.join(cursor);
  }

  leave(cursor: Cursor, slice: CursorSlice): void {
    this.#dispatcher.leave(cursor, slice);
  }

  admitBookmark(cursor: Cursor, revision: number): boolean {
    if (revision < wholeRevision(this.state.revision) || this.#isWhole()) return true;
    this.#bookmarksDue.add(cursor);
    return false;
  }

  proceedLater(cursor: Cursor): void {
    if (cursor.isCostly) this.#turns.add(cursor);
    else onNextTurn(this.#clock, () => cursor.proceed());
  }

  ended(cursor: Cursor): void {
    assert(this.#cursors.delete(cursor), "a cursor ended twice");
    this.#bookmarksDue.delete(cursor);
    if (cursor.view !== undefined) this.#views.leave(cursor.view);
  }
}
