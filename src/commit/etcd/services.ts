/** All services of the etcd API over one store, keyed by gRPC path. */
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { FullStore } from "#store/full-store.ts";
import { Alarms } from "./alarms.ts";
import type { Method } from "./call.ts";
import { authMethods, clusterMethods, healthMethods, type Members } from "./cluster.ts";
import { Identity } from "./identity.ts";
import { KvService, type KvLimits } from "./kv.ts";
import { LeaseService } from "./lease.ts";
import { MaintenanceService } from "./maintenance.ts";
import type { SnapshotLimits } from "./snapshot.ts";
import { WatchService, type WatchLimits } from "./watch.ts";

interface EtcdDeps {
  readonly store: FullStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Persistent alarms; absent: alarms are lost when the process ends. */
  readonly alarms?: Alarms;
}

export interface EtcdOptions extends KvLimits, WatchLimits, SnapshotLimits {
  readonly clusterId: bigint;
  readonly memberId: bigint;
  readonly name: string;
  /** URLs of this member for clients; called whenever a client lists members. */
  readonly clientUrls: () => readonly string[];
  /** All replicas of the store; absent: this server is the only one. */
  readonly members?: Members;
  /** The member that holds the log; absent: this one. */
  readonly leader?: () => bigint;
  /** etcd's MoveLeader; absent: this server is the only member. */
  readonly moveLeader?: (targetId: bigint) => Promise<void>;
  /** The store's quota, reported by Status. */
  readonly quotaBytes: number;
}

/** The defaults of `cmd`, also suitable for tests. */
export const recommendedEtcdLimits = {
  // etcd's defaults.
  requestBytesMax: 1.5 * 2 ** 20,
  txnOpsMax: 128,
  fragmentBytes: 2 * 2 ** 20,
  progressMs: 10 * 60_000,
  // About the size of a socket's buffer.
  rangeChunkBytes: 2 ** 20,
  responseBytes: 2 ** 20,
  // Four large responses; more would not help a client that is this far behind.
  streamBacklogBytes: 4 * 2 ** 20,
  watchesMax: 100_000,
  // With the backlog this means 70 KB/s; slower clients have stopped, or their network is unusable for a backup.
  snapshotStallMs: 60_000,
} as const satisfies KvLimits & WatchLimits & SnapshotLimits;

/** The methods by path, such as `/etcdserverpb.KV/Range`. */
export function etcdMethods(deps: EtcdDeps, options: EtcdOptions): ReadonlyMap<string, Method> {
  const identity = new Identity(options);
  const alarms = deps.alarms ?? new Alarms(deps.log);
  const all = { ...deps, identity, alarms };
  const services: Readonly<Record<string, Readonly<Record<string, Method>>>> = {
    "etcdserverpb.KV": new KvService(all, options).methods(),
    "etcdserverpb.Watch": new WatchService(all, options).methods(),
    "etcdserverpb.Lease": new LeaseService(all).methods(),
    "etcdserverpb.Maintenance": new MaintenanceService(all, options).methods(),
    "etcdserverpb.Cluster": clusterMethods(all, options),
    "etcdserverpb.Auth": authMethods(all),
    "grpc.health.v1.Health": healthMethods(),
  };
  const byPath = new Map<string, Method>();
  for (const [service, methods] of Object.entries(services)) {
    for (const [name, method] of Object.entries(methods)) byPath.set(`/${service}/${name}`, method);
  }
  return byPath;
}
