/** Servers for the suite: ours over each engine, and a real etcd if one is found. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { given } from "#base/given.ts";
import type { Disk } from "#platform/disk.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { readProcessFigures } from "#platform/node/process-figures.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { FullStore } from "#store/full-store.ts";
import { openStore } from "#store/open.ts";
import { recommendedOptions, type StoreOptions } from "#store/options.ts";
import type { LocalEngineOptions } from "#store/engines/local/engine.ts";
import { AlarmFile } from "../alarm-file.ts";
import { Alarms } from "../alarms.ts";
import { EtcdClient } from "../client.ts";
import { EtcdCounters } from "../counters.ts";
import { etcdHttpFrontend } from "../http-frontend.ts";
import { listenEtcd, recommendedServerLimits, type ServerLimits } from "../server.ts";
import { etcdMethods, recommendedEtcdLimits, type EtcdOptions } from "../services.ts";

export interface TestServer {
  readonly url: string;
  /** Process id, if it is a process of its own. */
  readonly pid?: number;
  readonly store?: FullStore;
  close(): Promise<void>;
  /** For our servers: stops like kill -9. The disk keeps its content, and the store is not used again. */
  kill?(): Promise<void>;
}

type OurEngine = "memory" | "local";

export interface OurOptions extends Partial<EtcdOptions> {
  /** A given directory is kept at the end; a temporary one is removed. */
  readonly directory?: string;
  /** Replaces the host's disk. */
  readonly disk?: Disk;
  readonly store?: Partial<StoreOptions & LocalEngineOptions>;
  readonly server?: Partial<ServerLimits>;
}

export async function startOurs(engine: OurEngine, options: OurOptions = {}): Promise<TestServer> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "pilothouse-etcd-"));
  const deps = {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: options.disk ?? new NodeDisk(),
    log: silentLog,
  };
  const quotaBytes = options.quotaBytes ?? recommendedOptions.quotaBytes;
  const limits = { ...recommendedOptions, ...options.store, quotaBytes };
  const choice = engine === "memory" ? { engine } : { engine, directory };
  const store = await openStore(deps, { ...limits, ...choice });
  const ids = { clusterId: 11n, memberId: 12n, name: "test", clientUrls: () => [] };
  const all = { ...recommendedEtcdLimits, ...ids, ...options, quotaBytes };
  const memory = engine === "memory" ? undefined : new AlarmFile(deps.disk, directory);
  const alarms = new Alarms(silentLog, memory, await memory?.load());
  const counters = new EtcdCounters(deps.clock);
  const served = {
    ...deps,
    counters,
    methods: etcdMethods({ ...deps, store, alarms }, all),
    http: etcdHttpFrontend({ store, alarms, counters, figures: readProcessFigures }, quotaBytes),
  };
  const listening = await listenEtcd(served, {
    host: "127.0.0.1",
    port: 0,
    limits: { ...recommendedServerLimits, ...options.server },
  });
  return {
    url: `http://127.0.0.1:${listening.port}`,
    store,
    kill: async () => {
      await listening.close();
      void store.close();
    },
    close: async () => {
      await listening.close();
      await store.close();
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Returns the path of a real etcd: `PILOTHOUSE_ETCD`, else `etcd` on the PATH; undefined when
 * that one is missing or older than `oldest` ("3.4").
 */
export function findEtcd(oldest: EtcdRelease = "3.6"): string | undefined {
  // An empty variable counts as not set.
  const named = process.env["PILOTHOUSE_ETCD"] || undefined;
  const onPath = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "etcd"));
  const found = named ?? onPath.find((path) => existsSync(path));
  const release = found === undefined ? undefined : etcdRelease(found);
  return release !== undefined && isAtLeast(release, oldest) ? found : undefined;
}

/** Major and minor version. */
export type EtcdRelease = `${number}.${number}`;

/** The release of the program at this path; undefined when it is not etcd. */
export function etcdRelease(binary: string): EtcdRelease | undefined {
  const { stdout } = spawnSync(binary, ["--version"], { encoding: "utf8" });
  // The pattern guarantees the type's form.
  return /etcd Version: (\d+\.\d+)/.exec(stdout ?? "")?.[1] as EtcdRelease | undefined;
}

export function isAtLeast(release: EtcdRelease, oldest: EtcdRelease): boolean {
  const [major, minor] = release.split(".").map(Number) as [number, number];
  const [majorMin, minorMin] = oldest.split(".").map(Number) as [number, number];
  return major > majorMin || (major === majorMin && minor >= minorMin);
}

export async function startEtcd(binary: string): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-oracle-"));
  const url = `http://127.0.0.1:${await freePort()}`;
  const peer = `http://127.0.0.1:${await freePort()}`;
  const etcd = spawn(
    binary,
    [
      ["--data-dir", directory],
      ["--listen-client-urls", url, "--advertise-client-urls", url],
      ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer],
      ["--initial-cluster", `default=${peer}`, "--log-level", "error"],
    ].flat(),
    { stdio: "ignore" },
  );
  await untilServing(url, etcd);
  return {
    url,
    ...given({ pid: etcd.pid }),
    close: async () => {
      const ended = new Promise((resolve) => etcd.once("exit", resolve));
      etcd.kill("SIGKILL");
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Asks until there is an answer, with a new connection each time, because a refused one stays refused. */
async function untilServing(url: string, etcd: ChildProcess): Promise<void> {
  for (let left = 200; left > 0 && etcd.exitCode === null; left--) {
    const client = new EtcdClient(url);
    const serves = await client.status().then(
      () => true,
      () => false,
    );
    client.close();
    if (serves) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`etcd did not start at ${url}`);
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        resolve(typeof address === "object" && address !== null ? address.port : 0),
      );
    });
  });
}
