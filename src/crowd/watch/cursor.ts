/**
 * One watcher: a position in its resource's history and a predicate. It owns no queue.
 *
 * Why not a queue per watcher, filled at each event: an event would cost an append for every watcher,
 * also for slow and departed ones. Each queue would need a bound, and a full queue can only cut the watch or
 * leave a gap. The ring holds each event once, and a position is one number: a slow watcher costs nothing.
 *
 *   initial --state sent--> behind --reached the head--> live
 *                            |  ^                         |
 *              below the ring|  |inside the ring again    | sink refused a batch: position = before it
 *                            v  |                         v
 *                          history                      behind
 *   any --close, compacted, shutdown--> ended
 *
 * `live`     its position is that of its slice (the cache's own, unless the slice waits for its turn); the cursor
 *            gets every batch that concerns it.
 * `behind`   reads the ring from its position when the sink asks (`resume`), then becomes live.
 * `history`  its position is below the ring: it reads older events from the feed's history.
 *
 * Invariant: the sink got every matching event in (start, #after], once and in revision order, or
 * `end(410)`. Work is done on the caller's stack. A call that arrives during other work only sets `#again`, so a
 * sink may call back from inside `deliver`.
 */
import { assert } from "#base/assert.ts";
import { expiredError } from "#api/status.ts";
import { madePortion, restWeight, sendWeight, turnWeightMax } from "./batch-weight.ts";
import type { CacheEvent } from "./cache-event.ts";
import { watchItem } from "./cache-event.ts";
import type { KnownState } from "./cache-state.ts";
import type { History, HistoryReader } from "./history.ts";
import { InitialEvents, type StateStart } from "./initial-events.ts";
import { judgedPortion, lookupsOf, lookupsPerTurn } from "./judged-portion.ts";
import type { Predicate } from "./predicate.ts";
import type { SharedSelection } from "./shared-selection.ts";
import type { ViewSum } from "./view-sum.ts";
import type { ViewState, WatchItem, WatchSink } from "./watch-item.ts";

/** The part of the cache that a cursor uses: what it reads, and the dispatch that serves live cursors. */
export interface CursorHome {
  /** State and ring, with everything that was applied. */
  readonly state: KnownState;
  /** Events that are older than the ring. */
  readonly history: History;
  /** Converts events to watch items, once for all cursors with the same selection. */
  readonly selection: SharedSelection;
  /** Every event up to this revision has been delivered to live cursors, except those whose slice waits for a turn. */
  readonly dispatched: number;
  /** From now on dispatch serves `cursor` as part of the returned slice; `leave` reverses this. */
  join(cursor: Cursor): CursorSlice;
  leave(cursor: Cursor, slice: CursorSlice): void;
  /** Calls `proceed` of `cursor` in a later turn of the loop. */
  proceedLater(cursor: Cursor): void;
  /** Whether a bookmark may name `revision` now. If not, `cursor` is called again when it may. */
  admitBookmark(cursor: Cursor, revision: number): boolean;
  ended(cursor: Cursor): void;
}

/** The slice of a live cursor, as the cursor sees it. */
export interface CursorSlice {
  readonly cursors: Set<Cursor>;
  /** Position of the slice's cursors; undefined: they are at the dispatched position. */
  readonly behindAt: number | undefined;
  /** Sends `cursor` a bookmark once the slice has reached the dispatched position. */
  bookmarkLater(cursor: Cursor): void;
}

export type CursorStart = { readonly kind: "after"; readonly revision: number } | StateStart;

/** A cursor that evaluated this many look-ups without sending anything yields before it continues. */
const restLookups = lookupsPerTurn / 4;
/** Converts look-ups to weight, so that a turn of selectors takes as long as a turn of building forms. */
const weightPerLookup = turnWeightMax / lookupsPerTurn;

type Phase = "initial" | "behind" | "history" | "live" | "ended";

