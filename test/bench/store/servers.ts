/** The two servers under load, each on core 0 where taskset is there; generators run on core 1. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { EtcdClient } from "../../../src/commit/etcd/client.ts";
import type { LoadOptions } from "./generate.ts";
import type { Sample } from "./sample.ts";
import { bound } from "../../process/bound-child.ts";

export interface Server {
  readonly name: "pilothouse" | "etcd" | "no store";
  readonly port: number;
  readonly pid: number;
  readonly directory: string;
  /** From spawn to the first answer. */
  readonly readyMs: number;
  /** Ends the process; the directory stays. */
  stop(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Ends the process at once and removes the directory. */
  remove(): Promise<void>;
}

export const pinned = cpus().length > 1 && spawnSync("taskset", ["-c", "0", "true"]).status === 0;
const root = new URL("../../..", import.meta.url).pathname;
const readyMsMax = 60_000;
/** `--cpu-prof` and the like, to see where our server's time goes. */
const nodeArgs = (process.env["NODE_ARGS"] ?? "").split(" ").filter((arg) => arg !== "");

/** "any": both cores are for both, as where the load is another's program and needs one for itself. */
export type Core = 0 | 1 | "any";

export function onCore(core: Core, command: readonly string[]): [string, string[]] {
  const pin = pinned && core !== "any" ? ["taskset", "-c", String(core)] : [];
  const [program = "", ...args] = [...pin, ...command];
  return [program, args];
}

export async function startOurs(
  flags: readonly string[] = [],
  directory = mkdtempSync(join(tmpdir(), "bench-pilothouse-")),
  core: Core = 0,
): Promise<Server> {
  const port = await freePort();
  const main = join(root, "bin/pilothouse.mjs");
  const store = ["store", "--data-dir", directory, "--listen", `127.0.0.1:${port}`, ...flags];
  const command = [process.execPath, ...nodeArgs, main, ...store];
  return start("pilothouse", port, directory, command, core);
}

export async function startEtcd(
  binary: string,
  flags: readonly string[] = [],
  directory = mkdtempSync(join(tmpdir(), "bench-etcd-")),
  core: Core = 0,
): Promise<Server> {
  const port = await freePort();
  const [url, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${await freePort()}`];
  const command = [
    binary,
    `--data-dir=${directory}`,
    "--log-level=error",
    // As ours.
    `--quota-backend-bytes=${8 * 2 ** 30}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    ...flags,
  ];
  return start("etcd", port, directory, command, core);
}

/** Our gRPC server without a store: what a client can reach at most. */
export async function startNoStore(core: Core = "any"): Promise<Server> {
  const port = await freePort();
  const script = join(import.meta.dirname, "answer-at-once.ts");
  const directory = mkdtempSync(join(tmpdir(), "bench-no-store-"));
  return start("no store", port, directory, [process.execPath, script, String(port)], core);
}

async function start(
  name: Server["name"],
  port: number,
  directory: string,
  command: readonly string[],
  core: Core,
): Promise<Server> {
  const startMs = performance.now();
  const server = bound(spawn(...onCore(core, command), { stdio: ["ignore", "ignore", "inherit"] }));
  const stop = (signal: "SIGTERM" | "SIGKILL"): Promise<void> => end(server, signal);
  try {
    await untilReady(name, port);
  } catch (error) {
    await stop("SIGKILL");
    throw error;
  }
  const remove = async (): Promise<void> => {
    // A profile is written by a process that ends well.
    await stop(nodeArgs.length > 0 ? "SIGTERM" : "SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  };
  const pid = server.pid as number;
  return { name, port, pid, directory, readyMs: performance.now() - startMs, stop, remove };
}

function end(server: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    server.once("exit", () => resolve());
    server.kill(signal);
  });
}

async function untilReady(name: string, port: number): Promise<void> {
  const startMs = performance.now();
  while (performance.now() - startMs < readyMsMax) {
    const client = new EtcdClient(`http://127.0.0.1:${port}`);
    const ready = await client.status().then(
      () => true,
      () => false,
    );
    client.close();
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${name} did not start within ${readyMsMax / 1000} s`);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        resolve(typeof address === "object" && address !== null ? address.port : 0),
      );
    });
  });
}

/** Runs a generator, a script of this folder, in its own process on the other core. */
export function generate<Result>(script: string, options: object): Promise<Result> {
  const command = [process.execPath, join(import.meta.dirname, script), JSON.stringify(options)];
  const generator = bound(spawn(...onCore(1, command), { stdio: ["ignore", "pipe", "inherit"] }));
  let out = "";
  generator.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString("utf8")));
  return new Promise((resolve, reject) => {
    generator.once("error", reject);
    generator.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(out) as Result);
      else reject(new Error(`${script} failed with exit code ${code}`));
    });
  });
}

export type Load = Omit<LoadOptions, "port" | "serverPid" | "connections" | "warmSeconds">;
const connectionsMax = 8;

export function loadOn(server: Server, load: Load, warmSeconds = 0.5): Promise<Sample> {
  const where = { port: server.port, serverPid: server.pid, warmSeconds };
  const connections = Math.min(load.clients, connectionsMax);
  return generate("generate.ts", { ...load, ...where, connections });
}
