/**
 * `pilothouse store --engine etcd` or `postgres`: one replica of a store whose log lies in an etcd cluster or a database. Any number of them serve
 * the same keys; one holds the log at a time.
 */
import { X509Certificate } from "node:crypto";
import { Alarms } from "#etcd/alarms.ts";
import type { EtcdIdentity } from "#etcd/client.ts";
import type { EtcdEndpoints } from "#etcd/endpoints.ts";
import { HolderLink } from "#etcd/holder-link.ts";
import { Handover } from "#etcd/handover.ts";
import { etcdVersion } from "#etcd/maintenance.ts";
import { EtcdCounters } from "#etcd/counters.ts";
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
import type { LogCluster } from "#store/engines/etcd/cluster.ts";
import { EtcdEngine } from "#store/engines/etcd/engine.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Revision } from "#store/store.ts";
import { openReplica, type Replica } from "#store/replica.ts";
import { openCheckpointPlace } from "./checkpoint-place.ts";
import { etcdEngine } from "../shared/limits.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import type { Parts } from "../shared/parts.ts";
import { productVersion } from "../shared/product.ts";
import type { Started } from "../shared/role-life.ts";
import { openSpareMemory } from "../shared/spare-memory.ts";
import { openLogPlace, type EngineFlags } from "./engine.ts";
import { listenAt, urlOf, type ListenAddress, type ListenFlags } from "./listen.ts";
import { UsageError } from "../shared/usage-error.ts";

interface ReplicaFlags extends ListenFlags, EngineFlags {
  readonly compactEvery: number;
  readonly progressEvery: number;
}

interface ReplicaHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

/** Maximum number of tries to open, because a checkpoint may be replaced at that moment. */
const openTriesMax = 5;
/** Delay before a preferred replica takes the log, so that one that fails repeatedly does not take it each time. */
const preferMs = 10_000;
/** OID of the extended key usage clientAuth. */
const clientUse = "1.3.6.1.5.5.7.3.2";

export async function openReplicaRole(
  host: ReplicaHost,
  flags: ReplicaFlags,
  address: ListenAddress,
  parts: Parts,
): Promise<Started> {
  const url = replicaUrl(flags, address);
  const identity = peerIdentity(flags);
  const { cluster, stripes, endpoints, where } = await openLogPlace(host, flags, parts);
  const chunks = await openCheckpointPlace(flags.checkpoints, process.env);
  const replica = await parts.open(
    "replica",
    () => open({ ...host, cluster, stripes, chunks, where }, flags, url),
    {
      close: (opened) => opened.close(),
    },
  );
  const counters = new EtcdCounters(host.clock);
  const connect = (name: string, gone: () => void): HolderLink =>
    new HolderLink({ ...host, peers: counters.peers }, name, identity, gone);
  const times = { ...recommendedReplicaTimes, name: url };
  const role = new ReplicaRole({ ...host, replica, connect }, times);
  const members = new ReplicaRegistry(cluster, flags.etcdPrefix);
  const handover = new Handover(
    { ...host, replica, role, members, connect },
    { name: url, prefers: flags.prefer === true, preferMs },
  );
  const serving = { replica, role, members, handover, counters };
  await openFrontend(host, flags, { ...serving, address, url }, parts);
  // Writes in flight are settled before connections close, because other replicas then take the log over at once.
  await parts.open("writes", () => undefined, { close: () => replica.close() });
  await parts.open("role", () => role.start(), { close: () => role.stop() });
  await members.add(url);
  await parts.open("handover", () => handover.start(), { close: () => handover.stop() });
  await openCompactors({ ...host, endpoints }, flags, replica, parts);
  await openSpareMemory(host.clock, parts);
  const failed = Promise.race([replica.failed, role.failed]);
  return { text: readyText(replica, `${flags.etcdPrefix} in ${where}`, url), failed };
}

interface Serving {
  readonly replica: Replica;
  readonly role: ReplicaRole;
  readonly members: ReplicaRegistry;
  readonly handover: Handover;
  readonly counters: EtcdCounters;
  readonly address: ListenAddress;
  readonly url: string;
}

async function openFrontend(
  host: ReplicaHost,
  flags: ReplicaFlags,
  { replica, role, members, handover, counters, address, url }: Serving,
  parts: Parts,
): Promise<void> {
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
  const leaderChanges = (): number => replica.holdersSeen;
  const deps = { ...host, store: replica, alarms, methods, holds, leaderChanges, counters };
  await parts.open("listener", () => listenAt(deps, flags, address), {
    close: (listener) => listener.close(),
  });
}

async function open(
  deps: ReplicaHost & {
    readonly cluster: LogCluster;
    readonly stripes: readonly LogCluster[];
    readonly where: string;
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
      const log = `${flags.etcdPrefix} of ${deps.where}`;
      throw new UsageError(`cannot read the log ${log}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}

/** Returns the URL by which other replicas reach this one, and by which the log names its holder. Throws UsageError. */
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
  // Undefined: the certificate is valid for every use.
  const uses = new X509Certificate(identity.cert).keyUsage as readonly string[] | undefined;
  if (flags.clientCa === undefined) return identity;
  if (uses !== undefined && !uses.includes(clientUse)) {
    throw new UsageError(
      `other replicas would refuse ${cert}: it is for servers alone; give one for clients with --replica-cert and --replica-key`,
    );
  }
  return { ...identity, ca: readOperatorFile(flags.clientCa) };
}

type CompactorDeps = ReplicaHost & { readonly endpoints: readonly EtcdEndpoints[] };

async function openCompactors(
  deps: CompactorDeps,
  { compactEvery, etcdCompactionInterval: periodMs }: ReplicaFlags,
  replica: Replica,
  parts: Parts,
): Promise<void> {
  if (compactEvery > 0) {
    const store = compactedByHolder(replica);
    const own = new AutoCompactor({ ...deps, store }, { intervalMs: compactEvery * 1000 });
    await parts.open("compactor", () => own.start(), { close: () => own.stop() });
  }
  if (periodMs === 0) return;
  // Trimmed slots remain in etcd's own history until a compaction. Replicas and API servers take turns at it.
  for (const endpoints of deps.endpoints) {
    const ofCluster = new Compactor({ ...deps, endpoints }, { periodMs });
    await parts.open("etcd-compactor", () => ofCluster.start(), { close: () => ofCluster.close() });
  }
}

/** Lets only the holder of the log compact, of all replicas. */
function compactedByHolder(
  replica: Replica,
): ConstructorParameters<typeof AutoCompactor>[0]["store"] {
  return {
    get commitRevision() {
      return replica.commitRevision;
    },
    get compactRevision() {
      return replica.compactRevision;
    },
    compact: async (revision: Revision) =>
      replica.isOwner ? replica.compact(revision) : ({ kind: "ok" } as const),
  };
}

/** Ends the process. The supervisor starts it again, and it then follows the new holder. */
export function endAnew(error: Error): void {
  const why =
    error instanceof FencedError ? "another replica has taken the log over" : error.message;
  process.stderr.write(
    `pilothouse: this replica has stopped: ${why}; nothing acknowledged is lost; start it again and it follows\n`,
  );
  process.exit(1);
}

function readyText(replica: Replica, log: string, url: string): string {
  const { keys, bytes } = replica.stats();
  return `pilothouse ${productVersion} store (etcd API ${etcdVersion}) ready in ${(performance.now() / 1000).toFixed(2)} s
  endpoint  ${url}
  log       ${log}
  data      ${keys} keys, ${bytes} bytes, revision ${replica.commitRevision}
`;
}
