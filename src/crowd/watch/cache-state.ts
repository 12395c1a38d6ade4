/**
 * The data of a watch cache without its watchers: the current state of one resource, and its recent past.
 *
 * Holds  for every r in [floor, revision]: state(r) = state(floor) + events in (floor, r].
 * Cost   apply O(log n); a snapshot is two pointers until the next write.
 * Bounds number and bytes of ring items; number of pinned snapshots. The state is as large as the resource.
 */
import { assert } from "#base/assert.ts";
import { CacheEvent } from "./cache-event.ts";
import { EventRing } from "./event-ring.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import { SortedSet } from "./sorted-set.ts";

/** The change of one object. `next` undefined: `key` was deleted. */
export interface Change {
  readonly key: string;
  readonly next: SharedObject | undefined;
}

/** The state at one revision. Immutable. */
export interface Snapshot {
  readonly revision: number;
  readonly objects: SortedSet<SharedObject>;
}

/** `objects` are in key order. */
export interface InitialState {
  readonly objects: readonly SharedObject[];
  readonly revision: number;
}

export interface StateOptions {
  readonly ringItemsMax: number;
  readonly ringBytesMax: number;
  /** Maximum number of snapshots kept for paginated lists; the least recently used one is dropped first. */
  readonly pinnedMax: number;
}

/** The read-only view of the state. Changes go through the cache, which notifies its watchers. */
export type KnownState = Omit<CacheState, "apply" | "adopt" | "advance" | "reset" | "forgetBefore">;

/** Objects per step: about half a millisecond. */
const rehomeStep = 256;

/** Where the bytes of an object that remains in memory are kept. */
interface Homes {
  /** The store's current copy of the object's bytes; undefined: the store has none. */
  readonly stored: (object: SharedObject) => Uint8Array | undefined;
  readonly copy: (object: SharedObject) => Uint8Array;
}

interface RingRead {
  readonly after: number;
  readonly upTo: number;
  readonly latest: boolean;
  readonly events: readonly CacheEvent[];
}

export class CacheState {
  readonly #options: StateOptions;
  #objects: SortedSet<SharedObject>;
  #ring: EventRing;
  #revision: number;
  #changedAt = 0;
  #resets = 0;
  #bytes: number;
  readonly #pinned = new Map<number, Snapshot>();
  /** The most recent read of the ring, because many cursors ask for the same range one after the other. */
  #lastRead: RingRead | undefined;

  constructor({ objects, revision }: InitialState, options: StateOptions) {
    this.#options = options;
    this.#objects = SortedSet.from(objects);
    this.#bytes = bytesOf(objects);
    this.#revision = revision;
    this.#ring = ringFrom(revision, options);
  }

  /** The newest revision that the state includes. */
  get revision(): number {
    return this.#revision;
  }

  /** Revision of the last change of this resource since the start; 0: no change yet. */
  get changedAt(): number {
    return this.#changedAt;
  }

  /** Number of resets. A reset can replace the state without changing `changedAt`. */
  get resets(): number {
    return this.#resets;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Size of the current state in stored bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The highest revision whose events may already have left the ring. */
  get floor(): number {
    return this.#ring.floor;
  }

  get(key: string): SharedObject | undefined {
    return this.#objects.get(key);
  }

  /** Whether the ring has a change of `key` at `revision`: distinguishes a repeated event from a new one. */
  holds(revision: number, key: string): boolean {
    return this.#ring.holds(revision, key);
  }

  /** Visits current objects in [from, to) in key order until `visit` returns false. */
  /** Number of objects with from <= key < to. */
  countRange(from: string, to: string): number {
    return this.#objects.countRange(from, to);
  }

  scan(from: string, to: string, visit: (object: SharedObject) => boolean): void {
    this.#objects.scan(from, to, visit);
  }

  /** Applies all changes of `revision`. @returns the resulting events. */
  apply(revision: number, changes: readonly Change[]): CacheEvent[] {
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
    return events;
  }

  /**
   * Replaces the state by `objects`, which are in key order, in one step. `events` lead to that state, in order.
   * Cost: 0.1 µs per object and event.
   */
  adopt(objects: readonly SharedObject[], events: readonly CacheEvent[]): void {
    const last = events.at(-1);
    if (last === undefined) return;
    assert((events[0]?.revision ?? 0) > this.#revision, "revisions must rise", {
      at: this.#revision,
    });
    this.#objects = SortedSet.from(objects);
    this.#bytes = bytesOf(objects);
    this.#revision = this.#changedAt = last.revision;
    this.#ring.push(events);
  }

