/**
 * What a watch cache knows, without the watchers: the state of one resource now, and its recent past.
 *
 * Holds  for every r in [floor, revision]: state(r) = state(floor) + events in (floor, r].
 * Cost   apply O(log n); a snapshot is two pointers until the next write.
 * Bounds ring items and bytes; pinned snapshots. State is as large as the resource.
 */
import { assert } from "#base/assert.ts";
import { CacheEvent } from "./cache-event.ts";
import { EventRing } from "./event-ring.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import { SortedSet } from "./sorted-set.ts";

/** One object's change: `next` undefined deletes `key`. */
export interface Change {
  readonly key: string;
  readonly next: SharedObject | undefined;
}

/** The state at one revision; never changes. */
export interface Snapshot {
  readonly revision: number;
  readonly objects: SortedSet<SharedObject>;
}

/** `objects` in key order. */
export interface InitialState {
  readonly objects: readonly SharedObject[];
  readonly revision: number;
}

export interface StateOptions {
  readonly ringItemsMax: number;
  readonly ringBytesMax: number;
  /** Snapshots kept for paginated lists, the least recently used first to go. */
  readonly pinnedMax: number;
}

/** The read-only view of the state. Changes go through the cache, which notifies its watchers. */
export type KnownState = Omit<CacheState, "apply" | "adopt" | "advance" | "reset" | "forgetBefore">;

/** Half a millisecond or so. */
const rehomeStep = 256;

/** Where the bytes of an object that stays can live. */
interface Homes {
  /** Where the store has them now; undefined: nowhere. */
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
  /** The last read of the ring: a crowd's cursors ask for the same, one after the other. */
  #lastRead: RingRead | undefined;

  constructor({ objects, revision }: InitialState, options: StateOptions) {
    this.#options = options;
    this.#objects = SortedSet.from(objects);
    this.#bytes = bytesOf(objects);
    this.#revision = revision;
    this.#ring = ringFrom(revision, options);
  }

  /** Newest revision known to be included. */
  get revision(): number {
    return this.#revision;
  }

  /** Revision of the last change of this resource since the start; 0 when there was none. */
  get changedAt(): number {
    return this.#changedAt;
  }

  /** How often it began anew: another state, though `changedAt` may stay. */
  get resets(): number {
    return this.#resets;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Of the current state, as stored. */
  get bytes(): number {
    return this.#bytes;
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
  /** Objects with keys from `from` on and below `to`. */
  countRange(from: string, to: string): number {
    return this.#objects.countRange(from, to);
  }

  scan(from: string, to: string, visit: (object: SharedObject) => boolean): void {
    this.#objects.scan(from, to, visit);
  }

  /** All changes of `revision`. @returns what became of them. */
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
   * Puts `objects`, in key order, in the place of the state, in one step. `events` lead there, in order.
   * Cost: 0.1 µs an object and event.
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

  /** Everything up to `revision` is included. */
  advance(revision: number): void {
    assert(revision >= this.#revision, "a state goes back", { revision, at: this.#revision });
    this.#revision = revision;
  }

  /** Begins anew. */
  reset({ objects, revision }: InitialState): void {
    this.#resets++;
    this.#pinned.clear();
    this.#lastRead = undefined;
    this.#objects = SortedSet.from(objects);
    this.#bytes = bytesOf(objects);
    this.#revision = revision;
    this.#ring = ringFrom(revision, this.#options);
  }

  /** Events in (after, upTo] or the first of them, whole revisions; none below the floor. */
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

  /** Lets go of pinned snapshots below `revision`, and of most events up to it: history before it is gone. */
  forgetBefore(revision: number): void {
    for (const pinned of this.#pinned.keys()) if (pinned < revision) this.#pinned.delete(pinned);
    this.#lastRead = undefined;
    this.#ring.forget(revision);
  }

  /**
   * The store forgets what is below `mark`, and empties the blocks it lay in: what is kept here for
   * longer must not hold them. The state goes where `stored` finds it now, what is left of the past to
   * copies. A step is `rehomeStep` objects.
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