export class Cursor {
  readonly predicate: Predicate;
  readonly bookmarks: boolean;
  /** At most one event per key in a batch. */
  readonly latest: boolean;
  /** Count and checksum for its bookmarks; undefined when the client did not ask for them. */
  readonly view: ViewSum | undefined;
  /** Decides in which slot of the bookmark period this cursor gets its bookmark. */
  readonly id: number;
  /** 0: the watch started with the current state. */
  readonly startedAfter: number;
  readonly #home: CursorHome;
  readonly #sink: WatchSink;
  #phase: Phase;
  /**
   * A revision; it never falls. `behind` and `history`: every matching event in (start, #after] was delivered, and
   * #after <= state.revision. `live`: as it was when the cursor joined its slice; `position` counts. `initial`: the
   * revision of the state that is being sent.
   */
  #after: number;
  /** The part of the state that is still to be sent; defined only in phase `initial`. */
  #initial: InitialEvents | undefined;
  /** Defined only in phase `history`; #after <= its position. */
  #reader: HistoryReader | undefined;
  /** A call to this cursor is on the stack; nested calls set `#again` and return. */
  #busy = false;
  /** Work came while `#busy`: the call under way looks again before it returns. */
  #again = false;
  /** The home has scheduled `proceed` for a later turn. */
  #isDue = false;
  /**
   * Number of look-ups that its selectors made in this turn, plus the weight of what its sink made, in look-ups. At
   * most `lookupsPerTurn` and one revision more.
   */
  #lookups = 0;
  /** The slice with which dispatch serves this cursor; defined only in phase `live`. */
  #slice: CursorSlice | undefined;

