/** Opens a store: recovers the engine's log, takes a new epoch and starts the store. */
import { unreachable } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Disk } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { TurnRest } from "#platform/turn-rest.ts";
import { EmbeddedStore } from "./embedded.ts";
import type { FullStore } from "./full-store.ts";
import type { Engine } from "./engines/engine.ts";
import type { LogCluster } from "./engines/etcd/cluster.ts";
import { EtcdEngine } from "./engines/etcd/engine.ts";
import type { EtcdEngineOptions } from "./engines/etcd/engine.ts";
import { LocalEngine } from "./engines/local/engine.ts";
import type { LocalEngineOptions } from "./engines/local/engine.ts";
import { MemoryEngine, MemoryLog } from "./engines/memory.ts";
import { Leases } from "./leases.ts";
import { Mvcc } from "./mvcc.ts";
import type { StoreOptions } from "./options.ts";
import { Recovery } from "./recover.ts";
import { Slabs } from "./slabs.ts";

/** An empty store is at revision 1, as etcd's. */
const emptyRevision = 1;

interface StoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Requests of this process that submit commands; those of one turn share a batch. */
  readonly requests?: TurnRest;
}

type EngineChoice =
  /** Keeps everything in memory only. */
  | { readonly engine: "memory" }
  /** A directory, which is locked. */
  | ({ readonly engine: "local" } & LocalEngineOptions)
  /** An etcd cluster, whose log is taken over. */
  | ({ readonly engine: "etcd"; readonly cluster: LogCluster } & EtcdEngineOptions);

/** Opens the store; rejects with DiskError, ForeignDirectoryError, CorruptionError or FencedError. */
export function openStore(
  deps: StoreDeps & { readonly disk: Disk },
  options: StoreOptions & EngineChoice,
): Promise<FullStore> {
  switch (options.engine) {
    case "memory":
      return openMemoryStore(deps, options);
    case "local":
      return openStoreOn({ ...deps, engine: new LocalEngine(deps, options) }, options);
    case "etcd": {
      const engine = new EtcdEngine({ ...deps, cluster: options.cluster }, options);
      return openStoreOn({ ...deps, engine }, options);
    }
    default:
      return unreachable(options);
  }
}

export function openMemoryStore(deps: StoreDeps, options: StoreOptions): Promise<FullStore> {
  const log = new MemoryLog(deps.random.uuid(), "nothing");
  return openStoreOn({ ...deps, engine: new MemoryEngine(log) }, options);
}

/** Opens a store over any engine; closing the store closes the engine. */
export async function openStoreOn(
  deps: StoreDeps & { readonly engine: Engine },
  options: StoreOptions,
): Promise<FullStore> {
  const mvcc = new Mvcc(new Slabs(options.slabBytes), emptyRevision);
  const leases = new Leases(deps.clock);
  const recovery = new Recovery(mvcc, leases);
  const { epoch } = await deps.engine.open(recovery, "next");
  try {
    recovery.finish();
    const store = new EmbeddedStore({ ...deps, mvcc, leases }, options, epoch);
    await store.start();
    return store;
  } catch (error) {
    await deps.engine.close();
    throw error;
  }
}
