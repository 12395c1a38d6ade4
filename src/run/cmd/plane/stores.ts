/**
 * The stores of a plane and the registry over them: one for all, or one for most resources and others for those
 * that live elsewhere.
 */
import type { GroupResource } from "#api/object.ts";
import { SealedStore } from "#encryption/sealed-store.ts";
import { heapBytesMax } from "#platform/node/heap.ts";
import { createRegistry, type OpenRegistry } from "#registry/registry.ts";
import { recommendedRegistryOptions } from "#registry/registry.ts";
import { splitRegistry } from "#registry/split-registry.ts";
import type { AtRest } from "#store/at-rest.ts";
import type { ObserveRequest, OpenedStore } from "#store/full-store.ts";
import { openSharedStore, openStore } from "#store/open.ts";
import { recommendedOptions, type StateQuota } from "#store/options.ts";
import type { ReaderFeed } from "#threads/reader-feed.ts";
import type { Encryption } from "../shared/encryption.ts";
import type { Host } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import { stateQuota } from "./state-quota.ts";

interface StoreElsewhere {
  /** Whether the store holds a resource, by storage group and name. */
  readonly holds: (resource: GroupResource) => boolean;
  readonly open: (host: Host, atRest?: AtRest) => Promise<OpenedStore>;
}

export interface StoreOptions {
  /** Directory of the store. Absent: the state is in memory and lost at the end. */
  readonly storeDirectory?: string;
  /** Quota of that store. Absent: as much as the heap allows. */
  readonly stateQuota?: StateQuota;
  /** Opens the caller's store in place of an own one. It is closed at the stop. */
  readonly openStore?: (host: Host, atRest?: AtRest) => Promise<OpenedStore>;
  /** Threads of this process that read the store. Absent: only this thread reads it. */
  readonly readers?: ReaderFeed;
  /** Number of threads with their own registry. They share the memory that a single one would have for its next readers. */
  readonly registries?: number;
  /** Encryption of values at rest. Absent: values are not encrypted. */
  readonly encryption?: Encryption;
  /** Resources in other stores. Absent: none. */
  readonly elsewhere?: readonly StoreElsewhere[];
}

interface StorePart {
  readonly holds: (resource: GroupResource) => boolean;
  readonly store: OpenedStore;
}

type RegistryDeps = Omit<Parameters<typeof createRegistry>[0], "store">;
type RegistryTimes = Pick<
  Parameters<typeof createRegistry>[1],
  "compactPeriodMs" | "eventTtlSeconds"
>;

export class PlaneStores {
  readonly main: OpenedStore;
  /** Resolves when one of the stores had to stop. */
  readonly failed: Promise<Error>;
  readonly #parts: readonly StorePart[];
  readonly #registries: number;

  private constructor(main: OpenedStore, parts: readonly StorePart[], registries: number) {
    this.main = main;
    this.#registries = registries;
    this.#parts = parts;
    this.failed = Promise.race(this.#all.map(({ failed }) => failed));
  }

  /** Opens all stores. Rejects when one cannot be opened, after closing the others. */
  static async open(host: Host, options: StoreOptions): Promise<PlaneStores> {
    const main = await openMain(host, options);
    const parts: StorePart[] = [];
    try {
      for (const { holds, open } of options.elsewhere ?? [])
        parts.push({ holds, store: await open(host, options.encryption?.transformers) });
    } catch (error) {
      await Promise.all([main, ...parts.map(({ store }) => store)].map((store) => store.close()));
      throw error;
    }
    return new PlaneStores(main, parts, options.registries ?? 1);
  }

  get #all(): readonly OpenedStore[] {
    return [this.main, ...this.#parts.map(({ store }) => store)];
  }

  /** Returns a function per store, the main one first, that says why the store does not answer at present. */
  problems(): readonly (() => string | undefined)[] {
    return this.#all.map((store) => () => store.problem());
  }

  /** Observes the requests to stores in other servers from now on. */
  observeRequests(observe: ObserveRequest): void {
    for (const store of this.#all) store.observeRequests?.(observe);
  }

  /** Returns the store that holds a resource. */
  of(resource: GroupResource): OpenedStore {
    return this.#parts.find(({ holds }) => holds(resource))?.store ?? this.main;
  }

  /** Opens a registry over all stores. The stores share the memory that a single one would have for its next readers. */
  openRegistry(deps: RegistryDeps, times: RegistryTimes): OpenRegistry {
    const { memoBytesMax: whole } = recommendedRegistryOptions;
    const memoBytesMax = whole / (this.#all.length * this.#registries);
    const options = { ...recommendedRegistryOptions, ...times, memoBytesMax };
    const over = (store: OpenedStore): OpenRegistry => createRegistry({ ...deps, store }, options);
    const parts = this.#parts.map(({ holds, store }) => ({ holds, registry: over(store) }));
    return splitRegistry(over(this.main), parts);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((store) => store.close()));
  }
}

/** Opens the main store. A local store is wrapped to encrypt values. A remote one encrypts them itself before it sends them. */
async function openMain(host: Host, options: StoreOptions): Promise<OpenedStore> {
  const atRest = options.encryption?.transformers;
  if (options.openStore !== undefined) return options.openStore(host, atRest);
  const store = await openOwn(host, options);
  return atRest === undefined ? store : SealedStore.open({ store, atRest, log: host.log });
}

async function openOwn(host: Host, options: StoreOptions): Promise<OpenedStore> {
  const { storeDirectory, readers } = options;
  const stateLimit = options.stateQuota ?? stateQuota({}, heapBytesMax());
  const limited = { ...recommendedOptions, stateQuota: stateLimit };
  const local = {
    engine: "local",
    directory: storeDirectory ?? "",
    ...limits.localEngine,
  } as const;
  const chosen = storeDirectory === undefined ? ({ engine: "memory" } as const) : local;
  if (readers === undefined) return openStore(host, { ...limited, ...chosen });
  const shared = await openSharedStore(host, { ...limited, ...chosen }, readers);
  readers.serve(shared);
  return shared.store;
}
