/**
 * `pilothouse migrate`: a cluster's objects from an etcd into a data directory, or from one into an etcd.
 *
 * Holds  resourceVersions never fall: a directory keeps each object's own, an etcd gives new ones above all of them.
 *        A migration that was cut off leaves nothing that would be taken for whole, and is begun again.
 */
import { existsSync } from "node:fs";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { prefixOfKey } from "#registry/keys.ts";
import type { EtcdEndpoints } from "#etcd/endpoints.ts";
import { readCluster } from "#stocketcd/read-cluster.ts";
import { ForeignClusterError, type TellProgress, writeCluster } from "#stocketcd/write-cluster.ts";
import { loadReadOnly, withDirectory } from "#store/read-only.ts";
import { createStore } from "#store/restore.ts";
import type { Key, KeyValue } from "#store/store.ts";
import { openDataDirectory } from "./data-dir.ts";
import { clusterOf, type EtcdFlags } from "./roles/etcd-storage.ts";
import { openError } from "./store.ts";
import { UsageError } from "./usage-error.ts";

export interface MigrateFlags extends Omit<EtcdFlags, "etcdServers" | "etcdCompactionInterval"> {
  readonly fromEtcd: readonly string[];
  readonly toEtcd: readonly string[];
  readonly fromDataDir?: string;
  readonly toDataDir?: string;
}

const platform = { disk: new NodeDisk(), clock: new NodeClock(), random: new NodeRandom() };
const namesShown = 5;

/** Throws UsageError. */
export async function migrate(flags: MigrateFlags): Promise<void> {
  const { fromEtcd, toEtcd, fromDataDir, toDataDir } = flags;
  if (
    fromEtcd.length > 0 &&
    toDataDir !== undefined &&
    toEtcd.length === 0 &&
    fromDataDir === undefined
  )
    return toDirectory(flags, toDataDir);
  if (
    toEtcd.length > 0 &&
    fromDataDir !== undefined &&
    fromEtcd.length === 0 &&
    toDataDir === undefined
  )
    return toCluster(flags, fromDataDir);
  throw new UsageError("give --from-etcd and --to-data-dir, or --from-data-dir and --to-etcd");
}

async function toDirectory(flags: MigrateFlags, path: string): Promise<void> {
  const { endpoints, layout } = await clusterOf({ ...flags, etcdServers: flags.fromEtcd });
  const directory = await openDataDirectory(platform.disk, path);
  try {
    if (existsSync(directory.store))
      throw new UsageError(`${path} has a store already: give a new directory`);
    const unreadable: string[] = [];
    const client = endpoints.client();
    const reader = { layout, unreadable: (key: string) => unreadable.push(key) };
    const { revision, kvs } = await readCluster(client, reader).catch(rethrow(flags));
    refuseUnreadable(unreadable);
    if (kvs.length === 0) throw new UsageError(`there is no object below ${flags.etcdPrefix}/`);
    const leases = await remainingLeases(endpoints, kvs);
    const alive = kvs.filter(({ lease }) => lease === 0n || leases.has(lease));
    const granted = [...leases].map(([id, ttlMs]) => ({ id, ttlMs }));
    await createStore(platform, { revision, kvs: alive, leases: granted }, directory.store);
    print(tableOf(alive));
    print(
      `${alive.length} objects at revision ${revision} are in ${path}, with their resourceVersions.\n`,
    );
    print(`Next: pilothouse up --data-dir ${path}\n${keysText}`);
  } catch (error) {
    throw openError(error, path);
  } finally {
    endpoints.close();
    await directory.lock.release();
  }
}