  constructor(
    deps: { home: CursorHome; predicate: Predicate; sink: WatchSink },
    options: {
      id: number;
      bookmarks: boolean;
      latest: boolean;
      view: ViewSum | undefined;
      start: CursorStart;
    },
  ) {
    this.#home = deps.home;
    this.predicate = deps.predicate;
    this.#sink = deps.sink;
    this.id = options.id;
    this.bookmarks = options.bookmarks;
    this.latest = options.latest;
    this.view = options.view;
    const { start } = options;
    this.#after = start.revision;
    this.startedAfter = start.kind === "after" ? start.revision : 0;
    this.#initial =
      start.kind === "state" ? new InitialEvents(start, deps.predicate, this.#isMaking) : undefined;
    this.#phase = this.#initial === undefined ? "behind" : "initial";
  }

  get live(): boolean {
    return this.#phase === "live";
  }

  /** Whether `position` is below the dispatched position: the sink is full, the cursor is still reading, or its slice waits. */
  get isBehind(): boolean {
    return !this.live || this.#slice?.behindAt !== undefined;
  }

  /** Every event up to this revision was delivered. */
  get position(): number {
    if (!this.live) return this.#after;
    return Math.max(this.#after, this.#slice?.behindAt ?? this.#home.dispatched);
  }

  /** Whether evaluating its selector or building its sink's form is expensive; such cursors share slices of their own. */
  get isCostly(): boolean {
    return this.predicate.isLong || this.#isMaking;
  }

  get #isMaking(): boolean {
    return this.#sink.isMaking === true;
  }

  /** Starts, or continues after the sink refused a batch. A cursor with a long selector continues in a turn with similar ones. */
  resume(): void {
    if (this.predicate.isLong) this.#proceedLater();
    else this.#proceed();
  }

  /** Called by the home when the cursor's turn has come. @returns the number of look-ups used. */
  proceed(): number {
    this.#isDue = false;
    this.#lookups = 0;
    this.#proceed();
    return this.#lookups;
  }

  #proceed(): void {
    if (this.#phase === "history" && !this.#busy) this.#reader?.resume();
    else this.#drain();
  }

  #proceedLater(): void {
    if (this.#isDue || this.#phase === "ended") return;
    this.#isDue = true;
    this.#home.proceedLater(this);
  }

  /**
   * Takes a batch of everything that concerns this cursor in (base, last], from dispatch.
   * A cursor that is already beyond `last` was started, or caught up, while dispatch ran.
   */
  offer(items: readonly WatchItem[], base: number, last: number): void {
    if (this.#phase !== "live" || this.#after >= last) return;
    if (this.#after > base) {
      this.#fallBehind(this.#after);
      this.resume();
      return;
    }
    if (items.length === 0) return;
    if (this.#isMaking && weightOf(items) > turnWeightMax) return this.#readInPortions(base);
    if (this.#deliver(items)) return;
    if (this.#phase === "live") this.#fallBehind(base);
    if (this.#again) this.resume();
  }

  /** Reads the ring in portions, one per turn, because the sink cannot build all forms in one turn. */
  #readInPortions(base: number): void {
    this.#fallBehind(base);
    this.#proceedLater();
  }

  /** Delivers the events of (base, last] from the ring; otherwise like `offer`. */
  serve(events: readonly CacheEvent[], base: number, last: number): void {
    const { selection } = this.#home;
    const { items, coalesced } = selection.of(events, this);
    this.offer(items, base, last);
    if (coalesced > 0 && this.#phase === "live") selection.coalesced += coalesced;
  }

  /** Moves a live cursor at position `base` to phase `behind`, from which it reads the ring later. */
  fallBehind(base: number): void {
    if (this.#phase === "live") this.#fallBehind(base);
  }

  /** Sends a bookmark at the current position if the client wants bookmarks and the position is known. */
  bookmark(): void {
    this.#leaveHistoryWhenRead();
    if (!this.bookmarks || this.#phase === "initial" || this.#phase === "ended") return;
    if (this.#slice?.behindAt !== undefined) return this.#slice.bookmarkLater(this);
    const revision = this.position;
    if (!this.#home.admitBookmark(this, revision)) return;
    this.#deliver([{ ...watchItem("BOOKMARK", undefined, revision), ...this.#viewAt(revision) }]);
  }

  /** The checksum at the dispatched position. Only valid for a cursor at that position. */
  #viewAt(revision: number): { view?: ViewState } {
    const { view } = this;
    if (view === undefined || !this.live || this.#after > this.#home.dispatched) return {};
    const { state } = view;
    return state !== undefined && view.position <= revision ? { view: state } : {};
  }

  close(): void {
    if (this.#phase === "ended") return;
    this.#leave();
    this.#phase = "ended";
    this.#initial = undefined;
    this.#reader?.close();
    this.#reader = undefined;
    this.#home.ended(this);
  }

  /** Ends the watch and informs the sink. */
  end(error?: Error): void {
    if (this.#phase === "ended") return;
    this.close();
    this.#sink.end(error);
  }

  #deliver(items: readonly WatchItem[]): boolean {
    const outer = this.#busy;
    this.#busy = true;
    if (!outer) this.#again = false;
    const taken = this.#sink.deliver(items);
    this.#busy = outer;
    return taken;
  }

  #leave(): void {
    if (this.#slice !== undefined) this.#home.leave(this, this.#slice);
    this.#slice = undefined;
  }

  #fallBehind(after: number): void {
    this.#leave();
    this.#phase = "behind";
    this.#after = Math.max(this.#after, after);
  }

  #drain(): void {
    this.#again = true;
    if (this.#busy) return;
    this.#busy = true;
    while (this.#again) {
      this.#again = false;
      while (this.#step());
    }
    this.#busy = false;
  }

  /** @returns false when there is nothing to do until the sink, dispatch or history calls again. */
  #step(): boolean {
    switch (this.#phase) {
      case "initial":
        return this.#stepInitial();
      case "behind":
        return this.#stepBehind();
      case "history":
      case "live":
      case "ended":
        return false;
    }
  }

  #stepInitial(): boolean {
    const initial = this.#initial;
    if (initial === undefined) return false;
    const { items, next, lookups, weight } = initial.batch();
    if (items.length > 0 && !this.#deliver(items)) return false;
    if (this.#phase !== "initial") return false;
    initial.taken(next);
    if (next === undefined) {
      this.#initial = undefined;
      this.#phase = "behind";
    }
    if (!this.#hasWeightLeft(weight)) return false;
    // The whole batch was parsed, even if the selector is short.
    const parsed = next === undefined ? lookups : Math.max(lookups, restLookups);
    return this.#hasTurnLeft(parsed, items.length);
  }

  /** A sink that has built forms of this weight continues in a later turn. */
  #hasWeightLeft(weight: number): boolean {
    if (!this.#isMaking) return true;
    this.#lookups += weight / weightPerLookup;
    if (weight < restWeight) return true;
    this.#proceedLater();
    return false;
  }

  /** Normally the sink yields between batches, but a selector that matches nothing never fills a batch. */
  #hasTurnLeft(lookups: number, items: number): boolean {
    this.#lookups += lookups;
    const { selective, isLong } = this.predicate;
    if (!selective || (items > 0 && !isLong) || lookups < restLookups) return true;
    this.#proceedLater();
    return false;
  }

  #stepBehind(): boolean {
    const { state } = this.#home;
    if (this.#after < state.floor) return this.#openHistory();
    const read = state.ringAfter(this.#after, state.revision, this.latest);
    const judges = { size: this.predicate.size, count: 1 };
    const judged = judgedPortion(read, judges, lookupsPerTurn);
    const events = this.#isMaking ? madePortion(judged) : judged;
    const last = events.at(-1);
    if (last === undefined) {
      this.#phase = "live";
      this.#after = Math.max(this.#after, state.revision);
      this.#slice = this.#home.join(this);
      return false;
    }
    const sent = this.#deliverSelected(events);
    if (sent === undefined) return false;
    this.#passed(last.revision);
    if (events.length < read.length && !this.#hasWeightLeft(turnWeightMax)) return false;
    return this.#hasTurnLeft(lookupsOf(events, judges), sent);
  }

  /** Records that the sink has received every matching event up to `revision`. */
  #passed(revision: number): void {
    assert(revision > this.#after, "a cursor goes back", { revision, after: this.#after });
    this.#after = revision;
  }

  /** @returns the number of items delivered; undefined: the sink refused them. */
  #deliverSelected(events: readonly CacheEvent[]): number | undefined {
    const { selection } = this.#home;
    const { items, coalesced } = selection.of(events, this);
    if (items.length > 0 && !this.#deliver(items)) return undefined;
    selection.coalesced += coalesced;
    return items.length;
  }

  #openHistory(): boolean {
    this.#phase = "history";
    const reader = this.#home.history.read(this.#after, {
      deliver: (events) => this.#takeHistory(events),
      compacted: () => this.#expire(),
    });
    // The reader may have called back and finished before `read` returned it.
    if ((this.#phase as Phase) === "history") this.#reader = reader;
    else reader.close();
    return (this.#phase as Phase) === "behind";
  }

  #takeHistory(events: readonly CacheEvent[]): boolean {
    const last = events.at(-1);
    if (this.#phase !== "history" || last === undefined) return true;
    if (this.#deliverSelected(events) === undefined) return false;
    if ((this.#phase as Phase) === "ended") return true;
    this.#passed(last.revision);
    if (this.#after >= this.#home.state.floor) this.#leaveHistory();
    return true;
  }

  /**
   * Leaves history when it has been read. History may end without an event that shows it: nothing happened between
   * its end and the ring. Called from timers only, never while the feed delivers, so the reader's position is
   * the one that was really taken.
   */
  #leaveHistoryWhenRead(): void {
    if (this.#phase !== "history" || this.#busy || this.#reader === undefined) return;
    const { floor } = this.#home.state;
    if (this.#reader.position < floor) return;
    this.#after = Math.max(this.#after, floor);
    this.#leaveHistory();
  }

  #leaveHistory(): void {
    this.#phase = "behind";
    this.#reader?.close();
    this.#reader = undefined;
    this.#drain();
  }

  #expire(): void {
    this.end(expiredError(`too old resource version: ${this.#after} (${this.#home.state.floor})`));
  }
}

/** Weight of the forms that a sink builds of `items`. */
function weightOf(items: readonly WatchItem[]): number {
  let weight = 0;
  for (const { object } of items) weight += sendWeight(object?.bytes ?? 0, true);
  return weight;
}
