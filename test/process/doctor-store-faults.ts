/** Faults of the etcd behind an API server, made for real: of ours with --etcd-servers, or a stock one. */
import { setTimeout as sleep } from "node:timers/promises";
import { EtcdClient } from "#etcd/client.ts";
import { type LiveFault, type LiveWorld, times } from "./doctor-faults.ts";
import type { EtcdCluster } from "./etcd-cluster.ts";

/** As much as a ConfigMap takes, about. */
const largeText = "x".repeat(1_000_000);
const configMaps = "/api/v1/namespaces/default/configmaps";

/** Some writes, as any cluster has. */
function write({ ask }: LiveWorld): Promise<unknown> {
  const object = { metadata: { generateName: "live-" }, data: { a: "b" } };
  return Promise.all(times(4, () => ask("POST", configMaps, object)));
}

const calm = (world: LiveWorld) => Promise.resolve({ load: () => write(world) });

/** A stock API server looks at the size of its store every thirty seconds. */
const stockLooksMs = 31_000;
export const quotaBytes = 160 * 2 ** 20;
/** Above the rule's threshold, and below the quota. */
const fullBytes = 0.88 * quotaBytes;

/** Of one member with that quota. */
export const storeFaults = (
  etcd: EtcdCluster,
  kind: "ours" | "stock",
): readonly (readonly LiveFault[])[] => [
  [storeSize(etcd, kind === "stock" ? stockLooksMs : 0)],
  [storeFragmented(etcd)],
  [storeLatency(etcd)],
];

const storeSize = (etcd: EtcdCluster, looksMs: number): LiveFault => ({
  rule: "store-size",
  culprit: /^store /,
  fault: async ({ ask }) => {
    const client = new EtcdClient(etcd.urls[0] ?? "");
    for (let at = 0; Number((await client.status()).dbSize) < fullBytes; at++) {
      await ask("POST", configMaps, { metadata: { name: `big-${at}` }, data: { text: largeText } });
    }
    client.close();
    await sleep(looksMs);
    return {};
  },
  neighbour: calm,
});

/** What the full store was emptied of stays its file's. */
const storeFragmented = (etcd: EtcdCluster): LiveFault => ({
  rule: "store-fragmented",
  culprit: /./,
  also: ["store-size"],
  fault: async ({ ask }) => {
    await ask("DELETE", configMaps);
    const client = new EtcdClient(etcd.urls[0] ?? "");
    const { header } = await client.status();
    await client.compact(Number(header?.revision ?? 0));
    await untilFree(client);
    client.close();
    return {};
  },
  // Nothing of it is free yet; the store is full, and that is another rule's.
  neighbour: calm,
});

/** A compaction goes on after its answer. */
async function untilFree(client: EtcdClient): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const { dbSize, dbSizeInUse } = await client.status();
    if (Number(dbSizeInUse) < Number(dbSize) / 4) return;
    await sleep(100);
  }
  throw new Error("etcd keeps what was deleted and compacted");
}

/** All of its members stand still, again and again, in the midst of what they do. */
const storeLatency = (etcd: EtcdCluster): LiveFault => ({
  rule: "store-latency",
  culprit: /^etcd, or what the API server stores in/,
  also: ["store-size", "store-fragmented", "store-disk", "slow-requests"],
  fault: (world) =>
    Promise.resolve({
      load: async () => {
        const writing = write(world);
        for (const pid of etcd.pids) process.kill(pid, "SIGSTOP");
        await sleep(400);
        for (const pid of etcd.pids) process.kill(pid, "SIGCONT");
        await writing;
      },
    }),
  neighbour: calm,
});

/** Of three members. */
export const storeQuorum = (etcd: EtcdCluster): LiveFault => ({
  rule: "store-quorum",
  culprit: /./,
  also: ["slow-requests", "store-latency", "request-errors"],
  fault: async (world) => {
    let isKilled = false;
    return {
      load: async () => {
        if (isKilled) return write(world);
        isKilled = true;
        await sleep(1_200);
        await etcd.kill(await etcd.leader());
        return undefined;
      },
    };
  },
  neighbour: calm,
});
