/** The watch cache at its door: what watchers see, whatever the sinks, the ring and history do. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseFieldSelector } from "#api/field-selector.ts";
import { parseLabelSelector } from "#api/label-selector.ts";
import { ApiError } from "#api/status.ts";
import type { CacheEvent } from "./cache-event.ts";
import type { Cursor } from "./cursor.ts";
import type { Predicate } from "./predicate.ts";
import { compilePredicate } from "./predicate.ts";
import { describeItem, testDigest, TestFeed, TestSink } from "./testing/feed.ts";
import type { Write } from "./testing/feed.ts";
import type { ViewState, WatchItem } from "./watch-item.ts";

function predicate(namespace = "", labels = "", fields = ""): Predicate {
  return compilePredicate({
    namespace,
    namespaced: true,
    labels: parseLabelSelector(labels),
    fields: parseFieldSelector(fields),
  });
}

const everything = predicate();

function start(
  feed: TestFeed,
  sink: TestSink,
  from: "state" | number,
  wanted = everything,
): Cursor {
  const position = from === "state" ? from : { after: from };
  const options = { predicate: wanted, bookmarks: true, checksums: true, start: position } as const;
  return feed.cache.watch(options, sink);
}

void describe("a watcher", () => {
  void it("that starts with the state gets it in key order, then the end mark, then changes", () => {
    const feed = new TestFeed();
    feed.write({ key: "b/x", labels: { v: "1" } });
    feed.write({ key: "a/y", labels: { v: "2" } });
    const sink = new TestSink();
    start(feed, sink, "state");
    feed.write({ key: "a/y", labels: { v: "3" } });
    feed.write({ key: "b/x" });
    assert.deepEqual(sink.lines, [
      "ADDED a/y@3 v=2",
      "ADDED b/x@2 v=1",
      "BOOKMARK @3 end",
      "MODIFIED a/y@4 v=3",
      "DELETED b/x@5 v=1",
    ]);
  });

  void it("with a label selector sees objects arrive and leave", () => {
    const feed = new TestFeed();
    const sink = new TestSink();
    start(feed, sink, 1, predicate("", "app=web"));
    feed.write({ key: "a/x", labels: { app: "db" } });
    feed.write({ key: "a/x", labels: { app: "web", v: "1" } });
    feed.write({ key: "a/x", labels: { app: "web", v: "2" } });
    feed.write({ key: "a/x", labels: { app: "db" } });
    feed.write({ key: "a/x" });
    assert.deepEqual(sink.lines, [
      "ADDED a/x@3 app=web v=1",
      "MODIFIED a/x@4 app=web v=2",
      "DELETED a/x@5 app=web v=2",
    ]);
  });

  void it("of one node sees a pod when it is bound, whichever index it is in", () => {
    const feed = new TestFeed();
    const sink = new TestSink();
    start(feed, sink, 1, predicate("", "", "spec.nodeName=n1"));
    feed.write({ key: "a/x", labels: {} });
    feed.write({ key: "a/x", labels: {}, node: "n1" });
    feed.write({ key: "a/y", labels: {}, node: "n2" });
    feed.write({ key: "a/x", labels: {}, node: "n2" });
    assert.deepEqual(sink.lines, ["ADDED a/x@3", "DELETED a/x@5"]);
  });

  void it("by a label is found by it, and by namespace when too many labels are selected by", () => {
    const feed = new TestFeed();
    const sinks = Array.from({ length: 40 }, (_, at) => {
      const sink = new TestSink();
      const cursor = start(feed, sink, 1, predicate(at % 2 === 0 ? "" : "a", `key${at}=v`));
      return { sink, cursor };
    });
    feed.write({ key: "a/x", labels: { key3: "v", key38: "v", constructor: "v" } });
    feed.write({ key: "b/x", labels: { key3: "v", key38: "w" } });
    feed.write({ key: "a/x", labels: { key38: "u" } });
    const seen = sinks.map(({ sink }) => sink.lines.length);
    assert.deepEqual(
      seen.map((count, at) => `${at}:${count}`).filter((text) => !text.endsWith(":0")),
      ["3:2", "38:2"],
    );
    for (const { cursor } of sinks) cursor.close();
    feed.write({ key: "a/x", labels: { key3: "v" } });
    assert.deepEqual(
      sinks.map(({ sink }) => sink.lines.length),
      seen,
    );
  });

  void it("is handed a large change in pieces, so that its sink may refuse the rest", () => {
    const feed = new TestFeed({ ringBytesMax: 64 << 20 });
    const sink = new TestSink(1);
    const cursor = start(feed, sink, 1);
    const filler = "x".repeat(300_000);
    for (let at = 0; at < 20; at++) feed.apply({ key: `a/${at}`, labels: { filler } });
    feed.dispatch();
    assert.equal(sink.items.length, 4);
    sink.room = 1;
    cursor.resume();
    assert.equal(sink.items.length, 8);
    sink.room = 100;
    cursor.resume();
    assert.equal(sink.items.length, 20);
    assert.equal(cursor.live, true);
  });

  void it("shares its items with every other watcher of the same thing", () => {
    const feed = new TestFeed();
    const sinks = [new TestSink(), new TestSink()] as const;
    for (const sink of sinks) start(feed, sink, 1);
    feed.write({ key: "a/x", labels: {} });
    assert.equal(sinks[0].items[0], sinks[1].items[0]);
    const bytes = sinks[0].items[0]?.object?.encoded("t", () => new Uint8Array(3));
    assert.equal(
      sinks[1].items[0]?.object?.encoded("t", () => new Uint8Array(9)),
      bytes,
    );
  });

  void it("whose sink refuses misses nothing and is served from history below the ring", () => {
    const feed = new TestFeed({ ringItemsMax: 3 });
    const sink = new TestSink(1);
    const cursor = start(feed, sink, 1);
    for (let v = 0; v < 10; v++) feed.write({ key: "a/x", labels: { v: String(v) } });
    assert.equal(sink.items.length, 1);
    sink.room = Number.POSITIVE_INFINITY;
    cursor.resume();
    assert.equal(sink.items.length, 10);
    assert.equal(cursor.live, true);
  });

  void it("is told 410 only where history ends", () => {
    const feed = new TestFeed({ ringItemsMax: 3 });
    for (let v = 0; v < 10; v++) feed.write({ key: "a/x", labels: { v: String(v) } });
    feed.compact(5);
    const alive = new TestSink();
    start(feed, alive, 5);
    assert.equal(alive.items.length, 6);
    const dead = new TestSink();
    start(feed, dead, 4);
    assert.deepEqual(dead.items, []);
    assert.ok(dead.error instanceof ApiError);
    assert.equal(dead.error.message, "too old resource version: 4 (8)");
    assert.equal(dead.error.code, 410);
  });

  void it("gets bookmarks at what it was delivered, never ahead of it", () => {
    const feed = new TestFeed();
    const sink = new TestSink();
    const cursor = start(feed, sink, 1);
    feed.apply({ key: "a/x", labels: {} });
    cursor.bookmark();
    feed.dispatch();
    cursor.bookmark();
    feed.cache.advance(9);
    feed.cache.bookmark(0, 1);
    assert.deepEqual(sink.lines, ["BOOKMARK @1", "ADDED a/x@2", "BOOKMARK @2", "BOOKMARK @9"]);
  });

  void it("may close itself, or start others, from inside deliver", () => {
    const feed = new TestFeed();
    const inner = new TestSink();
    const sink = new TestSink();
    const cursor = start(feed, sink, 1);
    const take = sink.deliver.bind(sink);
    sink.deliver = (items) => {
      cursor.close();
      start(feed, inner, "state");
      return take(items);
    };
    feed.write({ key: "a/x", labels: {} }, { key: "a/y", labels: {} });
    feed.write({ key: "a/x" });
    assert.deepEqual(sink.lines, ["ADDED a/x@2", "ADDED a/y@2"]);
    assert.deepEqual(inner.lines, [
      "ADDED a/x@2",
      "ADDED a/y@2",
      "BOOKMARK @2 end",
      "DELETED a/x@3",
    ]);
    assert.equal(feed.cache.watchers, 1);
  });

  void it("that asks again from inside a refused deliver is served at once", () => {
    const feed = new TestFeed();
    const sink = new TestSink(0);
    const cursor = start(feed, sink, 1);
    const take = sink.deliver.bind(sink);
    sink.deliver = (items) => {
      if (take(items)) return true;
      sink.room = 10;
      cursor.resume();
      return false;
    };
    feed.write({ key: "a/x", labels: {} });
    assert.deepEqual(sink.lines, ["ADDED a/x@2"]);
  });
});

void describe("snapshots", () => {
  void it("show the state at any revision the ring reaches, whatever was written since", () => {
    const feed = new TestFeed({ ringItemsMax: 40 });
    for (let v = 0; v < 60; v++) {
      const key = `a/${v % 7}`;
      feed.write(v % 5 === 0 ? { key } : { key, labels: { v: String(v) } });
    }
    assert.equal(feed.cache.state.snapshotAt(feed.cache.state.floor - 1), undefined);
    for (let at = feed.cache.state.floor; at <= feed.revision; at++) {
      const found: string[] = [];
      feed.cache.state.snapshotAt(at)?.objects.scan("", "\xff", (object) => {
        found.push(`${object.key}@${object.revision}`);
        return true;
      });
      const wanted = [...feed.stateAt(at).values()].map((o) => `${o.key}@${o.revision}`).sort();
      assert.deepEqual(found, wanted, `at ${at}`);
    }
  });
});

const keys = ["a/x", "a/y", "b/x", "b/y", "c/z"];
const labelSets = [{}, { app: "web" }, { app: "db" }] as const;
const writes: fc.Arbitrary<Write> = fc.record({
  key: fc.constantFrom(...keys),
  labels: fc.option(fc.constantFrom<Readonly<Record<string, string>>>(...labelSets), {
    nil: undefined,
  }),
  node: fc.constantFrom("", "n1", "n2"),
});
const predicates = [
  everything,
  predicate("a"),
  predicate("a", "", "metadata.name=x"),
  predicate("", "app=web"),
  predicate("a", "app in (web),v!=1"),
  predicate("", "app in (web,db)"),
  predicate("b", "app!=db"),
  predicate("", "", "spec.nodeName=n1"),
  predicate("a", "app", "spec.nodeName=n2"),
  predicate("", "", "metadata.namespace=b,metadata.name=y"),
  predicate("a", "", "metadata.namespace=b"),
];
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("write"),
      writes: fc.array(writes, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("dispatch") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("watch"),
      which: fc.nat(predicates.length - 1),
      back: fc.nat(12),
      state: fc.boolean(),
      room: fc.nat(6),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("room"), who: fc.nat(5), room: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact"), back: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("bookmark") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("advance") }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("turn") }) },
);
interface Step {
  do: string;
  writes?: readonly Write[] | undefined;
  which?: number | undefined;
  back?: number | undefined;
  state?: boolean | undefined;
  room?: number | undefined;
  who?: number | undefined;
}

interface Watcher {
  readonly sink: TestSink;
  readonly cursor: Cursor;
  readonly predicate: Predicate;
  readonly start: number;
  readonly state: boolean;
}

/** What a watcher must have seen once everything was delivered, worked out without a cache. */
function oracle(feed: TestFeed, watcher: Watcher): string[] {
  const { predicate: wanted, start: from } = watcher;
  const inScope = (key: string): boolean => key >= wanted.from && key < wanted.to;
  const lines: string[] = [];
  if (watcher.state) {
    const state = [...feed.stateAt(from).values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    for (const object of state) {
      if (!inScope(object.key) || !wanted.matches(object)) continue;
      lines.push(describeItem({ type: "ADDED", object, resourceVersion: "" }));
    }
    lines.push(`BOOKMARK @${from} end`);
  }
  for (const event of feed.events) {
    if (event.revision > from && inScope(event.key)) lines.push(...oracleEvent(event, wanted));
  }
  return lines;
}

function oracleEvent(event: CacheEvent, wanted: Predicate): string[] {
  const sees = event.next !== undefined && wanted.matches(event.next);
  const saw = event.previous !== undefined && wanted.matches(event.previous);
  const object = sees ? event.next : event.previous?.at(event.revision);
  if (!sees && !saw) return [];
  const type = sees ? (saw ? "MODIFIED" : "ADDED") : "DELETED";
  return [describeItem({ type, object, resourceVersion: "" })];
}

function runSteps(feed: TestFeed, all: readonly Step[]): Watcher[] {
  const watchers: Watcher[] = [];
  for (const step of all) {
    if (step.do === "write") feed.apply(...(step.writes ?? []));
    if (step.do === "dispatch") feed.dispatch();
    if (step.do === "compact") feed.compact(feed.revision - (step.back ?? 0));
    if (step.do === "advance") feed.skip();
    if (step.do === "turn") feed.turn();
    if (step.do === "bookmark") feed.cache.bookmark(0, 1);
    if (step.do === "watch") watchers.push(runWatch(feed, step));
    if (step.do === "room") {
      const watcher = watchers[(step.who ?? 0) % Math.max(1, watchers.length)];
      if (watcher === undefined) continue;
      watcher.sink.room = step.room ?? 0;
      watcher.cursor.resume();
    }
  }
  return watchers;
}

function runWatch(feed: TestFeed, step: Step): Watcher {
  const sink = new TestSink(step.room ?? 0);
  const wanted = predicates[step.which ?? 0] ?? everything;
  const state = step.state === true;
  const from = state ? feed.revision : Math.max(1, feed.revision - (step.back ?? 0));
  const cursor = start(feed, sink, state ? "state" : from, wanted);
  return { sink, cursor, predicate: wanted, start: from, state };
}

void describe("a crowd", () => {
  void it("is served a slice per turn, and who is served late gets what came meanwhile with it", () => {
    const feed = new TestFeed({ crowd: 1 });
    const sinks = [1, 2, 3].map(() => new TestSink());
    for (const sink of sinks) start(feed, sink, 1);
    const seen = (): number[] => sinks.map((sink) => sink.items.length);
    feed.write({ key: "a/x", labels: {} });
    assert.deepEqual(seen(), [1, 0, 0]);
    feed.write({ key: "a/y", labels: {} });
    assert.deepEqual(seen(), [1, 0, 0]);
    feed.turn();
    assert.deepEqual(seen(), [1, 2, 0]);
    while (feed.turn());
    assert.deepEqual(seen(), [2, 2, 2]);
    const lines = ["ADDED a/x@2", "ADDED a/y@3"];
    for (const sink of sinks) assert.deepEqual(sink.lines, lines);
  });
});

void describe("watchers of one selector", () => {
  void it("share their batches, and are served in turns when they are a crowd", () => {
    const feed = new TestFeed({ crowd: 1 });
    const batches: (readonly WatchItem[])[] = [];
    const sink = { deliver: (items: readonly WatchItem[]) => batches.push(items) > 0, end() {} };
    const options = { bookmarks: false, start: { after: 1 } };
    for (let at = 0; at < 3; at++) {
      feed.cache.watch({ ...options, predicate: predicate("", "app=web,v!=1") }, sink);
    }
    feed.write({ key: "a/x", labels: { app: "web" } });
    assert.equal(batches.length, 1);
    while (feed.turn());
    assert.equal(batches.length, 3);
    assert.ok(batches.every((batch) => batch === batches[0]));
  });
});

void describe("any watcher from any start, under slow sinks, ring overflow and compaction", () => {
  void it("sees exactly state(start) + events, in order, once - or a prefix of it and 410", () => {
    fc.assert(
      fc.property(
        fc.array(steps, { maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        fc.nat(3),
        (all, ring, crowd) => {
          const feed = new TestFeed({ ringItemsMax: ring, crowd });
          const watchers = runSteps(feed, all);
          feed.dispatch();
          while (feed.turn());
          for (const watcher of watchers) checkWatcher(feed, watcher);
        },
      ),
      { numRuns: 600 },
    );
  });
});

function checkWatcher(feed: TestFeed, watcher: Watcher): void {
  const { sink, cursor } = watcher;
  sink.room = Number.POSITIVE_INFINITY;
  cursor.resume();
  checkViews(feed, watcher);
  const isPlainBookmark = (line: string): boolean => /^BOOKMARK @\d+$/.test(line);
  checkBookmarks(sink);
  const seen = sink.lines.filter((line) => !isPlainBookmark(line));
  const wanted = oracle(feed, watcher);
  if (!sink.ended) {
    assert.deepEqual(seen, wanted);
    return;
  }
  assert.deepEqual(seen, wanted.slice(0, seen.length));
  assert.ok(feed.compactRevision > watcher.start, "410 without compaction");
}

/** A bookmark's sum is that of the state it names; who keeps up is told one. */
function checkViews(feed: TestFeed, { sink, cursor, predicate: wanted }: Watcher): void {
  if (cursor.live) cursor.bookmark();
  for (const { view, resourceVersion } of sink.items) {
    if (view !== undefined) assert.deepEqual(view, viewAt(feed, wanted, Number(resourceVersion)));
  }
  if (cursor.live) assert.ok(sink.items.at(-1)?.view !== undefined, "a live watcher is told");
}

function viewAt(feed: TestFeed, wanted: Predicate, revision: number): ViewState {
  const held = [...feed.stateAt(revision).values()].filter(
    (object) => object.key >= wanted.from && object.key < wanted.to && wanted.matches(object),
  );
  const sum = held.reduce((total, object) => total + testDigest(object), 0n);
  const checksum = BigInt.asUintN(128, sum).toString(16).padStart(32, "0");
  return { count: held.length, checksum };
}

/** What follows a bookmark is above it; what came before is not. */
function checkBookmarks(sink: TestSink): void {
  let floor = 0;
  for (const item of sink.items) {
    const revision = Number(item.resourceVersion);
    if (item.object === undefined) floor = Math.max(floor, revision);
    else assert.ok(revision > floor, `event @${revision} after bookmark @${floor}`);
  }
}
