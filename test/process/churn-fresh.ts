/**
 * The data directory that a plane would have which had only ever been given the objects that are there
 * now: what a directory after churn is compared with, on the disk and in memory.
 */
import { cpSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../src/core/platform/log.ts";
import { NodeClock } from "../../src/core/platform/node/clock.ts";
import { NodeDisk } from "../../src/core/platform/node/disk.ts";
import { NodeRandom } from "../../src/core/platform/node/random.ts";
import { localEngine } from "../../src/run/cmd/shared/limits.ts";
import { openStore } from "../../src/commit/store/open.ts";
import { recommendedOptions } from "../../src/commit/store/options.ts";
import type { Key } from "../../src/commit/store/store.ts";

/** Events go on to end by themselves. */
const leaseSeconds = 3600;

/** `from` belongs to nobody any more. */
export async function makeFreshDirectory(from: string, to: string): Promise<void> {
  cpSync(from, to, { recursive: true, filter: (path) => path !== join(from, "store") });
  const source = await open(join(from, "store"));
  const target = await open(join(to, "store"));
  const all = source.range({ start: "" as Key, end: "\u{ff}" as Key });
  if (all.kind !== "ok") throw new Error(`the state cannot be read: ${all.kind}`);
  for (const { key, value, lease } of all.kvs) {
    const attached = lease === 0n ? {} : { lease: await target.grantLease(leaseSeconds) };
    const put = await target.put(key, value, attached);
    if (put.kind !== "committed") throw new Error(`${key}: ${put.kind}`);
  }
  await source.close();
  await target.close();
}

/** Blocks that are taken, as `du` counts them: segments are made longer than what is in them. */
export function diskBytes(path: string): number {
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return stat.blocks * 512;
  return readdirSync(path).reduce(
    (sum, name) => sum + diskBytes(join(path, name)),
    stat.blocks * 512,
  );
}

function open(directory: string) {
  const host = {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: silentLog,
  };
  return openStore(host, { ...recommendedOptions, ...localEngine, engine: "local", directory });
}
