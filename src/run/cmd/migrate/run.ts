/**
 * `pilothouse migrate`: a cluster's objects from an etcd into a data directory, or from one into an etcd; or some
 * resources from one etcd into another.
 *
 * Holds  resourceVersions never fall: a directory keeps each object's own, an etcd gives new ones above all of them.
 *        A migration that was cut off leaves nothing that would be taken for whole, and is begun again.
 */
import { existsSync } from "node:fs";
import { must } from "#base/assert.ts";
import { given } from "#base/given.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { prefixOfKey } from "#registry/keys.ts";
import type { EtcdEndpoints } from "#etcd/endpoints.ts";
import type { KeyLayout } from "#stocketcd/layout.ts";
import { type PlacedCluster, placementOf } from "#stocketcd/placement.ts";
import { readCluster } from "#stocketcd/read-cluster.ts";
import { ForeignClusterError, type TellProgress, writeCluster } from "#stocketcd/write-cluster.ts";
import { type AtRest, isSealed, SealedValueError } from "#store/at-rest.ts";
import { loadReadOnly, withDirectory } from "#store/read-only.ts";
import { createStore } from "#store/restore.ts";
import type { Key, KeyValue } from "#store/store.ts";
import { openEncryption } from "../shared/encryption.ts";
import { openDataDirectory } from "../shared/data-dir.ts";
import { clusterOf, type EtcdFlags, storedResources } from "../shared/etcd-cluster.ts";
import { Parts } from "../shared/parts.ts";
import { openError } from "../store/run.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface MigrateFlags extends Omit<EtcdFlags, "etcdServers" | "etcdCompactionInterval"> {
  readonly fromEtcd: readonly string[];
  readonly toEtcd: readonly string[];
  readonly fromDataDir?: string;
  readonly toDataDir?: string;
  /** Resources to move, as `group/resource`. */
  readonly resources: readonly string[];
  /** Path of the encryption configuration of both storages. */
  readonly encryptionProviderConfig?: string;
}

/** `atRest`: encryption of values in both storages. Absent: values are not encrypted. */
type Move = MigrateFlags & { readonly atRest?: AtRest };

const platform = { disk: new NodeDisk(), clock: new NodeClock(), random: new NodeRandom() };
const namesShown = 5;

/** Throws UsageError. */
export async function migrate(flags: MigrateFlags): Promise<void> {
  await using parts = new Parts();
  const file = given({ encryptionProviderConfig: flags.encryptionProviderConfig });
  const encryption = await openEncryption(
    { clock: platform.clock, log: silentLog },
    { ...file, encryptionProviderConfigAutomaticReload: false },
    parts,
  );
  const fault = encryption?.kms.plugins?.fault();
  if (fault !== undefined) throw new UsageError(`--encryption-provider-config: ${fault}`);
  await move({ ...flags, ...given({ atRest: encryption?.transformers }) });
}

async function move(flags: Move): Promise<void> {
  const { fromEtcd, toEtcd, fromDataDir, toDataDir, resources } = flags;
  const way = [
    fromEtcd.length > 0 ? "etcd" : "",
    fromDataDir === undefined ? "" : "directory",
    "to",
    toEtcd.length > 0 ? "etcd" : "",
    toDataDir === undefined ? "" : "directory",
    resources.length > 0 ? "of some" : "",
  ];
  switch (way.filter((part) => part !== "").join(" ")) {
    case "etcd to directory":
      return toDirectory(flags, toDataDir ?? "");
    case "directory to etcd":
      return fromDirectory(flags, fromDataDir ?? "");
    case "etcd to etcd of some":
      return betweenClusters(flags);
    default:
      throw new UsageError(
        "give --from-etcd and --to-data-dir, or --from-data-dir and --to-etcd, or --from-etcd, --to-etcd and --resources",
      );
  }
}

