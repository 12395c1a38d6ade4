/**
 * Feeds the caches from the store: one watch over everything the registry owns, dispatched to the
 * caches in one synchronous pass, so that an event is decoded and encoded once for all readers.
 *
 * Invariant: after `deliver` returns, every cache holds every revision up to `freshness.revision`.
 * By then a small number of watchers is served too; the delivery policy decides when a crowd is served
 * (watch/delivery-scheduler.ts).
 * A cache is made when its resource is first written or read; unused resources cost nothing.
 * The sink never refuses: what it keeps is bounded by the caches' rings.
 */
import { assert, must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { expiredError } from "#api/status.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import { selectableFields } from "#api/selectors/selectable-fields.ts";
import type { Commit, KeyValue, Revision, Store, StoreEvent, StoreWatch } from "#store/store.ts";
import type { Change } from "#watch/cache-state.ts";
import type { CacheOptions } from "#watch/cache.ts";
import { WatchCache } from "#watch/cache.ts";
import type { MemoPool } from "#forms/memo-pool.ts";
import type { ObjectSource } from "#forms/shared-object.ts";
import { SharedObject } from "#forms/shared-object.ts";
import type { Freshness } from "./freshness.ts";
import type { ResourcePrefix } from "./keys.ts";
import { prefixOfKey, registryRange, resourceOfPrefix } from "./keys.ts";
import { StoreHistory } from "./store-history.ts";

/** The state of one stored resource, shared by all versions in which it is served. */
export interface ResourceCore {
  readonly resource: GroupResource;
  readonly prefix: ResourcePrefix;
  readonly source: ObjectSource;
  readonly cache: WatchCache;
  /** Number of times its cache was initialized with the whole state: once, plus once per loss of the store's history. */
  readonly initializations: number;
}

type OwnCore = ResourceCore & { initializations: number };

interface CacherDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly freshness: Freshness;
  readonly memos: MemoPool;
  readonly log: Log;
  /** The value of a selectable field, "" when absent. */
  readonly fieldValue: (
    group: string,
    resource: string,
    object: AnyObject,
    field: string,
  ) => string;
}

interface CacherOptions extends Omit<CacheOptions, "indexedField"> {
  readonly shouldFreeze: boolean;
}

/** Indexed for pods, ResourceSlices and others: each kubelet watches the objects of its node. */
const indexedField = "spec.nodeName";

/** Keys within the resource; "all" when everything may have changed. */
export type ChangeListener = (keys: readonly string[] | "all") => void;

export class Cacher {
  readonly #deps: CacherDeps;
  readonly #options: CacherOptions;
  readonly #cores = new Map<ResourcePrefix, OwnCore>();
  /** By resource: called with a change before any watcher or waiting reader sees it. */
  readonly #listeners = new Map<ResourcePrefix, ChangeListener>();
  #watch: StoreWatch | undefined;

  constructor(deps: CacherDeps, options: CacherOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#start();
  }

  get cores(): Iterable<ResourceCore> {
    return this.#cores.values();
  }

  core(prefix: ResourcePrefix): ResourceCore {
    const known = this.#cores.get(prefix);
    return known ?? this.#addCore(prefix, [], this.#deps.freshness.revision);
  }

  follow(prefix: ResourcePrefix, changed: ChangeListener): void {
    this.#listeners.set(prefix, changed);
  }

  close(): void {
    this.#watch?.close();
    for (const { cache } of this.#cores.values()) cache.close();
  }

  /** Reads the whole range once, without parsing, then follows the store. */
  #start(): void {
    const { groups, revision } = this.#readAll();
    for (const [prefix, kvs] of groups) this.#addCore(prefix, kvs, revision);
    this.#deps.freshness.advance(revision);
    this.#follow(revision);
  }

