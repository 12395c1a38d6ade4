/**
 * One input of a joined view: follows its mirror and puts objects into the table, in turns of the loop when they are
 * many. While the view makes rows anew it takes nothing: the rows are those of one moment, and a busy object cannot keep
 * the view from ever being whole.
 */
import type { Clock } from "#platform/clock.ts";
import { onNextTurn } from "#platform/pace.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { Cursor } from "#watch/cursor.ts";
import type { Predicate } from "#watch/predicate.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import type { Mirror } from "../../mirror/mirror.ts";
import { placeOf } from "../view-form.ts";

export interface JoinSource {
  readonly mirror: Mirror;
  readonly predicate: Predicate;
}

interface JoinFeedDeps {
  readonly clock: Clock;
  readonly source: JoinSource;
  /** Puts an object; undefined: it was deleted. */
  readonly put: (key: string, object: CachedObject | undefined) => void;
  /** Called after each batch. */
  readonly taken: () => void;
  /** Whether objects may not be put now; `unblocked` is called when they may. */
  readonly isBlocked: () => boolean;
  readonly ended: () => void;
}

/** Maximum number of items taken at once, without a turn of their own. */
const smallItemsMax = 8;

export class JoinFeed implements WatchSink {
  readonly isMaking = true;
  readonly #deps: JoinFeedDeps;
  readonly #cursor: Cursor;
  #isFilled = false;
  /** `blocked`: the batch waits until the rows of the earlier objects are made. */
  #turn: "none" | "awaited" | "blocked" | "own" = "none";
  #isScheduled = false;
  #isClosed = false;

  constructor(deps: JoinFeedDeps) {
    this.#deps = deps;
    const { mirror, predicate } = deps.source;
    this.#cursor = mirror.cache.watch({ predicate, bookmarks: true, start: "state" }, this);
  }

  /** Whether the whole initial state has been put. */
  get isFilled(): boolean {
    return this.#isFilled;
  }

  get isUpToDate(): boolean {
    return this.#isFilled && this.#turn !== "awaited";
  }

  deliver(items: readonly WatchItem[]): boolean {
    const { put, taken, isBlocked } = this.#deps;
    if (this.#isClosed) return true;
    if (isBlocked()) {
      if (this.#turn !== "awaited") this.#turn = "blocked";
      return false;
    }
    if (items.length > smallItemsMax && this.#turn !== "own") return this.#awaitTurn();
    this.#turn = "none";
    for (const { type, object, initialEventsEnd } of items) {
      if (object !== undefined) put(placeOf(object), type === "DELETED" ? undefined : object);
      if (initialEventsEnd === true) this.#isFilled = true;
    }
    taken();
    return true;
  }

  /** Called when objects may be put again. */
  unblocked(): void {
    if (this.#turn === "blocked") this.#scheduleTurn();
  }

  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#deps.ended();
  }

  close(): void {
    this.#isClosed = true;
    this.#cursor.close();
  }

  /** Takes the batch in a later turn. @returns false: the batch is not taken now. */
  #awaitTurn(): false {
    if (this.#turn === "awaited") return false;
    this.#turn = "awaited";
    this.#scheduleTurn();
    return false;
  }

  #scheduleTurn(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    onNextTurn(this.#deps.clock, () => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#isScheduled = false;
    if (this.#isClosed) return;
    this.#turn = this.#deps.isBlocked() ? "blocked" : "own";
    if (this.#turn === "blocked") return;
    this.#cursor.resume();
    if (this.#turn === "own") this.#turn = "none";
    this.#deps.taken();
  }
}
