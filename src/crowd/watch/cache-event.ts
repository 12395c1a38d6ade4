/**
 * One change of one object, and the watch items that it produces. Each item is made at most once, and all
 * watchers that see the change share it.
 *
 *   watcher saw it before | sees it after | item
 *   no                    | yes           | ADDED, new state
 *   yes                   | yes           | MODIFIED, new state
 *   yes                   | no            | DELETED, last state seen, with this event's revision
 *   no                    | no            | none
 */
import type { Predicate } from "./predicate.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import type { WatchChange, WatchItem } from "./watch-item.ts";

interface RehomingHomes {
  /** Whether `object` is still part of the state; then it is moved together with the state. */
  readonly isCurrent: (object: SharedObject) => boolean;
  readonly copy: (object: SharedObject) => Uint8Array;
}

export class CacheEvent implements WatchChange {
  readonly revision: number;
  readonly key: string;
  /** The new state; undefined when deleted. */
  readonly next: SharedObject | undefined;
  /** What the key held before; undefined when created. */
  readonly previous: SharedObject | undefined;
  #added: WatchItem | undefined;
  #modified: WatchItem | undefined;
  #deleted: WatchItem | undefined;
  /** The object of the DELETED item: a copy of the last state with the revision of the deletion. */
  #deletedObject: SharedObject | undefined;

  constructor(
    revision: number,
    key: string,
    next: SharedObject | undefined,
    previous: SharedObject | undefined,
  ) {
    this.revision = revision;
    this.key = key;
    this.next = next;
    this.previous = previous;
  }

  /** Bytes that this event keeps in memory; they count towards the limit of a history ring. */
  get bytes(): number {
    return (this.next?.value.length ?? 0) + (this.previous?.value.length ?? 0);
  }

  /** Bytes of the object that is sent to watchers. */
  get sentBytes(): number {
    return (this.next ?? this.previous)?.value.length ?? 0;
  }

  /** Drops the object's previous state. Called when the event leaves the recent part of the ring. */
  release(): void {
    this.previous?.release();
    this.#deletedObject?.release();
  }

  /** Copies the bytes of objects that are no longer part of the state, so that their old block can be freed. */
  rehome(mark: number, homes: RehomingHomes): void {
    for (const object of [this.next, this.previous, this.#deletedObject]) {
      if (object !== undefined && !homes.isCurrent(object)) object.rehome(mark, homes.copy);
    }
  }

  /** The item for a watcher without selectors, or with a scope that the key cannot leave. */
  plainItem(): WatchItem | undefined {
    return this.#item(this.previous !== undefined, this.next !== undefined);
  }

  /** The item for a watcher with `predicate`. The key is known to be within the predicate's scope. */
  itemFor(predicate: Predicate): WatchItem | undefined {
    const { next, previous } = this;
    const sees = next !== undefined && predicate.matches(next);
    const saw = previous !== undefined && predicate.matches(previous);
    return this.#item(saw, sees);
  }

  #item(saw: boolean, sees: boolean): WatchItem | undefined {
    if (sees) return saw ? this.#modifiedItem() : this.added();
    return saw ? this.deleted() : undefined;
  }

  added(): WatchItem {
    return (this.#added ??= watchItem("ADDED", this.next, this.revision));
  }

  #modifiedItem(): WatchItem {
    return (this.#modified ??= {
      ...watchItem("MODIFIED", this.next, this.revision),
      change: this,
    });
  }

  deleted(): WatchItem {
    if (this.#deleted !== undefined) return this.#deleted;
    this.#deletedObject = this.previous?.at(wholeRevision(this.revision));
    this.#deleted = watchItem("DELETED", this.#deletedObject, this.revision);
    return this.#deleted;
  }
}

export function watchItem(
  type: WatchItem["type"],
  object: SharedObject | undefined,
  revision: number,
): WatchItem {
  return { type, object, resourceVersion: String(wholeRevision(revision)) };
}

/**
 * Rounds a position down to its revision. An API server reports many deletes at one resourceVersion one by
 * one; a feed that receives a revision in such parts gives the later parts fractions. Positions then stay ordered,
 * and the resourceVersions in texts stay whole.
 */
export function wholeRevision(revision: number): number {
  return Math.floor(revision);
}
