/**
 * For tests: a feed that keeps all of its history, a cache fed by it, a sink with a capacity, and an
 * oracle that computes what a watcher must see from the list of changes, without a cache.
 */
import { parseFieldSelector } from "#api/selectors/field-selector.ts";
import { parseLabelSelector } from "#api/selectors/label-selector.ts";
import type { AnyObject } from "#api/object.ts";
import { plainFieldValue } from "#api/selectors/selectable-fields.ts";
import type { Clock } from "#platform/clock.ts";
import type { Change } from "../cache-state.ts";
import type { CacheOptions } from "../cache.ts";
import { WatchCache } from "../cache.ts";
import { CacheEvent } from "../cache-event.ts";
import type { Cursor } from "../cursor.ts";
import type { DeliveryPolicy } from "../delivery-scheduler.ts";
import type { History, HistoryReader, HistorySink } from "../history.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { encodeObject } from "#forms/object-bytes.ts";
import { compilePredicate, type Predicate } from "../predicate.ts";
import type { ObjectSource } from "#forms/shared-object.ts";
import { SharedObject } from "#forms/shared-object.ts";
import type { WatchItem, WatchSink } from "../watch-item.ts";

export interface Write {
  readonly key: string;
  /** Undefined: the object is deleted. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly node?: string;
}

export const testSource: ObjectSource = {
  fieldValue: plainFieldValue,
  memos: new MemoPool({ bytesMax: 1 << 20 }),
  freeze: true,
};

/** Policy under which all cursors are served before dispatch returns. */
const noTurns = { cursorsMin: Number.POSITIVE_INFINITY, cursorsPerTurn: 500 };

/** Policy without windows and delays. */
export const testDelivery: DeliveryPolicy = {
  gather: { watchersMin: 0, windowMs: 0 },
  turns: noTurns,
  latest: undefined,
};

const testCacheOptions: CacheOptions = {
  delivery: testDelivery,
  ringItemsMax: 1000,
  ringBytesMax: 1 << 20,
  pinnedMax: 4,
  indexedField: "spec.nodeName",
};

/** Digest of key and revision, which identify an object in these tests. */
export function testDigest(object: SharedObject): bigint {
  let digest = 0xcbf29ce484222325n;
  for (const char of `${object.key}@${object.revision}`) {
    digest = BigInt.asUintN(128, (digest ^ BigInt(char.charCodeAt(0))) * 0x100000001b3n);
  }
  return digest;
}

export function testObject(key: string, write: Omit<Write, "key">, revision: number): SharedObject {
  const [namespace, name] = key.includes("/") ? key.split("/") : ["", key];
  const object: AnyObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: name ?? "", namespace: namespace ?? "", labels: write.labels ?? {} },
    spec: { nodeName: write.node ?? "" },
  };
  return new SharedObject(testSource, key, encodeObject(object), revision);
}

export function predicate(namespace = "", labels = "", fields = ""): Predicate {
  return compilePredicate({
    namespace,
    namespaced: true,
    labels: parseLabelSelector(labels),
    fields: parseFieldSelector(fields),
  });
}

export const everything = predicate();

/** A cache together with the list of all its changes. */
export class TestFeed implements History {
  readonly cache: WatchCache;
  readonly events: CacheEvent[] = [];
  compactRevision = 1;
  #revision = 1;
  readonly #state = new Map<string, SharedObject>();
  readonly #readers = new Set<TestReader>();

  /** Pending turns and windows: all timers of the cache. */
  readonly #turns: (() => void)[] = [];

  /**
   * `crowd`: from two watchers on they are served in slices of this size, one per turn. `turn` runs a turn
   * or opens a window for watchers of the latest state.
   */
  constructor(options: Partial<CacheOptions> & { readonly crowd?: number } = {}) {
    const cursorsPerTurn = options.crowd ?? 0;
    const turns = cursorsPerTurn > 0 ? { cursorsMin: 2, cursorsPerTurn } : noTurns;
    const delivery = { ...testDelivery, turns, latest: { windowMs: 1 } };
    this.cache = new WatchCache(
      { clock: this.#clock(), history: this, digestOf: testDigest },
      { objects: [], revision: 1 },
      { ...testCacheOptions, delivery, ...options },
    );
  }

  /** Timers fire in the order in which they were set, one per `turn`. */
  #clock(): Clock {
    const after: Clock["after"] = (_name, _delayMs, f) => {
      this.#turns.push(f);
      return { cancel: () => this.#drop(f) };
    };
    return { nowMs: () => 0, monotonicMs: () => 0, after };
  }

  #drop(f: () => void): void {
    const at = this.#turns.indexOf(f);
    if (at >= 0) this.#turns.splice(at, 1);
  }

