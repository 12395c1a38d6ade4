/**
 * A whole plane that is measured from outside: ours, or a stock kube-apiserver with its etcd. Costs are those of its
 * processes, from /proc.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startStock } from "../../differential/servers.ts";
import { removeDirectory, startUp, temporaryDirectory } from "../../process/harness.ts";
import { credentialsOf, KubeHttp } from "../../process/kube-http.ts";
import type { StockPrograms } from "../../process/peers.ts";
import { cpuNanoseconds, residentBytes } from "../process-cost.ts";

export interface Target {
  readonly name: "pilothouse" | "stock";
  readonly client: KubeHttp;
  /** The API server is the first. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

export async function openOurs(): Promise<Target> {
  const directory = temporaryDirectory("extension");
  const data = join(directory, "data");
  const plane = await startUp(["--data-dir", data, "--port", "0", "--nodes", "0"]);
  const client = new KubeHttp(credentialsOf(plane.kubeconfig));
  return {
    name: "pilothouse",
    client,
    pids: [plane.pid],
    async stop() {
      client.close();
      await plane.stop();
      removeDirectory(directory);
    },
  };
}

export async function openStock(programs: StockPrograms): Promise<Target> {
  const stock = await startStock(programs);
  const ca = readFileSync(join(stock.pki, "apiserver.crt"));
  const client = new KubeHttp({ server: stock.url, ca, headers: stock.headers });
  return {
    name: "stock",
    client,
    pids: stock.pids,
    async stop() {
      client.close();
      await stock.stop();
    },
  };
}

/** CPU so far, in milliseconds, of all processes. */
export function cpuMs({ pids }: Target): number {
  return pids.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0) / 1e6;
}

/** Of the API server alone: an etcd maps its file. */
export function residentKb({ pids }: Target): number {
  return residentBytes(pids[0]) / 1000;
}

export async function send(
  { client, name }: Target,
  method: string,
  path: string,
  body?: object,
  type?: string,
): Promise<void> {
  const answer = await client.request(method, path, body, type);
  if (answer.status < 300) return;
  const said = JSON.stringify(answer.body).slice(0, 300);
  throw new Error(`${name}: ${method} ${path}: ${answer.status} ${said}`);
}

/** @returns CPU milliseconds of one of `count` calls, 16 at a time. */
export async function costOf(
  target: Target,
  count: number,
  one: (n: number) => Promise<void>,
): Promise<number> {
  const before = cpuMs(target);
  await inBatches(count, one);
  return (cpuMs(target) - before) / count;
}

/** @returns the median time of `count` calls, one after the other. */
export async function latencyMs(count: number, one: (n: number) => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const startMs = performance.now();
    await one(n);
    times.push(performance.now() - startMs);
  }
  return medianOf(times);
}

const atOnce = 16;

export async function inBatches(count: number, one: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await one(n);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const above = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? above : ((sorted[middle - 1] ?? above) + above) / 2;
}

export function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
