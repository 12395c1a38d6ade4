/**
 * `pilothouse store`: the etcd v3 API over a log in one directory, until Ctrl-C or SIGTERM.
 */
import { exitOnStoreFailure } from "./store-failure.ts";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AlarmFile } from "#etcd/alarm-file.ts";
import { Alarms } from "#etcd/alarms.ts";
import { etcdVersion } from "#etcd/maintenance.ts";
import { etcdMethods, recommendedEtcdLimits } from "#etcd/services.ts";
import { DiskError } from "#platform/disk.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { countOffHeapWithHeap } from "#platform/node/heap.ts";
import { nodeLog } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { AutoCompactor } from "#store/auto-compact.ts";
import type { FullStore } from "#store/full-store.ts";
import { openStore } from "#store/open.ts";
import { recommendedOptions } from "#store/options.ts";
import { localEngine } from "./limits.ts";
import { isLoopback } from "./loopback.ts";
import { productVersion } from "./product.ts";
import { giveMemoryBack } from "./spare-memory.ts";
import { checkEngine, type EngineFlags } from "./store-engine.ts";
import {
  checkTransport,
  listenAt,
  parseAddress,
  readTls,
  urlOf,
  warnOpen,
  type ListenFlags,
} from "./store-listen.ts";
import { onStopSignal } from "./stop-signal.ts";
import { supervised } from "./supervise.ts";
import { UsageError } from "./usage-error.ts";

export interface StoreFlags extends ListenFlags, EngineFlags {
  readonly dataDir: string;
  readonly memory?: boolean;
  readonly compactEvery: number;
  readonly progressEvery: number;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

type Host = ReturnType<typeof hostOf>;

export async function serveStore(flags: StoreFlags): Promise<void> {
  countOffHeapWithHeap();
  const stopped = new Promise<"stop">((resolve) => onStopSignal(() => resolve("stop")));
  const host = supervised(hostOf(flags));
  const address = parseAddress(flags.listen);
  const near = await isLoopback(address.host, "--listen");
  checkTransport(flags, near);
  const tls = readTls(flags);
  if (!near && tls?.clientCa === undefined) warnOpen(host, flags);
  checkEngine(flags);
  if (flags.engine === "etcd") {
    const { serveReplica } = await import("./store-replica.ts");
    return serveReplica({ ...host, stopped }, flags, { ...address, tls });
  }
  const store = await open(host, flags);
  const alarms = await openAlarms(host, store, flags);
  const at = { ...address, tls };
  let { port } = address;
  const methods = etcdMethods(
    { ...host, store, alarms },
    {
      ...recommendedEtcdLimits,
      ...identityOf(host, flags),
      progressMs: flags.progressEvery * 1000,
      name: "default",
      clientUrls: () => [urlOf({ ...at, port })],
      quotaBytes: flags.quota,
    },
  );
  const listening = await listenAt({ ...host, store, alarms, methods }, flags, at);
  port = listening.port;
  const compactor =
    flags.compactEvery > 0
      ? new AutoCompactor({ ...host, store }, { intervalMs: flags.compactEvery * 1000 })
      : undefined;
  compactor?.start();
  process.stdout.write(readyText(store, flags, address.host, listening.port));
  const spare = giveMemoryBack(host.clock);
  const failure = await Promise.race([stopped, store.failed]);
  if (failure instanceof Error) return exitOnStoreFailure(failure);
  spare.stop();
  compactor?.stop();
  await listening.close();
  await store.close();
  process.stdout.write("stopped\n");
}

export function hostOf(flags: { readonly logLevel: StoreFlags["logLevel"] }) {
  return {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: nodeLog({ level: flags.logLevel, destination: 2 }),
  };
}

async function open(host: Host, flags: StoreFlags): Promise<FullStore> {
  const options = { ...recommendedOptions, quotaBytes: flags.quota, watchBatchCommitsMax: 256 };
  if (flags.memory === true) return openStore(host, { ...options, engine: "memory" });
  try {
    const engine = { engine: "local", directory: flags.dataDir, ...localEngine } as const;
    return await openStore(host, { ...options, ...engine });
  } catch (error) {
    throw openError(error, flags.dataDir);
  }
}

async function openAlarms(host: Host, store: FullStore, flags: StoreFlags): Promise<Alarms> {
  if (flags.memory === true) return new Alarms(host.log);
  const memory = new AlarmFile(host.disk, flags.dataDir);
  try {
    return new Alarms(host.log, memory, await memory.load());
  } catch (error) {
    await store.close();
    throw openError(error, flags.dataDir);
  }
}

export function openError(error: unknown, directory: string): unknown {
  const isStore =
    error instanceof DiskError || (error instanceof Error && /Corruption|Foreign/.test(error.name));
  if (!isStore) return error;
  return new UsageError(`cannot open the store in ${directory}: ${error.message}`, {
    cause: error,
  });
}

/** The same ids for the same directory at every start; clients notice when they change. */
function identityOf(
  host: Host,
  flags: StoreFlags,
): { readonly clusterId: bigint; readonly memberId: bigint } {
  const format = join(flags.dataDir, "FORMAT");
  const seed =
    flags.memory !== true && existsSync(format) ? readFileSync(format) : host.random.bytes(16);
  const digest = createHash("sha256").update(seed).digest();
  return { clusterId: digest.readBigUInt64BE(0), memberId: digest.readBigUInt64BE(8) };
}

function readyText(store: FullStore, flags: StoreFlags, host: string, port: number): string {
  const { keys, bytes } = store.stats();
  const scheme = flags.cert === undefined ? "http" : "https";
  const where = flags.memory === true ? "memory only, gone at the end" : flags.dataDir;
  return `pilothouse ${productVersion} store (etcd API ${etcdVersion}) ready in ${(performance.now() / 1000).toFixed(2)} s
  endpoint  ${scheme}://${host}:${port}
  data      ${where}: ${keys} keys, ${bytes} bytes, revision ${store.commitRevision}
`;
}