  #follow(after: Revision): void {
    this.#watch = this.#deps.store.watch(registryRange, after, {
      deliver: (commits) => this.#deliver(commits),
      progressed: (revision) => this.#deps.freshness.advance(revision),
      compacted: () => this.#restart(),
    });
  }

  #readAll(): { groups: Map<ResourcePrefix, KeyValue[]>; revision: Revision } {
    const range = this.#deps.store.range(registryRange);
    assert(range.kind === "ok", "the latest revision must be readable", { kind: range.kind });
    const groups = new Map<ResourcePrefix, KeyValue[]>();
    for (const kv of range.kvs) {
      const prefix = prefixOfKey(kv.key);
      if (prefix === undefined) continue;
      const group = groups.get(prefix);
      if (group === undefined) groups.set(prefix, [kv]);
      else group.push(kv);
    }
    return { groups, revision: range.revision };
  }

  /** Starts again because history was compacted before it was read; only an external store can do that. */
  #restart(): void {
    this.#deps.log.error("the store compacted revisions the caches had not seen; reading anew");
    const { groups, revision } = this.#readAll();
    const error = expiredError("The resourceVersion for the provided watch is too old.");
    for (const core of this.#cores.values()) {
      const { prefix, cache, source } = core;
      const objects = (groups.get(prefix) ?? []).map((kv) => sharedObject(source, prefix, kv));
      groups.delete(prefix);
      core.initializations++;
      cache.reset({ objects, revision }, error);
    }
    for (const [prefix, kvs] of groups) this.#addCore(prefix, kvs, revision);
    for (const changed of this.#listeners.values()) changed("all");
    this.#deps.freshness.advance(revision);
    this.#follow(revision);
  }

  #addCore(prefix: ResourcePrefix, kvs: readonly KeyValue[], revision: number): ResourceCore {
    const resource = resourceOfPrefix(prefix);
    const source = this.#source(resource);
    const objects = kvs.map((kv) => sharedObject(source, prefix, kv));
    const { store, clock } = this.#deps;
    const history = new StoreHistory({ store, prefix, source });
    const indexed = selectableFields(resource.group, resource.resource).includes(indexedField);
    const cache = new WatchCache(
      { clock, history },
      { objects, revision },
      { ...this.#options, indexedField: indexed ? indexedField : undefined },
    );
    const core = { resource, prefix, source, cache, initializations: 1 };
    this.#cores.set(prefix, core);
    return core;
  }

  #source({ group, resource }: GroupResource): ObjectSource {
    const { fieldValue, memos } = this.#deps;
    return {
      fieldValue: (object, field) => fieldValue(group, resource, object, field),
      memos,
      freeze: this.#options.shouldFreeze,
    };
  }

  #deliver(commits: readonly Commit[]): boolean {
    const touched = new Set<WatchCache>();
    for (const commit of commits) this.#apply(commit, touched);
    if (this.#listeners.size > 0) this.#tellListeners(commits);
    const last = must(commits.at(-1), "a batch without commits").revision;
    for (const cache of touched) cache.requestDispatch();
    this.#deps.freshness.advance(last);
    return true;
  }

  #tellListeners(commits: readonly Commit[]): void {
    for (const [prefix, changed] of this.#listeners) {
      const keys = commits.flatMap(({ events }) =>
        events
          .filter(({ key }) => key.startsWith(prefix))
          .map(({ key }) => key.slice(prefix.length)),
      );
      if (keys.length > 0) changed(keys);
    }
  }

  #apply(commit: Commit, touched: Set<WatchCache>): void {
    const changes = new Map<ResourceCore, Change[]>();
    for (const event of commit.events) {
      const prefix = prefixOfKey(event.key);
      if (prefix === undefined) continue;
      // For a resource first seen here, the cache starts just before this commit.
      const core = this.#cores.get(prefix) ?? this.#addCore(prefix, [], commit.revision - 1);
      const change = changeOf(core, event);
      const others = changes.get(core);
      if (others === undefined) changes.set(core, [change]);
      else others.push(change);
    }
    for (const [core, list] of changes) {
      core.cache.apply(commit.revision, list);
      touched.add(core.cache);
    }
  }
}

export function sharedObject(
  source: ObjectSource,
  prefix: ResourcePrefix,
  kv: KeyValue,
): SharedObject {
  return new SharedObject(source, kv.key.slice(prefix.length), kv.value, kv.modRevision);
}

function changeOf(core: ResourceCore, event: StoreEvent): Change {
  const key = event.key.slice(core.prefix.length);
  if (event.kind === "delete") return { key, next: undefined };
  return { key, next: sharedObject(core.source, core.prefix, event.kv) };
}
