/** The watch cache at its door: what watchers see, whatever the sinks, the ring and history do. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "#api/status.ts";
import { predicate, start, TestFeed, TestSink } from "./testing/feed.ts";

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
