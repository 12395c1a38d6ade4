/** All services of the etcd API over one store, by the path gRPC calls them with. */
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
  /** Alarms with their persistence; absent: alarms are lost at the end of the process. */
  readonly alarms?: Alarms;
}

export interface EtcdOptions extends KvLimits, WatchLimits, SnapshotLimits {
  readonly clusterId: bigint;
  readonly memberId: bigint;
  readonly name: string;
  /** Where clients reach this member; asked for when a client lists members. */
  readonly clientUrls: () => readonly string[];
  /** All replicas of the store; absent: there is only this one. */
  readonly members?: Members;
  /** The member that holds the log; absent: this one. */
  readonly leader?: () => bigint;
  /** etcd's MoveLeader; absent: there is only this one. */
  readonly moveLeader?: (targetId: bigint) => Promise<void>;
  /** The store's, for Status. */
  readonly quotaBytes: number;
}

/** What `cmd` uses unless told otherwise, and a fair choice for tests. */
export const recommendedEtcdLimits = {
  // etcd's defaults.
  requestBytesMax: 1.5 * 2 ** 20,
  txnOpsMax: 128,
  fragmentBytes: 2 * 2 ** 20,
  progressMs: 10 * 60_000,
  // A socket takes about this much at once.
  rangeChunkBytes: 2 ** 20,
  responseBytes: 2 ** 20,
  // Four large responses; a client this far behind gains nothing from more.
  streamBacklogBytes: 4 * 2 ** 20,
  watchesMax: 100_000,
  // With the backlog above 70 KB/s: a slower client has stopped, or its network is unusable for a backup.
  snapshotStallMs: 60_000,
} as const satisfies KvLimits & WatchLimits & SnapshotLimits;

/** `/etcdserverpb.KV/Range` and so on. */
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
