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
  /** By storage group and name. */
  readonly holds: (resource: GroupResource) => boolean;
  readonly open: (host: Host, atRest?: AtRest) => Promise<OpenedStore>;
}

export interface StoreOptions {
  /** Where the store lives; absent: in memory, gone at the end. */
  readonly storeDirectory?: string;
  /** What that store takes; absent: what the heap carries. */
  readonly stateQuota?: StateQuota;
  /** Instead of a store of its own: one that the caller opens, which is closed at the stop. */
  readonly openStore?: (host: Host, atRest?: AtRest) => Promise<OpenedStore>;
  /** Threads of this process that read the store; absent: this one alone does. */
  readonly readers?: ReaderFeed;
  /** Threads that each have a registry of their own: they share the memory that one would have for its next readers. */
  readonly registries?: number;
  /** How values are encrypted at rest; absent: they are not. */
  readonly encryption?: Encryption;
  /** Resources that live in other stores; absent: none do. */
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
  /** Resolves when one of them had to stop. */
  readonly failed: Promise<Error>;
  readonly #parts: readonly StorePart[];
  readonly #registries: number;

  private constructor(main: OpenedStore, parts: readonly StorePart[], registries: number) {
    this.main = main;
    this.#registries = registries;
    this.#parts = parts;
    this.failed = Promise.race(this.#all.map(({ failed }) => failed));
  }

  /** Rejects when one cannot be opened; the others are closed then. */
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

  /** Why each does not answer at present; the main one is the first. */
  problems(): readonly (() => string | undefined)[] {
    return this.#all.map((store) => () => store.problem());
  }

  /** Requests to stores that other servers keep, from now on. */
  observeRequests(observe: ObserveRequest): void {
    for (const store of this.#all) store.observeRequests?.(observe);
  }

  /** Where a resource lives. */
  of(resource: GroupResource): OpenedStore {
    return this.#parts.find(({ holds }) => holds(resource))?.store ?? this.main;
  }

  /** Over all of them; they share the memory that one would have for its next readers. */
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

/** What the store of this process holds is sealed above it; one of other servers seals what it sends them. */
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
