/** Any watcher of a cache, against an oracle: what it must see, worked out from the list of changes alone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { CacheEvent } from "./cache-event.ts";
import type { Cursor } from "./cursor.ts";
import type { Predicate } from "./predicate.ts";
import {
  describeItem,
  everything,
  predicate,
  start,
  testDigest,
  TestFeed,
  TestSink,
} from "./testing/feed.ts";
import type { Write } from "./testing/feed.ts";
import type { ViewState } from "./watch-item.ts";

const keys = ["a/x", "a/y", "b/x", "b/y", "c/z"];
const labelSets = [{}, { app: "web" }, { app: "db" }] as const;
const writes: fc.Arbitrary<Write> = fc.record({
  key: fc.constantFrom(...keys),
  labels: fc.option(fc.constantFrom<Readonly<Record<string, string>>>(...labelSets), {
    nil: undefined,
  }),
  node: fc.constantFrom("", "n1", "n2"),
});
/** Requirements that every object here meets: a selector with them is long. */
const many = Array.from({ length: 40 }, (_, at) => `!z${at}`).join();
const predicates = [
  everything,
  predicate("", `app in (web),${many}`),
  predicate("a", `${many},app!=db`),
  predicate("", many, "spec.nodeName!=n1"),
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
  while (feed.turn());
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

/** A bookmark's checksum is that of the state it names. A watcher that keeps up gets one. */
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
