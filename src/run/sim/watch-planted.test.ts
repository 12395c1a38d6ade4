/**
 * Bugs put between a relay's cache and its watchers, in tests only: the behaviour suite must find each, and
 * must say what is wrong.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import type { Fed } from "./testing/fed.ts";
import { relayFed } from "./testing/relay-fed.ts";
import { calm, guarantees } from "./testing/watch-guarantees.ts";

/** The planted bug happens once in this many opportunities, because real bugs are rare. */
const seldomEvery = 3;
const seed = 20_240_601;
const numRuns = 60;

interface Bug {
  /** The items a watcher gets instead of `items`. */
  readonly every?: number;
  readonly told?: (items: readonly WatchItem[]) => readonly WatchItem[];
  /** A start that gets 410 without cause. */
  readonly refuses?: boolean;
  /** Watchers of the latest state get bookmarks before the events they cover. */
  readonly overtakes?: boolean;
  /** By so much the windows of the latest state are said to be longer than they are. */
  readonly windowMs?: number;
  /** What the complaint must say. */
  readonly found: RegExp;
}

const isEvent = ({ object }: WatchItem): boolean => object !== undefined;
const isBookmark = (item: WatchItem): boolean => !isEvent(item) && item.initialEventsEnd !== true;

/** Changes the first item that fits, as `change` says. */
function first(fits: (item: WatchItem) => boolean, change: (item: WatchItem) => WatchItem[]) {
  return (items: readonly WatchItem[]): readonly WatchItem[] => {
    const at = items.findIndex(fits);
    const item = items[at];
    return item === undefined ? items : items.toSpliced(at, 1, ...change(item));
  };
}

const bugs: Readonly<Record<string, Bug>> = {
  "an event is dropped": {
    told: first(isEvent, () => []),
    found: /every event|the copy of|count at|sum at|ADDED|MODIFIED/,
  },
  "an event comes twice": {
    told: first(isEvent, (item) => [item, item]),
    found: / again|a key twice/,
  },
  "two events change places": {
    told: (items) => items.toReversed(),
    found: / after | again|is behind|count at|sum at/,
  },
  "a bookmark is one too high": {
    // Only a watcher that gets the very next revision can detect it.
    every: 1,
    told: first(isBookmark, (item) => [
      { ...item, resourceVersion: String(Number(item.resourceVersion) + 1) },
    ]),
    found: /after a bookmark|is behind|again|after|every event|the copy|count at|sum at/,
  },
  "a bookmark's sum is of another state": {
    // Only watchers that began with the state can detect it.
    every: 1,
    told: first(isBookmark, (item) => {
      const { view } = item;
      if (view === undefined) return [item];
      return [{ ...item, view: { ...view, checksum: "0".repeat(31) + "1" } }];
    }),
    found: /sum at/,
  },
  "an arrival is called a change": {
    told: first(
      ({ type }) => type === "ADDED",
      (item) => [{ ...item, type: "MODIFIED" }],
    ),
    found: /ADDED|MODIFIED|every event/,
  },
  "a position that is there is told 410": { refuses: true, found: /which nobody lost/ },
  "a bookmark overtakes the latest states": {
    overtakes: true,
    found: /the copy|after a bookmark|ADDED|MODIFIED|count at|sum at/,
  },
  "latest states come sooner than a window": { windowMs: 100, found: /two batches within/ },
};

/** Applies `told` now and then, among the times it makes a difference. */
function seldom(sink: WatchSink, told: NonNullable<Bug["told"]>, now: () => boolean): WatchSink {
  return {
    deliver: (items) => {
      const wrong = told(items);
      return sink.deliver(wrong !== items && now() ? wrong : items);
    },
    end: (error) => sink.end(error),
  };
}

/** Events wait until there is something to tell before them. */
function overtaken(sink: WatchSink): WatchSink {
  let held: readonly WatchItem[] = [];
  return {
    deliver: (items) => {
      if (held.length === 0 && items.every(isEvent)) held = items;
      else {
        sink.deliver(items);
        sink.deliver(held);
        held = [];
      }
      return true;
    },
    end: (error) => sink.end(error),
  };
}

/** `fed` with the bug between its caches and the watchers. */
function planted(fed: Fed, bug: Bug): Fed {
  const { told = (items) => items, refuses = false, overtakes = false, windowMs = 0 } = bug;
  const { every = seldomEvery } = bug;
  let chances = 0;
  const now = (): boolean => ++chances % every === 0;
  const watch: Fed["watch"] = (replica, asked, sink) => {
    if (refuses && asked.start !== "state" && now()) return undefined;
    const between = overtakes && asked.latest ? overtaken(sink) : seldom(sink, told, now);
    return fed.watch(replica, asked, between);
  };
  return new Proxy(fed, {
    get(target, name) {
      if (name === "watch") return watch;
      if (name === "windowMs") return fed.windowMs + windowMs;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

void describe("the behaviour suite of watches", () => {
  const profile = { keysMax: 1, faults: calm, ordered: true, rings: [1_000] };

  for (const [name, bug] of Object.entries(bugs)) {
    void it(`finds it when ${name}`, async () => {
      const open = async (at: number, ring: number): Promise<Fed> =>
        planted(await relayFed({ seed: at, ringItemsMax: ring, calm: true }), bug);
      const result = await fc.check(guarantees(profile, open), {
        seed,
        numRuns,
        endOnFailure: true,
      });
      assert.ok(result.failed, "nobody noticed");
      assert.match(String(result.errorInstance), bug.found);
    });
  }
});
