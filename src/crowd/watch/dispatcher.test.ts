/** When watchers are served: in pieces, in turns, and with one batch shared by equal selections. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { predicate, start, TestFeed, TestSink } from "./testing/feed.ts";
import type { WatchItem } from "./watch-item.ts";

void describe("a watcher of much", () => {
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
});

void describe("a watcher of little", () => {
  void it("looks for it in turns when the state is large, and gets it once, with the end mark", () => {
    const feed = new TestFeed({ crowd: 1_000 });
    for (let at = 0; at < 2_000; at++) {
      const key = `a/${String(at).padStart(4, "0")}`;
      feed.write({ key, labels: { app: at === 1_900 ? "web" : "db" } });
    }
    const sink = new TestSink();
    start(feed, sink, "state", predicate("", "app=web"));
    assert.deepEqual(sink.lines, [], "nothing of the first 250 objects");
    let turns = 0;
    while (feed.turn()) turns++;
    assert.equal(turns, 7);
    const end = feed.cache.state.revision;
    assert.deepEqual(sink.lines, [`ADDED a/1900@${end - 99} app=web`, `BOOKMARK @${end} end`]);
  });
});

void describe("a watcher whose sink makes a form of its own of each object", () => {
  /** Items that came by turn, the first at once. */
  function byTurn(feed: TestFeed, sink: TestSink): number[] {
    const counts = [sink.items.length];
    while (feed.turn()) counts.push(sink.items.length - counts.reduce((sum, one) => sum + one, 0));
    return counts;
  }

  function filled(count: number, bytes: number): TestFeed {
    const feed = new TestFeed({ ringBytesMax: 64 << 20 });
    const labels = { filler: "x".repeat(bytes) };
    for (let at = 0; at < count; at++) feed.apply({ key: `a/${1_000 + at}`, labels });
    feed.dispatch();
    return feed;
  }

  void it("gets a state in turns, fewer at a time the larger they are", () => {
    const small = filled(200, 10);
    const sink = new TestSink(undefined, { isMaking: true });
    start(small, sink, "state");
    const turns = byTurn(small, sink);
    assert.ok(Math.max(...turns) <= 50, turns.join(" "));
    assert.equal(sink.items.length, 201);
    const large = filled(20, 300_000);
    const second = new TestSink(undefined, { isMaking: true });
    start(large, second, "state");
    assert.ok(Math.max(...byTurn(large, second)) <= 3);
    assert.equal(second.items.length, 21);
  });

  void it("gets what it has missed in turns, and a change of many objects too", () => {
    const feed = filled(200, 10);
    const behind = new TestSink(undefined, { isMaking: true });
    start(feed, behind, 1);
    assert.ok(Math.max(...byTurn(feed, behind)) <= 50);
    assert.equal(behind.items.length, 200);
    for (let at = 0; at < 200; at++) feed.apply({ key: `b/${1_000 + at}`, labels: {} });
    feed.dispatch();
    assert.ok(behind.items.length <= 250, `${behind.items.length} at once`);
    assert.ok(Math.max(...byTurn(feed, behind).slice(1)) <= 50);
    assert.equal(behind.items.length, 400);
    assert.equal(new Set(behind.lines).size, 400);
  });

  void it("shares its turns with others like it", () => {
    const feed = filled(200, 10);
    const sinks = Array.from({ length: 20 }, () => new TestSink(undefined, { isMaking: true }));
    for (const sink of sinks) start(feed, sink, "state");
    const made = (): number => sinks.reduce((sum, { items }) => sum + items.length, 0);
    for (let before = made(); feed.turn(); before = made())
      assert.ok(made() - before <= 100, `${made() - before} in a turn`);
    assert.equal(made(), 20 * 201);
  });
});

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

/** `count` requirements that every object meets that has no such labels. */
function absent(count: number): string {
  return Array.from({ length: count }, (_, at) => `!z${at}`).join();
}

void describe("a crowd of long selectors", () => {
  const labels = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`l${at}`, ""]));

  function crowd(feed: TestFeed, count: number): TestSink[] {
    const sinks = Array.from({ length: count }, () => new TestSink());
    for (const [at, sink] of sinks.entries())
      start(feed, sink, 1, predicate("", `${absent(4_000)},l${at}`));
    while (feed.turn());
    return sinks;
  }

  const told = (sinks: readonly TestSink[]): number =>
    sinks.filter(({ items }) => items.length > 0).length;

  void it("judges an object of many labels in turns, and everybody is told in the end", () => {
    const feed = new TestFeed();
    const sinks = crowd(feed, 40);
    feed.write({ key: "a/x", labels });
    const first = told(sinks);
    assert.ok(first >= 1 && first <= 8, `${first} in the first turn`);
    let turns = 0;
    while (feed.turn()) turns++;
    assert.ok(turns >= 4, `${turns} turns`);
    assert.equal(told(sinks), 40);
  });

  void it("does not keep anybody else waiting", () => {
    const feed = new TestFeed();
    crowd(feed, 40);
    const [plain, selective] = [new TestSink(), new TestSink()];
    start(feed, plain, 1);
    start(feed, selective, 1, predicate("", "l7"));
    feed.write({ key: "a/x", labels });
    assert.equal(told([plain, selective]), 2);
  });

  void it("is told at once of an object of few labels", () => {
    const feed = new TestFeed();
    const sinks = Array.from({ length: 40 }, () => new TestSink());
    for (const sink of sinks) start(feed, sink, 1, predicate("", absent(4_000)));
    while (feed.turn());
    feed.write({ key: "a/x", labels: { app: "web" } });
    assert.equal(told(sinks), 40);
  });
});

void describe("a long selector that finds nothing", () => {
  void it("reads the state and the ring in turns", () => {
    const feed = new TestFeed({ ringBytesMax: 64 << 20 });
    const labels = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`l${at}`, ""]));
    for (let at = 0; at < 60; at++) feed.write({ key: `a/${at}`, labels });
    for (const from of ["state", 1] as const) {
      const sink = new TestSink();
      const cursor = start(feed, sink, from, predicate("", `${absent(1_500)},none`));
      let turns = 0;
      while (feed.turn()) turns++;
      assert.ok(turns >= 3, `${turns} turns from ${from}`);
      assert.equal(cursor.live, true);
      assert.ok(sink.items.every(({ type }) => type === "BOOKMARK"));
    }
  });
});

void describe("a slice that waits", () => {
  void it("is forgotten with its cursors when the feed begins anew at a lower revision", () => {
    const feed = new TestFeed({ crowd: 1 });
    const sinks = [1, 2, 3].map(() => new TestSink());
    for (const sink of sinks) start(feed, sink, 1);
    for (const key of ["a/x", "a/y", "a/z"]) feed.write({ key, labels: {} });
    feed.turn();
    feed.cache.reset({ objects: [], revision: 1 }, new Error("the feed went back"));
    assert.equal(feed.cache.state.resets, 1);
    while (feed.turn());
    assert.deepEqual(
      sinks.map(({ items, ended }) => [items.length, ended]),
      [
        [1, true],
        [3, true],
        [0, true],
      ],
    );
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
