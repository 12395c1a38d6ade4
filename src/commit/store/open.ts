/** Opens a store: recovers the engine's log, takes a new epoch and starts the store. */
import { unreachable } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Disk } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { TurnRest } from "#platform/turn-rest.ts";
import { EmbeddedStore } from "./embedded.ts";
import type { FullStore } from "./full-store.ts";
import type { AppendBatch, Engine } from "./engines/engine.ts";
import type { LogCluster } from "./engines/etcd/cluster.ts";
import { EtcdEngine } from "./engines/etcd/engine.ts";
import type { EtcdEngineOptions } from "./engines/etcd/engine.ts";
import { LocalEngine } from "./engines/local/engine.ts";
import type { LocalEngineOptions } from "./engines/local/engine.ts";
import { MemoryEngine, MemoryLog } from "./engines/memory.ts";
import { TappedEngine } from "./engines/tapped.ts";
import { Leases } from "./leases.ts";
import { Mvcc } from "./mvcc.ts";
import type { StoreOptions } from "./options.ts";
import { Recovery } from "./recover.ts";
import { type SharedSlab, type SharedState, sharedState } from "./shared-state.ts";
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

/** Forgets all when the process ends. */
type MemoryChoice = { readonly engine: "memory" };
/** A directory, which this locks. */
type LocalChoice = { readonly engine: "local" } & LocalEngineOptions;

type EngineChoice =
  | MemoryChoice
  | LocalChoice
  /** An etcd cluster, whose log this takes over. */
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
  return openStoreOn({ ...deps, engine: memoryEngine(deps) }, options);
}

function memoryEngine({ random }: StoreDeps): MemoryEngine {
  return new MemoryEngine(new MemoryLog(random.uuid(), "nothing"));
}

/** The store over any engine, which this opens, and closes with the store. */
export function openStoreOn(
  deps: StoreDeps & { readonly engine: Engine },
  options: StoreOptions,
): Promise<FullStore> {
  const mvcc = new Mvcc(new Slabs(options.slabBytes), emptyRevision);
  return openIn({ mvcc, leases: new Leases(deps.clock) }, deps, options);
}

/** A store whose state other threads of the process read. */
export interface SharedStore {
  readonly store: FullStore;
  /** What a thread needs that begins to read at `head`, a durable revision. */
  state(head: number): SharedState;
  /** Of the slab that bytes of a batch lie in. */
  slabOf(bytes: Uint8Array): SharedSlab;
}

interface SharedStoreSink {
  /** A batch is durable, and nobody was answered yet. Must not throw. */
  durable(batch: AppendBatch): void;
  /** A record was moved to a place that was free. */
  moved(slab: SharedSlab, offset: number): void;
}

/** As `openStore` of a directory or in memory, in shared memory. */
export async function openSharedStore(
  deps: StoreDeps & { readonly disk: Disk },
  options: StoreOptions & (LocalChoice | MemoryChoice),
  sink: SharedStoreSink,
): Promise<SharedStore> {
  const own = options.engine === "local" ? new LocalEngine(deps, options) : memoryEngine(deps);
  const engine = new TappedEngine(own, (batch) => sink.durable(batch));
  const slabs = new Slabs(options.slabBytes, "shared");
  const mvcc = new Mvcc(slabs, emptyRevision);
  const leases = new Leases(deps.clock);
  const store = await openIn({ mvcc, leases }, { ...deps, engine }, options);
  mvcc.onMoved = ({ serial, bytes }, offset) => sink.moved({ serial, bytes }, offset);
  return {
    store,
    state: (head) => sharedState({ mvcc, leases }, head),
    slabOf: ({ buffer }) => ({ serial: slabs.serialOf(buffer), bytes: new Uint8Array(buffer) }),
  };
}

async function openIn(
  { mvcc, leases }: { readonly mvcc: Mvcc; readonly leases: Leases },
  deps: StoreDeps & { readonly engine: Engine },
  options: StoreOptions,
): Promise<FullStore> {
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