  /** Records that the state includes everything up to `revision`. */
  advance(revision: number): void {
    assert(revision >= this.#revision, "a state goes back", { revision, at: this.#revision });
    this.#revision = revision;
  }

  /** Replaces the state and clears the ring. */
  reset({ objects, revision }: InitialState): void {
    this.#resets++;
    this.#pinned.clear();
    this.#lastRead = undefined;
    this.#objects = SortedSet.from(objects);
    this.#bytes = bytesOf(objects);
    this.#revision = revision;
    this.#ring = ringFrom(revision, this.#options);
  }

  /** Events with after < revision <= upTo, or the first of them; whole revisions only, none below the floor. */
  ringAfter(after: number, upTo: number, latest: boolean): readonly CacheEvent[] {
    const known = this.#lastRead;
    if (known?.after === after && known.upTo === upTo && known.latest === latest) {
      return known.events;
    }
    const ring = this.#ring;
    const events = latest ? ring.afterForLatest(after, upTo) : ring.after(after, upTo);
    if (events.length > 0) this.#lastRead = { after, upTo, latest, events };
    return events;
  }

  /** The current state as an immutable snapshot. */
  snapshot(): Snapshot {
    return { revision: this.#revision, objects: this.#objects.snapshot() };
  }

  /**
   * Returns the state at `revision` if the ring still reaches back to it; undefined below the ring's floor. The
   * snapshot is kept for the next page until `pinnedMax` younger ones have been requested.
   */
  snapshotAt(revision: number): Snapshot | undefined {
    assert(revision <= this.#revision, "snapshot of the future", { revision, at: this.#revision });
    const snapshot = this.#pinned.get(revision) ?? this.#rewound(revision);
    if (snapshot === undefined) return undefined;
    this.pin(snapshot);
    return snapshot;
  }

  /** Keeps `snapshot` so that `snapshotAt` finds it. */
  pin(snapshot: Snapshot): void {
    this.#pinned.delete(snapshot.revision);
    this.#pinned.set(snapshot.revision, snapshot);
    for (const oldest of this.#pinned.keys()) {
      if (this.#pinned.size <= this.#options.pinnedMax) return;
      this.#pinned.delete(oldest);
    }
  }

  /** Drops pinned snapshots below `revision` and most events up to it: older history has been compacted. */
  forgetBefore(revision: number): void {
    for (const pinned of this.#pinned.keys()) if (pinned < revision) this.#pinned.delete(pinned);
    this.#lastRead = undefined;
    this.#ring.forget(revision);
  }

  /**
   * Moves values out of store blocks. The store forgets history below `mark` and empties the blocks that held it, so
   * values that this cache keeps longer must not hold those blocks. Values of the current state are read again with
   * `stored`; values of the remaining past are copied. One step handles `rehomeStep` objects.
   */
  *rehome(mark: number, { stored, copy }: Homes): Generator<void> {
    const isCurrent = (object: SharedObject): boolean => this.#objects.get(object.key) === object;
    const storedOrCopy = (object: SharedObject): Uint8Array => stored(object) ?? copy(object);
    let steps = 0;
    for (const event of this.#ring.upTo(mark)) {
      event.rehome(mark, { isCurrent, copy });
      if (++steps % rehomeStep === 0) yield;
    }
    // The state may change between steps; the snapshot does not. Objects removed since need no rehoming.
    for (const object of this.#objects.snapshot()) {
      if (object.revision <= mark && isCurrent(object)) object.rehome(mark, storedOrCopy);
      if (++steps % rehomeStep === 0) yield;
    }
  }

  /** The current state with all events above `revision` undone. */
  #rewound(revision: number): Snapshot | undefined {
    if (revision < this.#ring.floor) return undefined;
    const objects = this.#objects.snapshot();
    this.#ring.newestFirst(revision, (event) => {
      if (event.previous === undefined) objects.delete(event.key);
      else objects.set(event.previous);
    });
    return { revision, objects };
  }
}

function ringFrom(revision: number, options: StateOptions): EventRing {
  return new EventRing(revision, {
    itemsMax: options.ringItemsMax,
    bytesMax: options.ringBytesMax,
  });
}

function bytesOf(objects: readonly SharedObject[]): number {
  return objects.reduce((sum, object) => sum + object.value.length, 0);
}
