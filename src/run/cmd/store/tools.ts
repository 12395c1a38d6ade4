/** `pilothouse store check | dump | stats | restore`: tools for a store directory that no store uses. */
import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { snapshotBlockBytes } from "#etcd/snapshot.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { checkDirectory, type CheckReport } from "#store/check.ts";
import type { Key, KeyValue } from "#store/store.ts";
import { loadReadOnly, withDirectory, type LoadedStore } from "#store/read-only.ts";
import { restoreSnapshot } from "#store/restore.ts";
import { openError } from "./run.ts";
import { UsageError } from "../shared/usage-error.ts";

const hashBytes = 32;
const prefixesShown = 20;

/** Checks the directory. The exit code is 1 when it finds a fault. */
export async function storeCheck(directory: string): Promise<void> {
  const report = await over(directory, (deps) => checkDirectory(deps, directory));
  process.stdout.write(checkText(directory, report));
  if (report.problems.length > 0) process.exitCode = 1;
}

/** Prints every key at the newest revision as one line of JSON, with bytes that are not text in base64. */
export async function storeDump(directory: string): Promise<void> {
  const { mvcc } = await over(directory, (deps) => loadReadOnly(deps, directory));
  for (const kv of everything({ mvcc })) {
    if (!process.stdout.write(`${JSON.stringify(dumpLine(kv))}\n`)) {
      await new Promise((resolve) => process.stdout.once("drain", resolve));
    }
  }
}

export async function storeStats(directory: string): Promise<void> {
  const loaded = await over(directory, (deps) => loadReadOnly(deps, directory));
  process.stdout.write(statsText(directory, loaded));
}

export async function storeRestore(snapshot: string, directory: string): Promise<void> {
  await checkHash(snapshot);
  const disk = new NodeDisk();
  const file = await disk.open(snapshot, "read");
  try {
    const deps = { disk, random: new NodeRandom() };
    const restored = await restoreSnapshot(deps, { file, path: snapshot }, directory);
    process.stdout.write(
      `restored ${restored.records} keys and leases at revision ${restored.revision} into ${directory}\n`,
    );
  } catch (error) {
    throw openError(error, directory);
  } finally {
    await file.close();
  }
}

async function over<T>(
  directory: string,
  f: (deps: Parameters<typeof loadReadOnly>[0]) => Promise<T>,
): Promise<T> {
  try {
    return await withDirectory(new NodeDisk(), directory, (disk) =>
      f({ disk, clock: new NodeClock(), log: silentLog }),
    );
  } catch (error) {
    throw openError(error, directory);
  }
}

function checkText(directory: string, report: CheckReport): string {
  const files = report.files.map(
    ({ file, bytes, records, revision, state }) =>
      `  ${state.padEnd(8)} ${file}: ${records} records in ${bytes} bytes, to revision ${revision}\n`,
  );
  const problems = report.problems.map((problem) => `  ${problem}\n`);
  const verdict =
    problems.length === 0
      ? `whole: ${report.keys} keys, safe to revision ${report.safeRevision}\n`
      : `DAMAGED: safe to revision ${report.safeRevision}; restore a snapshot to go on\n`;
  return `store ${report.storeId} in ${directory}\n${files.join("")}${problems.join("")}${verdict}`;
}

function everything({ mvcc }: Pick<LoadedStore, "mvcc">): readonly KeyValue[] {
  const found = mvcc.range({ start: "" as Key, end: "\u0100" as Key });
  return found.kind === "ok" ? found.kvs : [];
}

function dumpLine(kv: KeyValue): Record<string, unknown> {
  const { createRevision, modRevision, version, lease } = kv;
  const key = Buffer.from(kv.key, "latin1");
  return {
    ...dumpBytes("key", key),
    ...dumpBytes("value", Buffer.from(kv.value)),
    createRevision,
    modRevision,
    version,
    ...(lease === 0n ? {} : { lease: lease.toString(16) }),
  };
}

function dumpBytes(name: string, bytes: Buffer): Record<string, string> {
  const text = bytes.toString("utf8");
  const isText = Buffer.from(text, "utf8").equals(bytes);
  return isText ? { [name]: text } : { [`${name}Base64`]: bytes.toString("base64") };
}

function statsText(directory: string, { storeId, mvcc, leases, ...rest }: LoadedStore): string {
  const prefixes = new Map<string, { keys: number; bytes: number }>();
  const kvs = everything({ mvcc });
  for (const { key, value } of kvs) {
    const prefix = key.split("/").slice(0, 3).join("/");
    const sum = prefixes.get(prefix) ?? { keys: 0, bytes: 0 };
    sum.keys++;
    sum.bytes += value.length;
    prefixes.set(prefix, sum);
  }
  const largest = [...prefixes].toSorted(([, a], [, b]) => b.bytes - a.bytes);
  const lines = largest
    .slice(0, prefixesShown)
    .map(
      ([prefix, { keys, bytes }]) =>
        `  ${bytes} bytes in ${keys} keys  ${JSON.stringify(prefix)}\n`,
    );
  return `store ${storeId} in ${directory}
revision    ${mvcc.commitRevision}, compacted at ${mvcc.compactRevision}, checkpoint at ${rest.checkpointRevision}, epoch ${rest.epoch}
keys        ${kvs.length}, versions ${mvcc.versions.size}, leases ${leases.size}
bytes       ${mvcc.bytes} of state and history
largest prefixes by bytes of values:
${lines.join("")}`;
}

/** Checks a snapshot's last 32 bytes, the SHA-256 of the rest. A file of another length than blocks plus a hash has none. */
async function checkHash(path: string): Promise<void> {
  const size = sizeOf(path);
  if (size % snapshotBlockBytes !== hashBytes) {
    throw new UsageError(
      `${path} is ${size} bytes, which no snapshot is: it has no checksum at its end`,
    );
  }
  const hash = createHash("sha256");
  const body = size - hashBytes;
  for await (const chunk of createReadStream(path, { end: body - 1 })) hash.update(chunk as Buffer);
  const tail: Buffer[] = [];
  for await (const chunk of createReadStream(path, { start: body })) tail.push(chunk as Buffer);
  if (hash.digest().equals(Buffer.concat(tail))) return;
  throw new UsageError(`${path} is damaged: its checksum does not hold; take another snapshot`);
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}
