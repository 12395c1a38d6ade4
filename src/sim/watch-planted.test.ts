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

/** What goes wrong, once in `every` times that it could: a bug is rare. */
const every = 5;
const seed = 20_240_601;
const numRuns = 60;

interface Bug {
  /** What a watcher is told instead of `items`. */
  readonly told?: (items: readonly WatchItem[]) => readonly WatchItem[];
  /** A start that is told 410 for nothing. */
  readonly refuses?: boolean;
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
    found: / again/,
  },
  "two events change places": {
    told: (items) => items.toReversed(),
    found: / after | again|is behind|count at|sum at/,
  },
  "a bookmark is one too high": {
    told: first(isBookmark, (item) => [
      { ...item, resourceVersion: String(Number(item.resourceVersion) + 1) },
    ]),
    found: /after a bookmark|is behind|again|after|every event|the copy of|count at|sum at/,
  },
  "a bookmark's sum is of another state": {
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
};

/** `fed` with the bug between its caches and whoever watches. */
function planted(fed: Fed, { told = (items) => items, refuses = false }: Bug): Fed {
  let chances = 0;
  const now = (): boolean => ++chances % every === 0;
  const sinkOf = (sink: WatchSink): WatchSink => ({
    deliver: (items) => sink.deliver(now() ? told(items) : items),
    end: (error) => sink.end(error),
  });
  const watch: Fed["watch"] = (replica, predicate, start, sink) => {
    if (refuses && start !== "state" && now()) return undefined;
    return fed.watch(replica, predicate, start, sinkOf(sink));
  };
  return new Proxy(fed, {
    get(target, name) {
      if (name === "watch") return watch;
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
