/**
 * A client that believes nothing: it keeps a copy by what it is told, reconnects where it was told to be,
 * and complains about a gap, a repeat, a wrong order, a false type, a false bookmark or a false sum.
 *
 * Copy     what the selection held at the start, changed by every event since.
 * Log      every event since the copy was made from a list, over all connections: compared at the end
 *          with what the truth says must have come (`owed`).
 * Allowed  parts of a revision that came apart are told again to who resumes at it.
 */
import assert from "node:assert/strict";
import type { Predicate } from "#watch/predicate.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import type { Fed, OpenWatch, Written } from "./fed.ts";

interface Held {
  readonly revision: number;
  readonly digest: bigint | undefined;
}

/** A selection, and the same decided without any of the product's code. */
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
  #watch: OpenWatch | undefined;
  #copy = new Map<string, Held>();
  /** Newest revision told of each key: nothing is told twice. */
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
  /** Views compared with the copy. */
  sums = 0;

  constructor(
    fed: Fed,
    selection: Selection,
    options: { readonly replica: number; readonly room: number; readonly ordered: boolean },
  ) {
    this.#fed = fed;
    this.selection = selection;
    this.#replica = options.replica;
    this.room = options.room;
    this.#ordered = options.ordered;
  }

  /** With the state, or after `revision`, knowing what was true then. */
  start(from: number | "state"): void {
    this.#copy = from === "state" ? new Map() : heldAt(this.#fed, this.selection, from);
    this.#told = new Map();
    this.#log = [];
    this.#listed = new Map(this.#copy);
    this.#logFrom = this.#position = from === "state" ? 0 : from;
    this.#starts = from;
    this.#open();
  }

  /** Its whole copy came from this watch, so it can add up every sum. */
  get fromState(): boolean {
    return (
      this.#watch !== undefined && [...this.#copy.values()].every((h) => h.digest !== undefined)
    );
  }

  /** The connection breaks; the client goes on where it is, here or at another replica. */
  reconnect(replica = this.#replica): void {
    this.#close();
    this.#replica = replica;
    if (this.#synced || this.#starts !== "state") {
      this.#starts = this.#position;
      this.#open();
    } else this.start("state");
  }

  give(room: number): void {
    this.room = room;
    this.#watch?.resume();
  }

  /** After the end of all faults: the copy is the truth. */
  finish(): void {
    this.give(Number.POSITIVE_INFINITY);
    if (this.#watch === undefined) this.start("state");
    this.verdict();
    const wanted = heldAt(this.#fed, this.selection, this.#fed.head);
    assert.deepEqual(plain(this.#copy), plain(wanted), `the copy of ${this.selection.name}`);
    if (this.#fed.exact && this.#ordered) assert.deepEqual(this.#log, this.#owed(), "every event");
  }

  /** Throws what was wrong, up to now. */
  verdict(): void {
    if (this.#complaint !== undefined) throw this.#complaint;
  }

  close(): void {
    this.#close();
  }

  deliver(items: readonly WatchItem[]): boolean {
    if (this.room <= 0) return false;
    this.room -= items.length;
    this.#judge(() => {
      for (const item of items) this.#take(item);
    });
    return true;
  }

  /** A sink never throws: what is wrong is kept for the end. */
  #judge(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.#complaint ??= error;
    }
  }

  end(error?: Error): void {
    this.#watch = undefined;
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
    let over = false;
    const watch = this.#fed.watch(this.#replica, this.selection.predicate, from, {
      deliver: (items) => this.deliver(items),
      end: (error) => {
        over = true;
        this.end(error);
      },
    });
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
    // What is on the wire. Of what was lost and found by a list, the place among the events is later.
    const revision = Number(item.object.resourceVersion);
    const key = `${item.object.namespace}/${item.object.name}`;
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
    if (this.#fed.exact) assert.equal(type === "ADDED", !this.#copy.has(key), told);
  }

  /** A part told again, in a revision of several objects, at which this client began. */
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

  /** The initial events are all here. */
  #begin(revision: number): void {
    this.#synced = true;
    this.#listed = new Map(this.#copy);
    this.#log = [];
    this.#logFrom = this.#sessionStart = revision;
  }

  /** By the truth alone: every change of what is selected since the copy was made. */
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

  /** Of the revision it began with, whatever the beginning did not show. */
  #isOwed({ key, revision }: Written, type: string): boolean {
    if (revision !== this.#logFrom) return revision > this.#logFrom;
    const held = this.#listed.get(key);
    return type === "DELETED" ? held !== undefined : held?.revision !== revision;
  }
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
