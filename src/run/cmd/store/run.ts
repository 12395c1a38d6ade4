/**
 * `pilothouse store`: the etcd v3 API over a log in one directory, until Ctrl-C or SIGTERM.
 */
import { exitOnStoreFailure } from "../shared/store-failure.ts";
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
import { localEngine } from "../shared/limits.ts";
import { isLoopback } from "../shared/loopback.ts";
import type { Parts } from "../shared/parts.ts";
import { productVersion } from "../shared/product.ts";
import { type OpenRole, runToEnd, type Started } from "../shared/role-life.ts";
import { openSpareMemory } from "../shared/spare-memory.ts";
import { checkEngine, type EngineFlags } from "./engine.ts";
import {
  checkTransport,
  type ListenAddress,
  listenAt,
  parseAddress,
  readTls,
  urlOf,
  warnOpen,
  type ListenFlags,
} from "./listen.ts";
import { supervised } from "../shared/supervise.ts";
import { UsageError } from "../shared/usage-error.ts";

/** Address to listen on. With https it has the TLS settings of the clients' listener. */
export interface ListenUrl {
  readonly isTls: boolean;
  /** Address as host:port. */
  readonly address: string;
}

export interface StoreFlags extends ListenFlags, EngineFlags {
  readonly dataDir: string;
  /** Name of the member. Absent: "default". */
  readonly name?: string;
  /** Addresses of further listeners as host:port, with the same TLS settings. */
  readonly alsoListen?: readonly string[];
  /** Addresses that serve only /metrics and /health. */
  readonly metricsListen?: readonly ListenUrl[];
  /** URLs for clients in the member list. Absent: the addresses of the listeners. */
  readonly advertise?: readonly string[];
  readonly requestBytesMax?: number;
  readonly txnOpsMax?: number;
  /** Number of revisions that the store's own compaction keeps. */
  readonly keepRevisions?: number;
  readonly memory?: boolean;
  readonly compactEvery: number;
  readonly progressEvery: number;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/** etcd's period of compactions by revisions. */
const revisionCompactionMs = 300_000;

type Host = ReturnType<typeof hostOf>;

export async function serveStore(flags: StoreFlags): Promise<void> {
  countOffHeapWithHeap();
  const host = supervised(hostOf(flags));
  if (flags.engine === "local") {
    return runToEnd((parts) => openStoreRole(host, flags, parts), {
      onFailed: exitOnStoreFailure,
    });
  }
  const { endAnew, openReplicaRole } = await import("./replica.ts");
  const open: OpenRole = async (parts) =>
    openReplicaRole(host, flags, await listenAddress(host, flags), parts);
  return runToEnd(open, { onFailed: endAnew });
}

/** Reports faults of the flags before anything is opened. */
async function listenAddress(host: Host, flags: StoreFlags): Promise<ListenAddress> {
  const address = parseAddress(flags.listen);
  const near = await isLoopback(address.host, "--listen");
  checkTransport(flags, near);
  const tls = readTls(flags);
  if (!near && tls?.clientCa === undefined) warnOpen(host, flags);
  checkEngine(flags);
  return { ...address, tls };
}

export async function openStoreRole(host: Host, flags: StoreFlags, parts: Parts): Promise<Started> {
  const address = await listenAddress(host, flags);
  const store = await parts.open("store", () => open(host, flags), {
    close: (opened) => opened.close(),
  });
  const alarms = await openAlarms(host, flags);
  const at = { ...address };
  const methods = etcdMethods(
    { ...host, store, alarms },
    {
      ...limitsOf(flags),
      ...identityOf(host, flags),
      progressMs: flags.progressEvery * 1000,
      name: flags.name ?? "default",
      clientUrls: () => flags.advertise ?? [urlOf(at)],
      quotaBytes: flags.quota,
    },
  );
  const listening = await parts.open(
    "listener",
    () => listenAt({ ...host, store, alarms, methods }, flags, address),
    { close: (listener) => listener.close() },
  );
  at.port = listening.port;
  await openMoreListeners({ ...host, store, alarms, methods }, flags, address, parts);
  await openCompactor({ ...host, store }, flags, parts);
  await openSpareMemory(host.clock, parts);
  return { text: readyText(store, flags, address.host, listening.port), failed: store.failed };
}

function limitsOf({ requestBytesMax, txnOpsMax }: StoreFlags) {
  return {
    ...recommendedEtcdLimits,
    ...(requestBytesMax !== undefined && { requestBytesMax }),
    ...(txnOpsMax !== undefined && { txnOpsMax }),
  };
}

/** Opens the further listeners for clients, and those that serve only probes and metrics. */
async function openMoreListeners(
  deps: Parameters<typeof listenAt>[0],
  flags: StoreFlags,
  { tls }: ListenAddress,
  parts: Parts,
): Promise<void> {
  for (const listen of flags.alsoListen ?? []) {
    await openListener(deps, flags, { ...(await nearOrSecure(flags, listen)), tls }, parts);
  }
  for (const { isTls, address: listen } of flags.metricsListen ?? []) {
    const address = { ...parseAddress(listen), tls: isTls ? tls : undefined };
    await openListener({ ...deps, methods: new Map() }, flags, address, parts);
  }
}

async function nearOrSecure(flags: StoreFlags, listen: string) {
  const address = parseAddress(listen);
  checkTransport(flags, await isLoopback(address.host, "--listen"));
  return address;
}

async function openListener(
  deps: Parameters<typeof listenAt>[0],
  flags: StoreFlags,
  address: ListenAddress,
  parts: Parts,
): Promise<void> {
  const listen = `${address.host}:${address.port}`;
  await parts.open(`listener-${listen}`, () => listenAt(deps, { ...flags, listen }, address), {
    close: (listener) => listener.close(),
  });
}

async function openCompactor(
  deps: ConstructorParameters<typeof AutoCompactor>[0],
  { compactEvery, keepRevisions }: StoreFlags,
  parts: Parts,
): Promise<void> {
  const options =
    keepRevisions === undefined
      ? { intervalMs: compactEvery * 1000 }
      : { intervalMs: revisionCompactionMs, keepRevisions };
  if (options.intervalMs === 0) return;
  const compactor = new AutoCompactor(deps, options);
  await parts.open("compactor", () => compactor.start(), { close: () => compactor.stop() });
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

async function openAlarms(host: Host, flags: StoreFlags): Promise<Alarms> {
  if (flags.memory === true) return new Alarms(host.log);
  const memory = new AlarmFile(host.disk, flags.dataDir);
  try {
    return new Alarms(host.log, memory, await memory.load());
  } catch (error) {
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

/** Returns the same ids for the same directory at every start, because clients notice a change. */
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
