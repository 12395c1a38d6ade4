/** Latest state only: compared with plain replay at every revision that a client has seen. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Cursor } from "./cursor.ts";
import { latestItems } from "./latest.ts";
import type { Predicate } from "./predicate.ts";
import {
  describeItem,
  predicate,
  TestFeed,
  testObject,
  TestSink,
  type Write,
} from "./testing/feed.ts";
import type { WatchItem } from "./watch-item.ts";

const predicates = [
  predicate(),
  predicate("a"),
  predicate("a", "", "metadata.name=x"),
  predicate("", "app=web"),
  predicate("b", "app!=db"),
  predicate("", "", "spec.nodeName=n1"),
];

function item(type: WatchItem["type"], key: string, revision: number): WatchItem {
  const object = testObject(key, { labels: {} }, revision);
  return { type, object, resourceVersion: String(revision) };
}

void describe("several changes of one object", () => {
  const cases: readonly (readonly [readonly WatchItem["type"][], string])[] = [
    [["ADDED", "MODIFIED"], "ADDED"],
    [["ADDED", "MODIFIED", "DELETED"], "DELETED"],
    [["ADDED", "DELETED", "ADDED"], "ADDED"],
    [["MODIFIED", "MODIFIED"], "MODIFIED"],
    [["MODIFIED", "DELETED"], "DELETED"],
    [["DELETED", "ADDED"], "MODIFIED"],
    [["DELETED", "ADDED", "MODIFIED"], "MODIFIED"],
    [["DELETED", "ADDED", "DELETED"], "DELETED"],
  ];
  for (const [types, merged] of cases) {
    void it(`${types.join(", ")} become ${merged}`, () => {
      const items = types.map((type, at) => item(type, "a/x", at + 2));
      const lines = latestItems(items).map(describeItem);
      assert.deepEqual(lines, [`${merged} a/x@${types.length + 1}`]);
    });
  }

  void it("stand where the last one stood; what changed once is shared as it is", () => {
    const items = [
      item("MODIFIED", "a/x", 2),
      item("ADDED", "a/y", 3),
      item("MODIFIED", "a/x", 4),
    ] as const;
    const merged = latestItems(items);
    assert.deepEqual(merged, [items[1], items[2]]);
    assert.equal(merged[0], items[1]);
    assert.equal(latestItems(merged), merged);
  });
});

/** What a client holds: `key@revision`, and complains about types that cannot be. */
class Replica {
  readonly held = new Map<string, string>();

  take({ type, object, resourceVersion }: WatchItem): void {
    if (object === undefined) return;
    const key = `${object.namespace}/${object.name}`;
    // An object created and deleted in one window gives DELETED, whether the watcher saw it or not.
    if (type === "DELETED") return void this.held.delete(key);
    assert.equal(this.held.has(key), type !== "ADDED", `${type} ${key}@${resourceVersion}`);
    this.held.set(key, object.resourceVersion);
  }

  /** As an informer does after it resumed: whatever the type says. */
  follow(feed: TestFeed, wanted: Predicate, after: number): void {
    for (const { revision, key, next } of feed.events) {
      if (revision <= after || key < wanted.from || key >= wanted.to) continue;
      if (next !== undefined && wanted.matches(next)) this.held.set(key, next.resourceVersion);
      else this.held.delete(key);
    }
  }
}

class LatestSink extends TestSink {
  readonly batches: (readonly WatchItem[])[] = [];

  override deliver(items: readonly WatchItem[]): boolean {
    if (!super.deliver(items)) return false;
    this.batches.push(items);
    return true;
  }
}

interface Watcher {
  readonly sink: LatestSink;
  readonly cursor: Cursor;
  readonly wanted: Predicate;
}

function watch(feed: TestFeed, which: number, room: number): Watcher {
  const wanted = predicates[which] ?? predicate();
  const sink = new LatestSink(room);
  const cursor = feed.cache.watch(
    { predicate: wanted, bookmarks: true, marker: true, latest: true, start: "state" },
    sink,
  );
  return { sink, cursor, wanted };
}

function stateAt(feed: TestFeed, wanted: Predicate, revision: number): Map<string, string> {
  const state = new Map<string, string>();
  for (const [key, object] of feed.stateAt(revision)) {
    if (key < wanted.from || key >= wanted.to || !wanted.matches(object)) continue;
    state.set(key, object.resourceVersion);
  }
  return state;
}

const isMark = ({ initialEventsEnd }: WatchItem): boolean => initialEventsEnd === true;

const sorted = (state: ReadonlyMap<string, string>): unknown => [...state].toSorted();

