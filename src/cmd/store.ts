/**
 * `pilothouse store`: the etcd v3 API over a log in one directory, until Ctrl-C or SIGTERM.
 */
import { exitOnStoreFailure } from "./store-failure.ts";
import { createHash, X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { certificateIdentity } from "#auth/certificate.ts";
import { AlarmFile } from "#etcd/alarm-file.ts";
import { Alarms } from "#etcd/alarms.ts";
import { etcdVersion } from "#etcd/maintenance.ts";
import { etcdHttpFrontend } from "#etcd/http-frontend.ts";
import {
  listenEtcd,
  recommendedServerLimits,
  type EtcdListening,
  type ListenTls,
} from "#etcd/server.ts";
import { etcdMethods, recommendedEtcdLimits } from "#etcd/services.ts";
import { DiskError } from "#platform/disk.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { countOffHeapWithHeap } from "#platform/node/heap.ts";
import { nodeLog } from "#platform/node/log.ts";
import { readProcessFigures } from "#platform/node/process-figures.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { AutoCompactor } from "#store/auto-compact.ts";
import type { FullStore } from "#store/full-store.ts";
import { openStore } from "#store/open.ts";
import { recommendedOptions } from "#store/options.ts";
import { localEngine } from "./limits.ts";
import { isLoopback } from "./loopback.ts";
import { readOperatorFile } from "./operator-file.ts";
import { productVersion } from "./product.ts";
import { giveMemoryBack } from "./spare-memory.ts";
import { onStopSignal } from "./stop-signal.ts";
import { supervised } from "./supervise.ts";
import { UsageError } from "./usage-error.ts";

export interface StoreFlags {
  readonly dataDir: string;
  readonly listen: string;
  readonly memory?: boolean;
  readonly cert?: string;
  readonly key?: string;
  readonly clientCa?: string;
  readonly allowCn?: readonly string[];
  readonly insecureTransport?: boolean;
  readonly quota: number;
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
  const store = await open(host, flags);
  const alarms = await openAlarms(host, store, flags);
  const listening = await listen({ ...host, store, alarms }, flags, { ...address, tls });
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

function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new UsageError(`--listen takes host:port, such as 127.0.0.1:2379, not "${text}"`);
  }
  return { host: (match[1] ?? match[2]) as string, port };
}

/** In the clear, anyone that reaches the store can read and write every key, Secrets too. */
function checkTransport({ listen, cert, insecureTransport }: StoreFlags, near: boolean): void {
  if (cert !== undefined && insecureTransport === true) {
    throw new UsageError("--insecure-transport is for a listener without --cert and --key");
  }
  if (near || cert !== undefined || insecureTransport === true) return;
  throw new UsageError(
    `--listen ${listen} would serve every key in the clear to whoever reaches it: give --cert, --key and --client-ca, listen on 127.0.0.1, or accept it with --insecure-transport`,
  );
}

function warnOpen({ log }: Host, { listen }: StoreFlags): void {
  log.warn("every client is served, none has to say who it is", {
    listen,
    hint: "limit it with --client-ca, and --allow-cn",
  });
}

function readTls(flags: StoreFlags): ListenTls | undefined {
  const { cert, key, clientCa, allowCn } = flags;
  if (allowCn !== undefined && clientCa === undefined) {
    throw new UsageError("--allow-cn limits the certificates of --client-ca: give it too");
  }
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw new UsageError("TLS needs both --cert and --key");
  }
  const tls = {
    cert: readOperatorFile(cert),
    key: readOperatorFile(key),
    ...(clientCa === undefined ? {} : { clientCa: readOperatorFile(clientCa) }),
    ...(allowCn === undefined ? {} : { refuse: refuseOthers(allowCn) }),
  };
  usable("--cert and --key", () => createSecureContext({ cert: tls.cert, key: tls.key }));
  // createSecureContext ignores an invalid authority, and would then refuse every client.
  if (clientCa !== undefined) usable("--client-ca", () => new X509Certificate(tls.clientCa ?? ""));
  return tls;
}

/** As etcd's --client-cert-allowed-cn: the common name is one of them, letter by letter. */
function refuseOthers(names: readonly string[]): (certificate: Uint8Array) => string | undefined {
  return (certificate) => {
    const { commonName = "" } = certificateIdentity(certificate) ?? {};
    if (commonName !== "" && names.includes(commonName)) return undefined;
    return `client certificate authentication failed: CN ${JSON.stringify(commonName)} is not in --allow-cn`;
  };
}

function usable(what: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    throw new UsageError(`${what} cannot be used: ${(error as Error).message}`, { cause: error });
  }
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

async function listen(
  host: Host & { readonly store: FullStore; readonly alarms: Alarms },
  flags: StoreFlags,
  address: { readonly host: string; readonly port: number; readonly tls: ListenTls | undefined },
): Promise<EtcdListening> {
  let port = address.port;
  const scheme = address.tls === undefined ? "http" : "https";
  const shown = address.host === "0.0.0.0" || address.host === "::" ? "127.0.0.1" : address.host;
  const methods = etcdMethods(host, {
    ...recommendedEtcdLimits,
    ...identityOf(host, flags),
    progressMs: flags.progressEvery * 1000,
    name: "default",
    clientUrls: () => [`${scheme}://${shown.includes(":") ? `[${shown}]` : shown}:${port}`],
    quotaBytes: flags.quota,
  });
  const { tls } = address;
  try {
    const http = etcdHttpFrontend({ ...host, figures: readProcessFigures }, flags.quota);
    const listening = await listenEtcd(
      { ...host, methods, http },
      {
        host: address.host,
        port,
        ...(tls === undefined ? {} : { tls }),
        limits: recommendedServerLimits,
      },
    );
    port = listening.port;
    return listening;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    await host.store.close();
    const why = code === "EADDRINUSE" ? "the address is in use" : message;
    throw new UsageError(`cannot listen on ${flags.listen}: ${why}; give another with --listen`, {
      cause: error,
    });
  }
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
