/**
 * A client that verifies everything: it keeps a copy from the events it gets, reconnects at its last position,
 * and reports a gap, a repeat, a wrong order, a wrong type, a wrong bookmark or a wrong checksum.
 *
 * Copy     what the selection held at the start, changed by every event since.
 * Log      every event since the copy was made from a list, over all connections: compared at the end
 *          with the events the truth requires (`owed`).
 * Allowed  when a revision was delivered in parts, a client that resumes at it may get parts again.
 * Latest   a client of the latest state only need not get events that a later one replaced; but each key at
 *          most once a batch, one batch per window, and at every bookmark the exact state. After a batch
 *          that broke off, or ended, its copy belongs to no single revision: until the next bookmark,
 *          events may name objects it has not seen.
 */
import assert from "node:assert/strict";
import type { Predicate } from "#watch/predicate.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import type { Fed, OpenWatch, Written } from "./fed.ts";

interface Held {
  readonly revision: number;
  readonly digest: bigint | undefined;
}

/** A selection, and an independent implementation of it without the product's code. */
export interface Selection {
  readonly name: string;
  readonly predicate: Predicate;
  readonly wants: (key: string, label: string) => boolean;
}

export class WatchClient implements WatchSink {
  readonly selection: Selection;
  room: number;
  readonly #fed: Fed;
  readonly #ordered: boolean;
  #replica: number;
  #latest: boolean;
  /** Whether later events may have replaced some events since the copy was made. */
  #spared = false;
  /** Whether the last item was a bookmark. */
  #atBookmark = false;
  /** Whether the client resumed while its copy was not the state of any single revision. */
  #between = false;
  /** Number of items of the next batch that still arrive before the connection breaks. */
  #tearAfter: number | undefined;
  #torn = false;
  /** Time when the last windowed batch of the current watch arrived. */
  #batchMs: number | undefined;
  #watch: OpenWatch | undefined;
  #copy = new Map<string, Held>();
  /** By key: newest revision seen. No event may arrive twice. */
  #told = new Map<string, number>();
  #log: string[] = [];
  #listed: ReadonlyMap<string, Held> = new Map();
  #logFrom = 0;
  #sessionStart = 0;
  #position = 0;
  #bookmark = 0;
  #synced = false;
  #complaint: unknown;
  #starts: "state" | number = "state";
  /** Number of bookmark checksums compared with the copy. */
  sums = 0;

  constructor(
    fed: Fed,
    selection: Selection,
    options: {
      readonly replica: number;
      readonly room: number;
      readonly latest: boolean;
      readonly ordered: boolean;
    },
  ) {
    this.#fed = fed;
    this.selection = selection;
    this.#replica = options.replica;
    this.room = options.room;
    this.#latest = options.latest;
    this.#ordered = options.ordered;
  }

  /** Starts with the state, or after `revision` with a copy of the true state at that revision. */
  start(from: number | "state"): void {
    this.#copy = from === "state" ? new Map() : heldAt(this.#fed, this.selection, from);
    this.#told = new Map();
    this.#log = [];
    this.#listed = new Map(this.#copy);
    this.#logFrom = this.#position = from === "state" ? 0 : from;
    this.#starts = from;
    this.#spared = this.#latest;
    this.#atBookmark = true;
    this.#between = false;
    this.#open();
  }

  /** Whether the whole copy comes from this watch, so that the client can verify every checksum. */
  get fromState(): boolean {
    return (
      this.#watch !== undefined && [...this.#copy.values()].every((h) => h.digest !== undefined)
    );
  }

  /** Breaks the connection. The client resumes at its position, on the same or another replica, with all events or the latest only. */
  reconnect(replica = this.#replica, latest = this.#latest): void {
    this.#close();
    this.#replica = replica;
    this.#between ||= this.#latest && !this.#atBookmark;
    this.#latest = latest;
    this.#spared ||= latest;
    if (this.#synced || this.#starts !== "state") {
      this.#starts = this.#position;
      this.#open();
    } else this.start("state");
  }