/** Bookmarks say where it is: there, the states agree. From any event on, plain replay completes it. */
function check(feed: TestFeed, { sink, wanted }: Watcher): void {
  const replica = new Replica();
  for (const batch of sink.batches) {
    const keys = batch.flatMap(({ object }) =>
      object === undefined ? [] : [object.name + object.namespace],
    );
    assert.equal(new Set(keys).size, keys.length, "a key twice in one batch");
    for (const [index, told] of batch.entries()) {
      replica.take(told);
      const at = Number(told.resourceVersion);
      if (told.object === undefined) {
        assert.deepEqual(sorted(replica.held), sorted(stateAt(feed, wanted, at)), `at ${at}`);
      }
      // No place to resume from: inside the state, which comes in key order, or inside a revision.
      const following = batch[index + 1]?.resourceVersion;
      if (told.type === "ADDED" && batch.some(isMark)) continue;
      if (following === told.resourceVersion) continue;
      const resumed = new Replica();
      for (const [key, value] of replica.held) resumed.held.set(key, value);
      resumed.follow(feed, wanted, at);
      assert.deepEqual(sorted(resumed.held), sorted(stateAt(feed, wanted, feed.revision)));
    }
  }
  assert.deepEqual(sorted(replica.held), sorted(stateAt(feed, wanted, feed.revision)), "the end");
}

const keys = ["a/x", "a/y", "b/x", "b/y"];
const labelSets: readonly Readonly<Record<string, string>>[] = [{}, { app: "web" }, { app: "db" }];
const write: fc.Arbitrary<Write> = fc.record({
  key: fc.constantFrom(...keys),
  labels: fc.option(fc.constantFrom(...labelSets), { nil: undefined }),
  node: fc.constantFrom("", "n1"),
});
type Step =
  | { readonly do: "write"; readonly writes: readonly Write[] }
  | { readonly do: "dispatch" }
  | { readonly do: "turn" }
  | { readonly do: "bookmark" }
  | { readonly do: "watch"; readonly which: number; readonly room: number }
  | { readonly do: "room"; readonly which: number; readonly room: number };
const asked = { which: fc.nat(5), room: fc.nat(8) };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("write" as const),
      writes: fc.array(write, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("dispatch" as const, "turn" as const, "bookmark" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("watch" as const), ...asked }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("room" as const), ...asked }) },
);

function run(feed: TestFeed, steps: readonly Step[]): Watcher[] {
  const watchers = [0, 3].map((which) => watch(feed, which, 100));
  for (const next of steps) {
    if (next.do === "write") feed.apply(...next.writes);
    else if (next.do === "dispatch") feed.dispatch();
    else if (next.do === "turn") feed.turn();
    else if (next.do === "bookmark") feed.cache.bookmark(0, 1);
    else if (next.do === "watch") watchers.push(watch(feed, next.which, next.room));
    else resume(watchers[next.which % watchers.length], next.room);
  }
  feed.dispatch();
  while (feed.turn());
  for (const watcher of watchers) resume(watcher, Number.POSITIVE_INFINITY);
  while (feed.turn());
  feed.cache.bookmark(0, 1);
  return watchers;
}

function resume(watcher: Watcher | undefined, room: number): void {
  if (watcher === undefined) return;
  watcher.sink.room = room;
  watcher.cursor.resume();
}

void describe("a watcher of the latest state", () => {
  void it("holds what plain replay holds wherever a bookmark or an event says it is", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.nat(3),
        fc.integer({ min: 2, max: 40 }),
        (steps, crowd, ringItemsMax) => {
          const feed = new TestFeed({ crowd, ringItemsMax });
          for (const watcher of run(feed, steps)) check(feed, watcher);
        },
      ),
      { numRuns: 500 },
    );
  });

  void it("is written once per window, from one merged batch for all", () => {
    const feed = new TestFeed();
    const watchers = [0, 0, 0].map((which) => watch(feed, which, 100));
    for (let v = 0; v < 10; v++) {
      feed.write({ key: "a/x", labels: { v: String(v) } }, { key: "a/y", labels: {} });
    }
    assert.equal(watchers[0]?.sink.batches.length, 1);
    while (feed.turn());
    for (const { sink } of watchers) {
      assert.deepEqual(sink.lines, ["BOOKMARK @1 end", "ADDED a/x@11 v=9", "ADDED a/y@11"]);
      assert.equal(sink.batches[1], watchers[0]?.sink.batches[1]);
    }
    assert.equal(feed.cache.coalesced, 3 * 18);
    feed.write({ key: "a/x" });
    while (feed.turn());
    assert.equal(watchers[0]?.sink.batches.length, 3);
  });
});