  get revision(): number {
    return this.#revision;
  }

  /** Applies one revision with these writes, without dispatching it. */
  apply(...writes: readonly Write[]): void {
    const revision = ++this.#revision;
    const changes: Change[] = [];
    for (const write of writes) {
      const next = write.labels === undefined ? undefined : testObject(write.key, write, revision);
      const previous = this.#state.get(write.key);
      if (next === undefined && previous === undefined) continue;
      if (next === undefined) this.#state.delete(write.key);
      else this.#state.set(write.key, next);
      this.events.push(new CacheEvent(revision, write.key, next, previous));
      changes.push({ key: write.key, next });
    }
    this.cache.apply(revision, changes);
  }

  write(...writes: readonly Write[]): void {
    this.apply(...writes);
    this.dispatch();
  }

  /** Advances by a revision of another resource. */
  skip(): void {
    this.cache.advance(++this.#revision);
  }

  dispatch(): void {
    this.cache.dispatch();
    for (const reader of this.#readers) reader.resume();
  }

  /** @returns false when no turn was pending. */
  turn(): boolean {
    const turn = this.#turns.shift();
    turn?.();
    return turn !== undefined;
  }

  compact(revision: number): void {
    this.compactRevision = Math.max(this.compactRevision, revision);
  }

  stateAt(revision: number): Map<string, SharedObject> {
    const state = new Map<string, SharedObject>();
    for (const event of this.events) {
      if (event.revision > revision) break;
      if (event.next === undefined) state.delete(event.key);
      else state.set(event.key, event.next);
    }
    return state;
  }

  read(after: number, sink: HistorySink): HistoryReader {
    const reader = new TestReader(this, after, sink);
    this.#readers.add(reader);
    reader.resume();
    return {
      get position() {
        return reader.position;
      },
      resume: () => reader.resume(),
      close: () => void this.#readers.delete(reader),
    };
  }
}

class TestReader {
  readonly #feed: TestFeed;
  readonly #sink: HistorySink;
  #after: number;

  constructor(feed: TestFeed, after: number, sink: HistorySink) {
    this.#feed = feed;
    this.#after = after;
    this.#sink = sink;
  }

  get position(): number {
    return this.#after;
  }

  resume(): void {
    if (this.#after < this.#feed.compactRevision) {
      this.#sink.compacted();
      return;
    }
    for (;;) {
      const first = this.#feed.events.find((event) => event.revision > this.#after);
      if (first === undefined) {
        this.#after = this.#feed.revision;
        return;
      }
      const batch = this.#feed.events.filter((event) => event.revision === first.revision);
      if (!this.#sink.deliver(batch)) return;
      this.#after = first.revision;
    }
  }
}

/** Accepts up to `room` items, then refuses until it gets more room. */
export class TestSink implements WatchSink {
  readonly items: WatchItem[] = [];
  readonly isMaking: boolean;
  room: number;
  error: Error | undefined;
  ended = false;

  constructor(room = Number.POSITIVE_INFINITY, options: { isMaking?: boolean } = {}) {
    this.room = room;
    this.isMaking = options.isMaking ?? false;
  }

  deliver(items: readonly WatchItem[]): boolean {
    if (this.room <= 0) return false;
    this.room -= items.length;
    this.items.push(...items);
    return true;
  }

  end(error?: Error): void {
    this.ended = true;
    this.error = error;
  }

  /** One text per item, such as `ADDED a/x@5 v=1`. */
  get lines(): string[] {
    return this.items.map(describeItem);
  }
}

export function describeItem(item: WatchItem): string {
  if (item.object === undefined) {
    return `BOOKMARK @${item.resourceVersion}${item.initialEventsEnd === true ? " end" : ""}`;
  }
  const { object } = item;
  const labels = Object.entries(object.labels).map(([key, value]) => ` ${key}=${value}`);
  const at = object.resourceVersion;
  return `${item.type} ${object.namespace}/${object.name}@${at}${labels.join("")}`;
}

export function start(
  feed: TestFeed,
  sink: TestSink,
  from: "state" | number,
  wanted = everything,
): Cursor {
  const position = from === "state" ? from : { after: from };
  const options = { predicate: wanted, bookmarks: true, checksums: true, start: position } as const;
  return feed.cache.watch(options, sink);
}
