/**
 * `pilothouse store --engine etcd`: one replica of a store whose log lies in an etcd cluster. Any number of them serve
 * the same keys; one holds the log at a time.
 */
import { X509Certificate } from "node:crypto";
import { Alarms } from "#etcd/alarms.ts";
import type { EtcdIdentity } from "#etcd/client.ts";
import type { EtcdEndpoints } from "#etcd/endpoints.ts";
import { HolderLink } from "#etcd/holder-link.ts";
import { Handover } from "#etcd/handover.ts";
import { EtcdLogCluster } from "#etcd/log-cluster.ts";
import { etcdVersion } from "#etcd/maintenance.ts";
import { replicaMethods } from "#etcd/replica-methods.ts";
import { memberIdOf, ReplicaRegistry } from "#etcd/replica-registry.ts";
import { recommendedReplicaTimes, ReplicaRole } from "#etcd/replica-role.ts";
import { etcdMethods, recommendedEtcdLimits } from "#etcd/services.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { Compactor } from "#stocketcd/compactor.ts";
import { AutoCompactor } from "#store/auto-compact.ts";
import { FellBehindError, FencedError } from "#store/engines/engine.ts";
import type { ChunkStore } from "#store/engines/etcd/chunk-store.ts";
import { EtcdEngine } from "#store/engines/etcd/engine.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Revision } from "#store/store.ts";
import { openReplica, type Replica } from "#store/replica.ts";
import { openCheckpointPlace } from "./checkpoint-place.ts";
import { etcdEngine } from "./limits.ts";
import { readOperatorFile } from "./operator-file.ts";
import { productVersion } from "./product.ts";
import { giveMemoryBack } from "./spare-memory.ts";
import { logEndpoints, type EngineFlags } from "./store-engine.ts";
import { listenAt, urlOf, type ListenAddress, type ListenFlags } from "./store-listen.ts";
import { UsageError } from "./usage-error.ts";

interface ReplicaFlags extends ListenFlags, EngineFlags {
  readonly compactEvery: number;
  readonly progressEvery: number;
}

interface ReplicaHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly stopped: Promise<"stop">;
}

/** An opening may meet a checkpoint that is just being replaced. */
const openTriesMax = 5;
const keeperMs = 60_000;
/** A replica that prefers to hold the log waits so long: one that dies again and again does not take it each time. */
const preferMs = 10_000;
/** Extended key usage clientAuth. */
const clientUse = "1.3.6.1.5.5.7.3.2";

export async function serveReplica(
  host: ReplicaHost,
  flags: ReplicaFlags,
  address: ListenAddress,
): Promise<void> {
  const url = replicaUrl(flags, address);
  const identity = peerIdentity(flags);
  const endpoints = await logEndpoints(flags);
  const cluster = new EtcdLogCluster({ ...host, endpoints });
  const chunks = await openCheckpointPlace(flags.checkpoints, process.env);
  const replica = await keepingAlive(() => open({ ...host, cluster, chunks }, flags, url));
  const connect = (name: string, gone: () => void): HolderLink =>
    new HolderLink(host.clock, name, identity, gone);
  const role = new ReplicaRole(
    { ...host, replica, connect },
    { ...recommendedReplicaTimes, name: url },
  );
  const members = new ReplicaRegistry(cluster, flags.etcdPrefix);
  const handover = new Handover(
    { ...host, replica, role, members, connect },
    { name: url, prefers: flags.prefer === true, preferMs },
  );
  const alarms = new Alarms(host.log);
  const own = etcdMethods(
    { ...host, store: replica, alarms },
    {
      ...recommendedEtcdLimits,
      clusterId: memberIdOf(flags.etcdPrefix),
      memberId: memberIdOf(url),
      name: url,
      clientUrls: () => [url],
      members,
      leader: () => memberIdOf(role.holder),
      moveLeader: (targetId) => handover.moveLeader(targetId),
      progressMs: flags.progressEvery * 1000,
      quotaBytes: flags.quota,
    },
  );
  const methods = replicaMethods(own, role, handover);
  const holds = (): boolean => replica.isOwner;
  const listening = await listenAt(
    { ...host, store: replica, alarms, methods, holds },
    flags,
    address,
  );
  role.start();
  await members.add(url);
  handover.start();
  const compactor = startCompactor(host, flags, replica);
  const clusterCompactor = startClusterCompactor({ ...host, endpoints }, flags);
  process.stdout.write(readyText(replica, flags, url));
  const spare = giveMemoryBack(host.clock);
  const end = await Promise.race([host.stopped, replica.failed, role.failed]);
  if (end instanceof Error) return endAnew(end);
  spare.stop();
  compactor?.stop();
  clusterCompactor?.close();
  handover.stop();
  role.stop();
  // Writes on their way are settled first; the others take the log over as soon as the connections break.
  await replica.close();
  await listening.close();
  endpoints.close();
  process.stdout.write("stopped\n");
}

