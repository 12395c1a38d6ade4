/**
 * Watch cache of one resource: its state, its recent past, and the watchers of both.
 *
 * In     whole revisions in rising order (`apply`), then `requestDispatch` or `dispatch`; `advance` for a
 *        revision that is known to hold nothing for this resource.
 * Holds  the invariants of state and past that `cache-state.ts` states.
 * Out    the same items for every cursor concerned. A cursor whose sink refused a batch reads from the ring
 *        when the sink asks, and from history below the ring; it gets 410 only where history ends.
 * Cost   dispatch: the buckets of the event and the cursors in them.
 * Why not a queue per watcher: 10,000 watchers x 1,000 events are 10 M references. 10,000 cursors
 * are 10,000 numbers, and a slow cursor costs the others nothing.
 */
import type { Clock } from "#platform/clock.ts";
import {
  CacheState,
  type KnownState,
  type Change,
  type InitialState,
  type StateOptions,
} from "./cache-state.ts";
import type { CacheEvent } from "./cache-event.ts";
import type { Cursor } from "./cursor.ts";
import type { DeliveryPolicy } from "./delivery-scheduler.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { History } from "./history.ts";
import type { Predicate } from "./predicate.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import { type DigestOf, ViewSums } from "./view-sum.ts";
import type { ViewState, WatchSink } from "./watch-item.ts";
import { Watchers, type WatchOptions } from "./watchers.ts";

export interface CacheOptions extends StateOptions {
  /** A selectable field that gets its own index, such as spec.nodeName of pods. */
  readonly indexedField: string | undefined;
  /** When watchers are served. */
  readonly delivery: DeliveryPolicy;
}

interface CacheDeps {
  readonly clock: Clock;
  readonly history: History;
  /** False while changes of the newest revision may still be missing; bookmarks must not name it then. Absent: always true. */
  readonly isWhole?: () => boolean;
  /** Called after each dispatch. */
  readonly onDispatched?: () => void;
  /** Absent: the cache keeps no checksums. */
  readonly digestOf?: DigestOf;
}

export class WatchCache {
  readonly history: History;
  readonly #state: CacheState;
  readonly #views: ViewSums;
  readonly #dispatcher: Dispatcher;
  readonly #watchers: Watchers;

  constructor(deps: CacheDeps, initial: InitialState, options: CacheOptions) {
    const { clock, history, isWhole = () => true, onDispatched, digestOf } = deps;
    const state = new CacheState(initial, options);
    const views = new ViewSums(clock, digestOf);
    const dispatcher = new Dispatcher({ state, views, clock, onDispatched }, options);
    this.history = history;
    this.#state = state;
    this.#views = views;
    this.#dispatcher = dispatcher;
    this.#watchers = new Watchers({ clock, state, history, dispatcher, views, isWhole });
  }

  /** The current state of the resource and its recent events. */
  get state(): KnownState {
    return this.#state;
  }

  get watchers(): number {
    return this.#watchers.count;
  }

  /** Positions of watchers that are behind: their sink is full, they are catching up, or they wait for a turn. */
  positionsBehind(): readonly number[] {
    return this.#watchers.positionsBehind();
  }

  /** Number of items that latest-state watchers did not receive because a later item replaced them. */
  get coalesced(): number {
    return this.#dispatcher.selection.coalesced;
  }

  /** Number of changes applied since the cache was created. */
  eventsApplied = 0;

  /** Applies all changes of `revision`. Watchers receive them at the next dispatch. */
  apply(revision: number, changes: readonly Change[]): void {
    this.eventsApplied += changes.length;
    const events = this.#state.apply(revision, changes);
    if (this.#watchers.count > 0 || this.#views.size > 0) this.#dispatcher.take(events);
  }

  /** Replaces the state with one that was prepared separately, and takes the events that lead to it, in order. */
  adopt(objects: readonly SharedObject[], events: readonly CacheEvent[]): void {
    this.#state.adopt(objects, events);
    if (this.#watchers.count > 0 || this.#views.size > 0) this.#dispatcher.take(events);
  }

  /** Whether the cache maintains checksums; if so, each event needs the digest of its object. */
  get hasSums(): boolean {
    return this.#views.size > 0;
  }

  /** Records that the resource has no change up to `revision` beyond those applied. */
  advance(revision: number): void {
    if (revision <= this.#state.revision) return;
    this.#state.advance(revision);
    this.#dispatcher.advanced();
  }

  /** Drops what is only needed for history before `revision`, which has been compacted. */
  forgetBefore(revision: number): void {
    this.#state.forgetBefore(revision);
    this.#dispatcher.selection.forget();
  }

  /** Dispatches applied events to the live cursors they concern, at the time that the delivery policy allows. */
  requestDispatch(): void {
    this.#dispatcher.request(this.#watchers.count);
  }

  /** Dispatches immediately, without waiting for the feed's window. Large crowds are still served in turns. */
  dispatch(): void {
    this.#dispatcher.dispatch();
  }

  /** Starts a watch. Initial events may reach the sink before this returns. */
  watch(options: WatchOptions, sink: WatchSink): Cursor {
    return this.#watchers.watch(options, sink);
  }

  /** Count and checksum of the dispatched objects that `predicate` selects; maintained from the first call on. */
  viewState(predicate: Predicate): ViewState | undefined {
    return this.#views.keep(predicate, () => this.#state.snapshot())?.state;
  }

  /** Sends bookmarks to the cursors of one of `slots` equal shares. */
  bookmark(slot: number, slots: number): void {
    this.#watchers.bookmark(slot, slots);
  }

  /** Whether bookmarks are delayed until the newest revision is complete. */
  get hasBookmarksDue(): boolean {
    return this.#watchers.hasBookmarksDue;
  }

  /** Sends the delayed bookmarks: the newest revision is complete and dispatched. */
  payBookmarks(): void {
    this.#watchers.payBookmarks();
  }

  /** Ends all watches with `error` and replaces the state, because the feed lost its position. */
  reset(initial: InitialState, error: Error): void {
    this.end(error);
    this.#views.clear();
    this.#state.reset(initial);
    this.#dispatcher.reset();
  }

  /**
   * Ends the watches that began at a `lost` position. The feed skipped positions, so it missed objects that were
   * created and deleted there; the clients of these watches may hold such objects from another replica.
   */
  expireStarts(lost: (position: number) => boolean, error: Error): void {
    this.#watchers.expireStarts(lost, error);
  }

  /** Ends every watch. `error` is passed on as in WatchSink.end. */
  end(error?: Error): void {
    this.#watchers.end(error);
  }

  /** Ends every watch and all timers. */
  close(): void {
    this.end();
    this.#watchers.close();
    this.#dispatcher.close();
  }
}