async function toDirectory(flags: Move, path: string): Promise<void> {
  const { endpoints, layout } = await clusterOf({ ...flags, etcdServers: flags.fromEtcd });
  const directory = await openDataDirectory(platform.disk, path);
  try {
    if (existsSync(directory.store))
      throw new UsageError(`${path} has a store already: give a new directory`);
    const { revision, kvs, leases } = await readFrom({ endpoints, layout }, flags);
    const alive = kvs.filter(({ lease }) => lease === 0n || leases.has(lease));
    const granted = [...leases].map(([id, ttlMs]) => ({ id, ttlMs }));
    const { atRest } = flags;
    const sealed = alive.map((kv) => ({
      ...kv,
      value: atRest?.seal(kv.key, kv.key, kv.value) ?? kv.value,
    }));
    await createStore(platform, { revision, kvs: sealed, leases: granted }, directory.store);
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

interface Cluster {
  readonly endpoints: EtcdEndpoints;
  readonly layout: KeyLayout;
}

interface ReadState {
  readonly revision: number;
  readonly kvs: readonly KeyValue[];
  /** By lease: its remaining milliseconds. */
  readonly leases: ReadonlyMap<bigint, number>;
}

/** Reads the objects to move. Throws UsageError, also when there is none. */
async function readFrom({ endpoints, layout }: Cluster, flags: Move): Promise<ReadState> {
  const unreadable: string[] = [];
  const client = endpoints.client();
  const reader = {
    layout,
    ...given({ atRest: flags.atRest }),
    unreadable: (key: string) => unreadable.push(key),
  };
  const { revision, kvs } = await readCluster(client, reader).catch(rethrow(flags));
  refuseUnreadable(unreadable);
  if (kvs.length === 0) throw new UsageError(`there is no object below ${flags.etcdPrefix}/`);
  return { revision, kvs, leases: await remainingLeases(endpoints, kvs) };
}

async function fromDirectory(flags: Move, path: string): Promise<void> {
  if (!existsSync(path)) throw new UsageError(`there is no data directory ${path}`);
  const { endpoints, layout } = await clusterOf({ ...flags, etcdServers: flags.toEtcd });
  const directory = await openDataDirectory(platform.disk, path);
  try {
    await writeInto({ endpoints, layout }, await stateOf(directory.store, flags), flags);
    const servers = flags.toEtcd.join(",");
    print(
      `Next: pilothouse apiserver --etcd-servers ${servers} --etcd-prefix ${flags.etcdPrefix}, or kube-apiserver with the same flags\n${keysText}`,
    );
  } catch (error) {
    throw openError(error, path);
  } finally {
    endpoints.close();
    await directory.lock.release();
  }
}

/** Moves resources into a cluster of their own, or back. */
async function betweenClusters(flags: Move): Promise<void> {
  const { fromEtcd, toEtcd, resources } = flags;
  const holds = movedBy(resources);
  const source = await clusterOf({ ...flags, etcdServers: fromEtcd }, holds, "--from-etcd");
  const target = await clusterOf({ ...flags, etcdServers: toEtcd }, holds, "--to-etcd");
  try {
    await writeInto(target, await readFrom(source, flags), flags);
    const entries = resources.map((name) => `${name}#${toEtcd.join(";")}`).join(",");
    print(
      `Next: start all API servers with --etcd-servers-overrides '${entries}', the first with --accept-etcd-placement. What ${fromEtcd.join(",")} has of these resources\n` +
        "stays there and is not served any more; delete it before they are moved back.\n",
    );
  } finally {
    source.endpoints.close();
    target.endpoints.close();
  }
}

/** Throws UsageError. */
function movedBy(resources: readonly string[]): PlacedCluster["holds"] {
  const place = "moved";
  try {
    const stored = storedResources();
    const [moved] = placementOf(
      resources.map((name) => `${name}#${place}`),
      stored,
    );
    const isHeld = must(moved, "one is named").holds;
    for (const name of resources) {
      const [group = "", resource = ""] = name.split("/");
      if (resource !== "*" && !isHeld({ group, resource }))
        throw new UsageError(`--resources ${name}: no such resource has a cluster of its own`);
    }
    return isHeld;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const text = `--resources ${resources.join(",")}: give group/resource, as /events or apps/deployments`;
    throw new UsageError(text, { cause: error });
  }
}

async function writeInto(
  { endpoints, layout }: Cluster,
  { kvs, leases, revision }: ReadState,
  flags: Move,
): Promise<void> {
  const ttlMsOf = (lease: bigint): number | undefined => leases.get(lease);
  const client = endpoints.client();
  const state = { revision, kvs, ttlMsOf, ...given({ atRest: flags.atRest }) };
  const done = await writeCluster(client, layout, state, progress()).catch(rethrow(flags));
  print(tableOf(kvs));
  const alike = done.alike === 0 ? "" : `; ${done.alike} were there already`;
  print(`${done.written} objects were written, up to revision ${done.revision}${alike}.\n`);
}

const keysText =
  "Keys and certificates do not move: give the new server the old one's --service-account-key-file and\n" +
  "--client-ca-file, so that tokens and client certificates stay good.\n";

function rethrow({ fromEtcd, toEtcd }: MigrateFlags): (error: unknown) => never {
  return (error) => {
    if (error instanceof ForeignClusterError) throw new UsageError(error.message, { cause: error });
    const where = [...fromEtcd, ...toEtcd].join(",");
    throw new UsageError(`etcd at ${where}: ${(error as Error).message}`, { cause: error });
  };
}

function refuseUnreadable(keys: readonly string[]): void {
  if (keys.length === 0) return;
  const shown = keys.slice(0, namesShown).join(", ");
  throw new UsageError(`${keys.length} objects cannot be read, so nothing was moved: ${shown}`);
}

/** Returns the remaining milliseconds of each lease of these keys, without expired leases. */
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

async function stateOf(directory: string, { atRest }: Move): Promise<ReadState> {
  const { kvs, ...state } = await storedState(directory);
  await atRest?.prepare(kvs);
  return { ...state, kvs: kvs.map((kv) => opened(kv, atRest)) };
}

/** Decrypts a value. Throws UsageError, because the other storage could not read an encrypted value. */
function opened(kv: KeyValue, atRest: AtRest | undefined): KeyValue {
  if (!isSealed(kv.value)) return kv;
  if (atRest === undefined)
    throw new UsageError(
      `${kv.key} is encrypted at rest: --encryption-provider-config names the keys that open it`,
    );
  try {
    return { ...kv, value: atRest.open(kv.key, kv.key, kv.value) };
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error;
    throw new UsageError(`${kv.key} cannot be decrypted: ${error.message}`, { cause: error });
  }
}

function storedState(directory: string): Promise<ReadState> {
  return withDirectory(platform.disk, directory, async (disk) => {
    const { mvcc, leases } = await loadReadOnly({ ...platform, disk, log: silentLog }, directory);
    const found = mvcc.range({ start: "" as Key, end: "\u0100" as Key });
    const kvs = found.kind === "ok" ? found.kvs : [];
    const ttls = new Map([...leases.all()].map(({ id, ttlMs }) => [id, ttlMs] as const));
    return { revision: mvcc.commitRevision, kvs, leases: ttls };
  });
}

/** Returns a table of the number of objects of each kind. */
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

/** Prints a line to standard error for every twentieth of the work. */
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