/** While there is no listener, and the cluster does not answer, timers alone would let the process end. */
async function keepingAlive<Result>(run: () => Promise<Result>): Promise<Result> {
  const keeper = setInterval(() => undefined, keeperMs);
  try {
    return await run();
  } finally {
    clearInterval(keeper);
  }
}

async function open(
  deps: Omit<ReplicaHost, "stopped"> & {
    readonly cluster: EtcdLogCluster;
    readonly chunks: ChunkStore | undefined;
  },
  flags: ReplicaFlags,
  name: string,
): Promise<Replica> {
  const options = { ...recommendedOptions, quotaBytes: flags.quota, watchBatchCommitsMax: 256 };
  for (let tries = 1; ; tries++) {
    const engine = new EtcdEngine(deps, { ...etcdEngine, prefix: flags.etcdPrefix, name });
    try {
      return await openReplica({ ...deps, engine }, options);
    } catch (error) {
      if (error instanceof FellBehindError && tries < openTriesMax) continue;
      const where = `${flags.etcdPrefix} of ${flags.etcdServers.join(",")}`;
      throw new UsageError(`cannot read the log ${where}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}

/** What the others reach this one by, and what the log names its holder by. Throws UsageError. */
function replicaUrl(flags: ReplicaFlags, address: ListenAddress): string {
  const url = flags.replicaUrl ?? urlOf(address);
  if (flags.replicaUrl === undefined && isAnywhere(address)) {
    throw new UsageError(
      `--listen ${flags.listen} does not say where other replicas reach this one: say so with --replica-url`,
    );
  }
  const { protocol } = URL.parse(url) ?? {};
  const wanted = address.tls === undefined ? "http:" : "https:";
  if (protocol !== wanted || !/^[!-~]+$/.test(url)) {
    throw new UsageError(`--replica-url ${url} must be a URL that begins with ${wanted}//`);
  }
  return url;
}

function isAnywhere({ host, port }: ListenAddress): boolean {
  return host === "0.0.0.0" || host === "::" || port === 0;
}

/**
 * What replicas show each other: a certificate of their own, or else the one that they serve with. They trust the
 * authority of their clients. Throws UsageError.
 */
function peerIdentity(flags: ReplicaFlags): EtcdIdentity {
  const { replicaCert: cert = flags.cert, replicaKey: key = flags.key } = flags;
  if (cert === undefined || key === undefined) return {};
  const identity = { cert: readOperatorFile(cert), key: readOperatorFile(key) };
  // Absent: for every use.
  const uses = new X509Certificate(identity.cert).keyUsage as readonly string[] | undefined;
  if (flags.clientCa === undefined) return identity;
  if (uses !== undefined && !uses.includes(clientUse)) {
    throw new UsageError(
      `other replicas would refuse ${cert}: it is for servers alone; give one for clients with --replica-cert and --replica-key`,
    );
  }
  return { ...identity, ca: readOperatorFile(flags.clientCa) };
}

/** Of all replicas the holder compacts. */
function startCompactor(
  host: ReplicaHost,
  { compactEvery }: ReplicaFlags,
  replica: Replica,
): AutoCompactor | undefined {
  if (compactEvery === 0) return undefined;
  const store = {
    get commitRevision() {
      return replica.commitRevision;
    },
    get compactRevision() {
      return replica.compactRevision;
    },
    compact: async (revision: Revision) =>
      replica.isOwner ? replica.compact(revision) : ({ kind: "ok" } as const),
  };
  const compactor = new AutoCompactor({ ...host, store }, { intervalMs: compactEvery * 1000 });
  compactor.start();
  return compactor;
}

/** Trimmed slots stay in etcd's own history until that is compacted: replicas and API servers take turns. */
function startClusterCompactor(
  deps: ReplicaHost & { readonly endpoints: EtcdEndpoints },
  { etcdCompactionInterval: periodMs }: ReplicaFlags,
): Compactor | undefined {
  if (periodMs === 0) return undefined;
  const compactor = new Compactor(deps, { periodMs });
  compactor.start();
  return compactor;
}

/** The supervisor starts the process again, and it follows the new holder. */
function endAnew(error: Error): void {
  const why =
    error instanceof FencedError ? "another replica has taken the log over" : error.message;
  process.stderr.write(
    `pilothouse: this replica has stopped: ${why}; nothing acknowledged is lost; start it again and it follows\n`,
  );
  process.exit(1);
}

function readyText(
  replica: Replica,
  { etcdServers, etcdPrefix }: ReplicaFlags,
  url: string,
): string {
  const { keys, bytes } = replica.stats();
  return `pilothouse ${productVersion} store (etcd API ${etcdVersion}) ready in ${(performance.now() / 1000).toFixed(2)} s
  endpoint  ${url}
  log       ${etcdPrefix} in ${etcdServers.join(",")}
  data      ${keys} keys, ${bytes} bytes, revision ${replica.commitRevision}
`;
}