  give(room: number): void {
    this.room = room;
    if (this.#torn) this.reconnect();
    else this.#watch?.resume();
  }

  /** Stops all faults of the client, and makes it read everything. */
  heal(): void {
    this.#tearAfter = undefined;
    this.give(Number.POSITIVE_INFINITY);
  }

  /** Breaks the connection after at most `items` items of the next batch, at the end of a revision. */
  tear(items: number): void {
    this.#tearAfter = items;
  }

  /** Asserts, after the end of all faults, that the copy equals the true state. */
  finish(): void {
    this.heal();
    if (this.#watch === undefined) this.start("state");
    this.verdict();
    const wanted = heldAt(this.#fed, this.selection, this.#fed.head);
    assert.deepEqual(plain(this.#copy), plain(wanted), `the copy of ${this.selection.name}`);
    if (this.#fed.exact && this.#ordered) this.#checkLog();
  }

  #checkLog(): void {
    const owed = this.#owed();
    if (!this.#spared) return assert.deepEqual(this.#log, owed, "every event");
    const changes = new Set(owed.map(changeOf));
    for (const told of this.#log) assert.ok(changes.has(changeOf(told)), `${told} never was`);
  }

  /** Throws the first error found so far. */
  verdict(): void {
    if (this.#complaint !== undefined) throw this.#complaint;
  }

  close(): void {
    this.#close();
  }

  deliver(items: readonly WatchItem[]): boolean {
    if (this.#torn) return true;
    if (this.room <= 0) return false;
    this.room -= items.length;
    this.#judge(() => this.#takeBatch(items));
    return true;
  }

  #takeBatch(items: readonly WatchItem[]): void {
    if (this.#latest) this.#checkBatch(items);
    const arriving = this.#arriving(items);
    for (const item of items.slice(0, arriving)) this.#take(item);
    this.#torn = arriving < items.length;
  }

  /** Returns the number of items of a batch that arrive. */
  #arriving(items: readonly WatchItem[]): number {
    let count = this.#tearAfter;
    this.#tearAfter = undefined;
    if (count === undefined || count >= items.length) return items.length;
    while (count > 0 && items[count - 1]?.resourceVersion === items[count]?.resourceVersion)
      count--;
    return count;
  }

  #checkBatch(items: readonly WatchItem[]): void {
    const keys = items.flatMap(({ object }) => (object === undefined ? [] : [keyOf(object)]));
    assert.equal(new Set(keys).size, keys.length, `a key twice in ${keys.join(" ")}`);
    // A watcher that is catching up, from the ring or from history, gets events as fast as it reads.
    if (keys.length === 0 || this.#watch?.live !== true) return;
    const nowMs = this.#fed.monotonicMs(this.#replica);
    if (this.#batchMs !== undefined) {
      const { windowMs } = this.#fed;
      assert.ok(nowMs >= this.#batchMs + windowMs, `two batches within ${windowMs} ms`);
    }
    this.#batchMs = nowMs;
  }

  /** Records an error for the end, because a sink must not throw. */
  #judge(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.#complaint ??= error;
    }
  }

  end(error?: Error): void {
    this.#watch = undefined;
    if (this.#torn) return;
    this.#judge(() => {
      assert.ok(error !== undefined, "a watch ended without a reason");
      const may = this.#fed.mayEnd(this.#replica, this.#sessionStart, this.#position);
      assert.ok(may, `${error.message}: told at ${this.#position}, begun at ${this.#sessionStart}`);
    });
    this.#synced = false;
    this.#starts = "state";
  }

  #open(): void {
    const from = this.#starts;
    this.#synced = from !== "state";
    this.#sessionStart = from === "state" ? 0 : from;
    this.#bookmark = 0;
    this.#torn = false;
    this.#batchMs = undefined;
    let over = false;
    const { predicate } = this.selection;
    const watch = this.#fed.watch(
      this.#replica,
      { predicate, start: from, latest: this.#latest },
      {
        deliver: (items) => this.deliver(items),
        end: (error) => {
          over = true;
          this.end(error);
        },
      },
    );
    if (watch === undefined) this.#refused();
    else if (!over) this.#watch = watch;
  }

  #refused(): void {
    const at = this.#sessionStart;
    const may = this.#fed.mayRefuse(this.#replica, at);
    this.#judge(() => assert.ok(may, `refused at ${at}, which nobody lost`));
    this.#synced = false;
    this.#starts = "state";
  }

  #close(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  #take(item: WatchItem): void {
    if (item.object === undefined) return this.#takeBookmark(item, Number(item.resourceVersion));
    // Revision on the wire. If a list found a lost change, the place of its event in the order is a later revision.
    const revision = Number(item.object.resourceVersion);
    const key = keyOf(item.object);
    this.#atBookmark = false;
    const told = `${item.type} ${key}@${revision}`;
    if (this.#ordered) assert.equal(Number(item.resourceVersion), revision);
    if (!this.#synced) {
      assert.equal(item.type, "ADDED");
    } else if (this.#isTornRepeat(item, key, revision)) {
      return;
    } else {
      this.#checkOrder(item, key, revision, told);
      this.#log.push(told);
      this.#position = revision;
    }
    this.#told.set(key, revision);
    if (item.type === "DELETED") this.#copy.delete(key);
    else this.#copy.set(key, { revision, digest: this.#fed.digestOf?.(item.object) });
  }

  #checkOrder({ type }: WatchItem, key: string, revision: number, told: string): void {
    assert.ok(revision > (this.#told.get(key) ?? 0), `${told} again`);
    if (!this.#ordered) return;
    assert.ok(revision >= this.#position, `${told} after ${this.#position}`);
    assert.ok(revision > this.#bookmark, `${told} after a bookmark at ${this.#bookmark}`);
    // An object that was created and deleted within one window gives DELETED, because a client may hold it.
    if (this.#latest && type === "DELETED" && !this.#copy.has(key)) return;
    if (this.#fed.exact && !this.#between)
      assert.equal(type === "ADDED", !this.#copy.has(key), told);
  }

  /** Whether the event repeats a part of the revision at which this client started, which changed several objects. */
  #isTornRepeat({ type }: WatchItem, key: string, revision: number): boolean {
    if (revision !== this.#sessionStart) return false;
    if (this.#fed.history.filter((event) => event.revision === revision).length < 2) return false;
    const held = this.#copy.get(key);
    return type === "DELETED" ? held === undefined : held?.revision === revision;
  }

  #takeBookmark({ view, initialEventsEnd }: WatchItem, revision: number): void {
    if (this.#ordered) assert.ok(revision >= this.#position, `bookmark ${revision} is behind`);
    this.#position = Math.max(this.#position, revision);
    if (initialEventsEnd === true) this.#begin(revision);
    else this.#bookmark = revision;
    this.#atBookmark = true;
    this.#between = false;
    if (this.#fed.exact && this.#ordered) {
      this.#checkTruth(revision, initialEventsEnd === true && this.#fed.partial);
    }
    if (view === undefined) return;
    const digests = [...this.#copy.values()].map(({ digest }) => digest);
    assert.equal(view.count, digests.length, `count at ${revision}`);
    if (digests.includes(undefined)) return;
    const sum = BigInt.asUintN(
      128,
      digests.reduce<bigint>((total, digest) => total + (digest ?? 0n), 0n),
    );
    assert.equal(view.checksum, sum.toString(16).padStart(32, "0"), `sum at ${revision}`);
    this.sums++;
  }

  /** Compares the copy with the true state. `begins`: some changes of this revision may still follow. */
  #checkTruth(revision: number, begins: boolean): void {
    const truth = heldAt(this.#fed, this.selection, revision);
    if (begins) this.#allowPart(truth, revision);
    assert.deepEqual(plain(this.#copy), plain(truth), `the copy at ${revision}`);
  }

  /** If the revision changed several objects, the copy may hold their previous versions. */
  #allowPart(truth: Map<string, Held>, revision: number): void {
    const changed = this.#fed.history.filter((event) => event.revision === revision);
    if (changed.length < 2) return;
    const before = heldAt(this.#fed, this.selection, revision - 1);
    for (const { key } of changed) {
      const was = before.get(key);
      if (this.#copy.get(key)?.revision !== was?.revision) continue;
      if (was === undefined) truth.delete(key);
      else truth.set(key, was);
    }
  }

  /** Handles the end of the initial events. */
  #begin(revision: number): void {
    this.#synced = true;
    this.#listed = new Map(this.#copy);
    this.#log = [];
    this.#logFrom = this.#sessionStart = revision;
  }

  /** Returns every selected change since the copy was made, computed from the true history alone. */
  #owed(): string[] {
    const lines: string[] = [];
    const labels = new Map<string, string>();
    for (const event of this.#fed.history) {
      const type = transition(this.selection, labels.get(event.key), event);
      if (event.type === "DELETED") labels.delete(event.key);
      else labels.set(event.key, event.label ?? "");
      if (type === undefined || !this.#isOwed(event, type)) continue;
      lines.push(`${type} ${event.key}@${event.revision}`);
    }
    return lines;
  }

  /** Whether the change must arrive. Of the start revision, only changes that the initial state did not show are owed. */
  #isOwed({ key, revision }: Written, type: string): boolean {
    if (revision !== this.#logFrom) return revision > this.#logFrom;
    const held = this.#listed.get(key);
    return type === "DELETED" ? held !== undefined : held?.revision !== revision;
  }
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** Returns `key@revision` of a line of the log. */
function changeOf(line: string): string {
  return line.slice(line.indexOf(" ") + 1);
}

function transition(
  { wants }: Selection,
  before: string | undefined,
  { key, label, type }: Written,
): "ADDED" | "MODIFIED" | "DELETED" | undefined {
  const saw = before !== undefined && wants(key, before);
  const sees = type !== "DELETED" && wants(key, label ?? "");
  if (sees) return saw ? "MODIFIED" : "ADDED";
  return saw ? "DELETED" : undefined;
}

function heldAt({ history }: Fed, { wants }: Selection, revision: number): Map<string, Held> {
  const held = new Map<string, Held>();
  for (const event of history) {
    if (event.revision > revision) break;
    if (event.type === "DELETED" || !wants(event.key, event.label ?? "")) held.delete(event.key);
    else held.set(event.key, { revision: event.revision, digest: undefined });
  }
  return held;
}

function plain(copy: ReadonlyMap<string, Held>): readonly string[] {
  return [...copy].map(([key, { revision }]) => `${key}@${revision}`).sort();
}
