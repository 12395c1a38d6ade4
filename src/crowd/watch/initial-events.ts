/**
 * The state a watcher begins with, as ADDED events in batches: a snapshot, and the position reached in it.
 *
 * Holds  a refused batch is made again from the same key. The bookmark that ends the initial events, if
 *        requested, is part of the last batch.
 */
import { assert } from "#base/assert.ts";
import { lookupsMax } from "#api/selectors/compact-selector.ts";
import { sendWeight, turnWeightMax } from "./batch-weight.ts";
import { watchItem } from "./cache-event.ts";
import { lookupsPerTurn } from "./judged-portion.ts";
import type { Predicate } from "./predicate.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import type { SortedSet } from "./sorted-set.ts";
import type { ViewState, WatchItem } from "./watch-item.ts";

export interface StateStart {
  readonly kind: "state";
  readonly objects: SortedSet<SharedObject>;
  readonly revision: number;
  /** Ends the initial events with an annotated bookmark. */
  readonly marker: boolean;
  /** Count and checksum of that state, if the client asked for them. */
  readonly view?: ViewState | undefined;
}

/** Objects visited per batch; fewer where evaluating the selector or building forms is expensive. */
const batchItems = 250;

interface InitialBatch {
  readonly items: readonly WatchItem[];
  /** The key after the batch; undefined: this is the last batch. */
  readonly next: string | undefined;
  /** Look-ups that its selectors used. */
  readonly lookups: number;
  /** Weight of the work that the sink has with it (`batch-weight.ts`). */
  readonly weight: number;
}

export class InitialEvents {
  readonly #start: StateStart;
  readonly #predicate: Predicate;
  readonly #isMaking: boolean;
  #from: string;

  constructor(start: StateStart, predicate: Predicate, isMaking: boolean) {
    this.#start = start;
    this.#predicate = predicate;
    this.#isMaking = isMaking;
    this.#from = predicate.from;
  }

  /** The next batch. */
  batch(): InitialBatch {
    const items: WatchItem[] = [];
    const { size } = this.#predicate;
    let seen = 0;
    let lookups = 0;
    let weight = 0;
    let next: string | undefined;
    this.#start.objects.scan(this.#from, this.#predicate.to, (object) => {
      if (seen++ === batchItems || lookups >= lookupsPerTurn || weight >= turnWeightMax) {
        next = object.key;
        return false;
      }
      lookups += lookupsMax(size, 1, object.value.length);
      if (!this.#predicate.matches(object)) return true;
      items.push(watchItem("ADDED", object, object.revision));
      weight += sendWeight(object.value.length, this.#isMaking);
      return true;
    });
    if (next === undefined && this.#start.marker) items.push(this.#end());
    return { items, next, lookups, weight };
  }

  /** Records that the watcher accepted the batch that ends before `next`. */
  taken(next: string | undefined): void {
    if (next === undefined) return;
    assert(next > this.#from, "initial events go back", { next, from: this.#from });
    this.#from = next;
  }

  #end(): WatchItem {
    const { revision, view } = this.#start;
    const end = watchItem("BOOKMARK", undefined, revision);
    return { ...end, initialEventsEnd: true, ...(view === undefined ? {} : { view }) };
  }
}