async function toCluster(flags: MigrateFlags, path: string): Promise<void> {
  if (!existsSync(path)) throw new UsageError(`there is no data directory ${path}`);
  const { endpoints, layout } = await clusterOf({ ...flags, etcdServers: flags.toEtcd });
  const directory = await openDataDirectory(platform.disk, path);
  try {
    const { kvs, leases, revision } = await stateOf(directory.store);
    const ttlMsOf = (lease: bigint): number | undefined => leases.get(lease);
    const state = { revision, kvs, ttlMsOf };
    const client = endpoints.client();
    const done = await writeCluster(client, layout, state, progress()).catch(rethrow(flags));
    print(tableOf(kvs));
    const alike = done.alike === 0 ? "" : `; ${done.alike} were there already`;
    print(`${done.written} objects were written, up to revision ${done.revision}${alike}.\n`);
    const servers = flags.toEtcd.join(",");
    print(
      `Next: pilothouse apiserver --etcd-servers ${servers} --etcd-prefix ${flags.etcdPrefix}, or kube-apiserver with the same flags\n${keysText}`,
    );
  } catch (error) {
    if (error instanceof ForeignClusterError) throw new UsageError(error.message, { cause: error });
    throw openError(error, path);
  } finally {
    endpoints.close();
    await directory.lock.release();
  }
}

const keysText =
  "Keys and certificates do not move: give the new server the old one's --service-account-key-file and\n" +
  "--client-ca-file, so that tokens and client certificates stay good.\n";

function rethrow({ fromEtcd, toEtcd }: MigrateFlags): (error: unknown) => never {
  return (error) => {
    if (error instanceof ForeignClusterError) throw error;
    const where = [...fromEtcd, ...toEtcd].join(",");
    throw new UsageError(`etcd at ${where}: ${(error as Error).message}`, { cause: error });
  };
}

function refuseUnreadable(keys: readonly string[]): void {
  if (keys.length === 0) return;
  const shown = keys.slice(0, namesShown).join(", ");
  throw new UsageError(`${keys.length} objects cannot be read, so nothing was moved: ${shown}`);
}

/** Milliseconds that each lease of these keys has left; one that is over is left out. */
async function remainingLeases(
  endpoints: EtcdEndpoints,
  kvs: readonly KeyValue[],
): Promise<ReadonlyMap<bigint, number>> {
  const left = new Map<bigint, number>();
  const ids = new Set(kvs.map(({ lease }) => lease).filter((lease) => lease !== 0n));
  for (const id of ids) {
    const { ttl } = await endpoints.client().timeToLive(id, false);
    if (ttl > 0) left.set(id, ttl * 1000);
  }
  return left;
}

async function stateOf(directory: string): Promise<{
  readonly revision: number;
  readonly kvs: readonly KeyValue[];
  readonly leases: ReadonlyMap<bigint, number>;
}> {
  return withDirectory(platform.disk, directory, async (disk) => {
    const { mvcc, leases } = await loadReadOnly({ ...platform, disk, log: silentLog }, directory);
    const found = mvcc.range({ start: "" as Key, end: "\u0100" as Key });
    const kvs = found.kind === "ok" ? found.kvs : [];
    const ttls = new Map([...leases.all()].map(({ id, ttlMs }) => [id, ttlMs] as const));
    return { revision: mvcc.commitRevision, kvs, leases: ttls };
  });
}

/** How many objects of each kind. */
function tableOf(kvs: readonly KeyValue[]): string {
  const counts = new Map<string, number>();
  for (const { key } of kvs) {
    const prefix = prefixOfKey(key) ?? key;
    counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  const rows = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return rows
    .map(
      ([prefix, count]) =>
        `${String(count).padStart(9)}  ${prefix.replace(/^\/registry\/|\/$/g, "")}\n`,
    )
    .join("");
}

/** A line for every twentieth of the work, on standard error. */
function progress(): TellProgress {
  let told = "";
  return (what, done, of) => {
    const line = `${what}: ${Math.floor((done * 20) / of) * 5} % of ${of}\n`;
    if (line === told) return;
    told = line;
    process.stderr.write(line);
  };
}

function print(text: string): void {
  process.stdout.write(text);
}
