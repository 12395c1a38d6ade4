/**
 * The registry's interface: opens the caches over a store and hands out one ResourceStore per served
 * resource. Resources need no registration: each resource in the store has a cache, and any other resource, including
 * custom ones, gets a cache when it is first read.
 *
 * A start costs one range over the store and parses nothing. Timers: watch.bookmark, store.compact,
 * registry.wait.
 */
import type { GroupResource, AnyObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { Strategy } from "#api/strategies/strategy-types.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Store } from "#store/store.ts";
import { startBookmarks } from "#watch/bookmarks.ts";
import type { WatchCache } from "#watch/cache.ts";
import { type DeliveryPolicy, socketTurns } from "#watch/delivery-scheduler.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { namespaceRange } from "#watch/predicate.ts";
import { keyOfText } from "#forms/shared-object.ts";
import { startCompaction } from "./compaction.ts";
import { Rehoming } from "./rehoming.ts";
import { EventLeases } from "./event-leases.ts";
import type { ResourceCore } from "./cacher.ts";
import { Cacher, type ChangeListener } from "./cacher.ts";
import { Freshness } from "./freshness.ts";
import { resourcePrefix } from "./keys.ts";
import { Resource } from "./resource.ts";
import type { ReleaseListener } from "./resource-storage.ts";
import type { Registry, ResourceRules, ResourceStore } from "./resource-store.ts";

interface RegistryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The same function for built-in and custom resources. */
  readonly strategyFor: (info: ResourceInfo) => Strategy;
  /** The value of a selectable field, "" when absent. */
  readonly fieldValue: (
    group: string,
    resource: string,
    object: AnyObject,
    field: string,
  ) => string;
}

export interface RegistryOptions {
  /** Maximum time that a read waits for a revision not seen yet. */
  readonly freshWaitMs: number;
  /** Each watcher that asked for bookmarks gets one per period ... */
  readonly bookmarkPeriodMs: number;
  /** ... in one of this many equal steps. */
  readonly bookmarkSlots: number;
  /** Absent: another process compacts. */
  readonly compactPeriodMs?: number;
  /** Lifetime of events. */
  readonly eventTtlSeconds: number;
  /** Recent events kept per resource for slow watchers and exact reads; older ones are read from the store. */
  readonly ringItemsMax: number;
  readonly ringBytesMax: number;
  /** Snapshots kept per resource for paginated lists. */
  readonly pinnedMax: number;
  /** Memory budget of all parsed objects and encodings kept for later readers. */
  readonly memoBytesMax: number;
  /** When watchers are served. */
  readonly delivery: DeliveryPolicy;
  /** Whether parsed objects are frozen; used by tests. */
  readonly shouldFreeze: boolean;
}

/** The defaults of `cmd`. */
export const recommendedRegistryOptions: RegistryOptions = {
  freshWaitMs: 3_000,
  bookmarkPeriodMs: 60_000,
  bookmarkSlots: 12,
  compactPeriodMs: 300_000,
  eventTtlSeconds: 3_600,
  ringItemsMax: 8_192,
  ringBytesMax: 16 * 2 ** 20,
  pinnedMax: 16,
  memoBytesMax: 64 * 2 ** 20,
  delivery: {
    // With many watchers a socket gets at most 250 writes a second, as at a relay.
    gather: { watchersMin: 1_000, windowMs: 4 },
    turns: socketTurns,
    latest: undefined,
  },
  shouldFreeze: false,
};

export interface OpenRegistry extends Registry {
  /** Every cache contains every revision up to this one. */
  readonly revision: number;
  /** The cache of a stored resource, by storage group and name. */
  cache(resource: GroupResource): WatchCache;
  /** Number of objects in `namespace`, "" for all; used for cost estimates. */
  count(resource: GroupResource, namespace: string): number;
  /** All resources seen so far; used for metrics. */
  cores(): Iterable<ResourceCore>;
  /**
   * Calls `changed` with the keys that changed, in the turn in which the caches applied the change and
   * before any watcher or writer learns of it. "all": any key may have changed.
   */
  follow(resource: GroupResource, changed: ChangeListener): void;
  /** Calls `released` after each write of this server that changed or removed an object, before the write is answered. */
  onRelease(resource: GroupResource, released: ReleaseListener): void;
}

export function createRegistry(deps: RegistryDeps, options: RegistryOptions): OpenRegistry {
  const freshness = new Freshness(deps, { revision: 0, waitMs: options.freshWaitMs });
  const memos = new MemoPool({ bytesMax: options.memoBytesMax });
  const feed = new Cacher({ ...deps, freshness, memos }, options);
  const leases = new EventLeases(deps, { ttlSeconds: options.eventTtlSeconds });
  const timers = startTimers({ ...deps, memos }, options, feed, freshness);
  const stores = new WeakMap<ResourceInfo, ResourceStore>();
  const releases = new Map<string, ReleaseListener>();
  const open = (info: ResourceInfo, rules: ResourceRules | undefined): ResourceStore => {
    const stored = info.storage ?? info;
    const core = feed.core(resourcePrefix(stored));
    const expires = stored.group === "" && stored.resource === "events";
    const { store, clock, random } = deps;
    return new Resource({
      info,
      strategy: rules?.strategy ?? deps.strategyFor(info),
      core,
      store,
      clock,
      random,
      freshness,
      leases: expires ? leases : undefined,
      released: () => releases.get(core.prefix),
      rules,
    });
  };
  return {
    get revision() {
      return freshness.revision;
    },
    store(info, rules) {
      const known = stores.get(info) ?? open(info, rules);
      stores.set(info, known);
      return known;
    },
    cache: (resource) => feed.core(resourcePrefix(resource)).cache,
    count: (resource, namespace) => {
      const { from, to } = namespaceRange(keyOfText(namespace));
      return feed.core(resourcePrefix(resource)).cache.state.countRange(from, to);
    },
    cores: () => feed.cores,
    follow: (resource, changed) => feed.follow(resourcePrefix(resource), changed),
    onRelease: (resource, released) => void releases.set(resourcePrefix(resource), released),
    ready: () => Promise.resolve(),
    close() {
      for (const timer of timers) timer.stop();
      feed.close();
      freshness.close();
      return Promise.resolve();
    },
  };
}

function startTimers(
  deps: RegistryDeps & { readonly memos: MemoPool },
  options: RegistryOptions,
  feed: Cacher,
  freshness: Freshness,
): { stop(): void }[] {
  const sources = function* (): Iterable<WatchCache> {
    for (const { cache } of feed.cores) {
      // Events that wait for their window must be sent before the bookmark.
      cache.dispatch();
      cache.advance(freshness.revision);
      yield cache;
    }
  };
  const { bookmarkPeriodMs: periodMs, bookmarkSlots: slots, compactPeriodMs } = options;
  const timers: { stop(): void }[] = [
    startBookmarks({ clock: deps.clock, sources }, { periodMs, slots }),
  ];
  if (compactPeriodMs === undefined) return timers;
  const rehoming = new Rehoming({ ...deps, cores: () => feed.cores });
  const compacted = (revision: number): void => {
    for (const { cache } of feed.cores) cache.forgetBefore(revision);
    rehoming.run(revision).catch((error: unknown) => {
      deps.log.warn("caches keep more than they need", { error: String(error) });
    });
  };
  timers.push(rehoming, startCompaction({ ...deps, compacted }, { periodMs: compactPeriodMs }));
  return timers;
}
