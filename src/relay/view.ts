/**
 * A view: what one selection of one resource holds, with its digest, for clients that poll.
 *
 * In     the items of a watch of its own on the mirror. Out: an ETag in O(1), the body shared by all
 *        who ask until the next change, and a call to everyone who waits for one.
 * Holds  digest = sum of the members' hashes; the ETag depends on the members alone, so it is the same
 *        on every replica and comes back when the content does. Body bytes do too: the body says no
 *        position (the head does), members stand in key order.
 * Cost   per change O(log n) and one hash; a view that nobody polls still follows (`viewsMax` bounds).
 */
import type { Clock } from "#platform/clock.ts";
import type { ListBlocks } from "#server/list-body.ts";
import type { CachedObject } from "#watch/cached-object.ts";
import type { Cursor } from "#watch/cursor.ts";
import type { Predicate } from "#watch/predicate.ts";
import { type SharedObject, keyOfText } from "#watch/shared-object.ts";
import { SortedSet } from "#watch/sorted-set.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import { type Body, bodyOf } from "./body-memo.ts";
import { digestText, memberHash, sum } from "./digest.ts";
import type { Mirror } from "./mirror.ts";
import { wholeForm } from "./read-form.ts";

interface ViewMember {
  readonly key: string;
  readonly object: CachedObject;
}

export interface ViewDeps {
  readonly clock: Clock;
  readonly mirror: Mirror;
  readonly blocks: ListBlocks;
}

export class View implements WatchSink {
  readonly predicate: Predicate;
  readonly #deps: ViewDeps;
  readonly #cursor: Cursor;
  readonly #members: SortedSet<ViewMember> = SortedSet.from<ViewMember>([]);
  readonly #waiters = new Set<() => void>();
  #digest = 0n;
  #revision: number;
  #changedMs: number;
  #body: Body | undefined;
  #etag: string | undefined;
  #ended = false;

  constructor(deps: ViewDeps, predicate: Predicate) {
    this.#deps = deps;
    this.predicate = predicate;
    this.#revision = deps.mirror.revision;
    this.#changedMs = deps.clock.nowMs();
    // The state arrives before this returns: a sink that never refuses is read to the end at once.
    this.#cursor = deps.mirror.cache.watch({ predicate, bookmarks: true, start: "state" }, this);
  }

  /** Members, and the content's name: the same text on every replica that holds the same. */
  get etag(): string {
    return (this.#etag ??= `${digestText(this.#digest)}-${this.#members.size}`);
  }

  get count(): number {
    return this.#members.size;
  }

  get changedMs(): number {
    return this.#changedMs;
  }

  /** A position from which the changes since this content can be asked for. */
  get revision(): number {
    return this.#revision;
  }

  /** The mirror started anew: this view is of the past. */
  get ended(): boolean {
    return this.#ended;
  }

  body(): Body {
    return (this.#body ??= bodyOf(this.#encode()));
  }

  /** Calls `f` at the next change, or when the view ends; the result calls it off. */
  onChange(f: () => void): () => void {
    this.#waiters.add(f);
    return () => void this.#waiters.delete(f);
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  close(): void {
    this.#cursor.close();
    this.end();
  }

  deliver(items: readonly WatchItem[]): boolean {
    let changed = false;
    for (const item of items) {
      if (this.#take(item)) changed = true;
      const position = Number(item.resourceVersion);
      if (position > this.#revision) this.#revision = position;
    }
    if (changed) this.#changed();
    return true;
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  #take({ type, object }: WatchItem): boolean {
    if (object === undefined) return false;
    const key = keyOf(object);
    const hash = type === "DELETED" ? 0n : memberHash(object);
    const member = { key, object };
    const before = type === "DELETED" ? this.#members.delete(key) : this.#members.set(member);
    const known = before === undefined ? 0n : memberHash(before.object);
    this.#digest = sum(this.#digest, hash - known);
    return true;
  }

  #changed(): void {
    this.#changedMs = this.#deps.clock.nowMs();
    this.#body = undefined;
    this.#etag = undefined;
    this.#wake();
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  #encode(): readonly Uint8Array[] {
    const { kind } = this.#deps.mirror;
    const objects: CachedObject[] = [];
    this.#members.scan("", "\xff", ({ object }) => {
      objects.push(object);
      return true;
    });
    const head = { apiVersion: kind.apiVersion, kind: `${kind.kind}List`, metadata: {} };
    return this.#deps.blocks.body(head, objects, wholeForm);
  }
}

/** All objects of a mirror are of one class; other caches have no keys of their own. */
function keyOf(object: CachedObject): string {
  const { key } = object as Partial<SharedObject>;
  if (key !== undefined) return key;
  const name = keyOfText(object.name);
  return object.namespace === "" ? name : `${object.namespace}/${name}`;
}
