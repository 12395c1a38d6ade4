/**
 * Count and checksum of the objects that one selection of a resource holds, updated in O(1) per change. A client
 * that sums up the events it got can verify that it missed none.
 *
 * Checksum  sum of the members' 128-bit digests mod 2^128. Neither order nor path matters: it is equal on
 *           every replica that holds the same objects.
 * Holds     after `take(events, last)` the checksum is that of the state at `last`.
 * Cost      one digest per object for all views; one pass over the state when the first watcher asks, in turns of
 *           the loop; then a range check per event and view. Without such watchers: nothing.
 * Begins    until that pass has ended there is no checksum, and bookmarks carry none. A state below `turnBytesMax`
 *           is summed up at once.
 * Bounds    `viewsMax` selections per resource; bookmarks of further selections carry no checksum.
 */
import { assert } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import { onNextTurn } from "#platform/pace.ts";
import type { CacheEvent } from "./cache-event.ts";
import type { Predicate } from "./predicate.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import type { SortedSet } from "./sorted-set.ts";
import type { ViewState } from "./watch-item.ts";

/** 128 bits computed from an object's content, including its resourceVersion; equal on every replica. */
export type DigestOf = (object: SharedObject) => bigint;

const viewsMax = 64;
/** Bytes digested per turn: 2 to 4 ms. */
const turnBytesMax = 512 * 1024;
const objectBytesMin = 256;
/** Hexadecimal digits of 128 bits. */
const checksumDigits = 32;

interface ViewStart {
  readonly objects: SortedSet<SharedObject>;
  readonly revision: number;
}

interface ViewDeps {
  readonly clock: Clock;
  readonly digestOf: DigestOf;
}

export class ViewSum {
  readonly predicate: Predicate;
  readonly #deps: ViewDeps;
  #count = 0;
  #sum = 0n;
  #position: number;
  #state: ViewState | undefined;
  /** The part of the initial state that is not summed up yet, starting with this key. */
  #left: { readonly objects: ViewStart["objects"]; readonly from: string } | undefined;
  watchers = 0;
  /** Counts as one more watcher: readers that do not watch use this view too. */
  kept = false;

  constructor(predicate: Predicate, deps: ViewDeps, { objects, revision }: ViewStart) {
    this.predicate = predicate;
    this.#deps = deps;
    this.#position = revision;
    this.#left = { objects, from: predicate.from };
    this.#sumUp();
  }

  /** One turn of the first pass. Events of later revisions may be added in between, because a sum does not depend on order. */
  #sumUp(): void {
    if (this.#left === undefined) return;
    const { objects, from } = this.#left;
    let budget = turnBytesMax;
    let next: string | undefined;
    objects.scan(from, this.predicate.to, (object) => {
      if (budget <= 0) {
        next = object.key;
        return false;
      }
      budget -= Math.max(objectBytesMin, object.value.length);
      if (this.predicate.matches(object)) this.#add(object, 1);
      return true;
    });
    this.#left = next === undefined ? undefined : { objects, from: next };
    if (this.#left !== undefined) onNextTurn(this.#deps.clock, () => this.#sumUp());
    else assert(this.#count >= 0, "more objects left a selection than came");
  }

  /** Stops the first pass, because the view has no user left. */
  abandon(): void {
    this.#left = undefined;
  }

  /** The revision to which the sum belongs. */
  get position(): number {
    return this.#position;
  }

  /** Undefined: the first pass has not finished. */
  get state(): ViewState | undefined {
    if (this.#left !== undefined) return undefined;
    this.#state ??= {
      count: this.#count,
      checksum: this.#sum.toString(16).padStart(checksumDigits, "0"),
    };
    return this.#state;
  }

  /** Adds events up to `last`, skipping those that the initial state already includes. */
  take(events: readonly CacheEvent[], last: number): void {
    const { from, to } = this.predicate;
    for (const event of events) {
      if (event.revision <= this.#position || event.key < from || event.key >= to) continue;
      this.#turn(event.previous, -1);
      this.#turn(event.next, 1);
    }
    this.#position = Math.max(this.#position, last);
  }

  #turn(object: SharedObject | undefined, sign: 1 | -1): void {
    if (object === undefined || !this.predicate.matches(object)) return;
    this.#add(object, sign);
  }

  #add(object: SharedObject, sign: 1 | -1): void {
    const digest = this.#deps.digestOf(object);
    this.#sum = BigInt.asUintN(128, sign > 0 ? this.#sum + digest : this.#sum - digest);
    this.#count += sign;
    const isWhole = this.#left === undefined;
    assert(!isWhole || this.#count >= 0, "more objects left a selection than came");
    this.#state = undefined;
  }
}

/** The checksums of one cache, by selection. A checksum exists as long as a watcher uses it. */
export class ViewSums {
  readonly #clock: Clock;
  readonly #digestOf: DigestOf | undefined;
  readonly #views = new Map<string, ViewSum>();

  constructor(clock: Clock, digestOf: DigestOf | undefined) {
    this.#clock = clock;
    this.#digestOf = digestOf;
  }

  /** Undefined: this cache has no digests, or the maximum number of views. */
  join(predicate: Predicate, start: () => ViewStart): ViewSum | undefined {
    let view = this.#views.get(predicate.text);
    if (view === undefined) {
      const digestOf = this.#digestOf;
      if (digestOf === undefined || this.#views.size >= viewsMax) return undefined;
      view = new ViewSum(predicate, { clock: this.#clock, digestOf }, start());
      this.#views.set(predicate.text, view);
    }
    view.watchers++;
    return view;
  }

  leave(view: ViewSum): void {
    assert(view.watchers > 0, "more watchers left a sum than came");
    if (--view.watchers > 0) return;
    view.abandon();
    this.#views.delete(view.predicate.text);
  }

  /** @returns the view of `predicate`, which is kept from now on even without watchers. */
  keep(predicate: Predicate, start: () => ViewStart): ViewSum | undefined {
    const known = this.#views.get(predicate.text);
    if (known?.kept === true) return known;
    const view = this.join(predicate, start);
    if (view !== undefined) view.kept = true;
    return view;
  }

  get size(): number {
    return this.#views.size;
  }

  clear(): void {
    for (const view of this.#views.values()) view.abandon();
    this.#views.clear();
  }

  take(events: readonly CacheEvent[], last: number): void {
    for (const view of this.#views.values()) view.take(events, last);
  }
}
