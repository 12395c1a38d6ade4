/** A new replica over many objects: until it serves, and what a writer feels meanwhile. */
import { EtcdClient } from "../../../src/commit/etcd/client.ts";
import { residentBytes } from "../process-cost.ts";
import { Histogram } from "../store/sample.ts";
import { figure, median, printTable, progress, progressDone } from "../store/table.ts";
import { withReplicas, type CaseOptions } from "./setting.ts";

const objects = 100_000;
const valueBytes = 1024;
const atOnce = 256;
const quietMs = 3000;

export async function join(options: CaseOptions): Promise<void> {
  await withReplicas(options, 1, async ({ holder, add }) => {
    const client = new EtcdClient((await holder()).url);
    progress(`join: filling ${objects} objects`);
    await fill(client);
    const before = await whilePutting(client, () => pause(quietMs));
    const readyMs: number[] = [];
    const p99: number[] = [];
    let rss = 0;
    for (let run = 0; run < options.runs; run++) {
      progress(`join: run ${run + 1} of ${options.runs}`);
      const startMs = performance.now();
      p99.push(
        await whilePutting(client, async () => {
          const replica = await add();
          readyMs.push(performance.now() - startMs);
          rss = residentBytes(replica.store?.child.pid) / 2 ** 20;
          await replica.close();
        }),
      );
    }
    client.close();
    progressDone();
    printTable(
      `a replica joins ${objects} objects of ${valueBytes} B, median of ${options.runs}; asked: ready < 5 s, p99 + 10 % at most`,
      ["ready s", "highest", "RSS MiB", "put p99 ms before", "meanwhile"],
      [
        [
          figure(median(readyMs) / 1000),
          figure(Math.max(...readyMs) / 1000),
          Math.round(rss),
          figure(before),
          figure(median(p99)),
        ],
      ],
    );
  });
}

async function fill(client: EtcdClient): Promise<void> {
  const value = new Uint8Array(valueBytes);
  for (let from = 0; from < objects; from += atOnce) {
    const count = Math.min(atOnce, objects - from);
    await Promise.all(
      Array.from({ length: count }, (_, i) => client.put({ key: `/objects/${from + i}`, value })),
    );
  }
}

/** @returns the 99th percentile of puts, one each ten milliseconds, in ms. */
async function whilePutting(client: EtcdClient, run: () => Promise<void>): Promise<number> {
  const latencies = new Histogram();
  let isOver = false;
  const putting = (async () => {
    while (!isOver) {
      const startMs = performance.now();
      await client.put({ key: "probe", value: new Uint8Array(valueBytes) });
      latencies.add(performance.now() - startMs);
      await pause(10);
    }
  })();
  await run();
  isOver = true;
  await putting;
  return latencies.quantile(0.99);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
