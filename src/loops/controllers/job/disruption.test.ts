/** A Job that ignores disruptions, on a whole plane: its pod is evicted through the API, twice. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Job, Pod } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { ensurePki } from "#auth/pki-files.ts";
import type { Client } from "#client/client.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { startPlane } from "#cmd/plane/plane.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { refs } from "../framework/refs.ts";

const spec = {
  backoffLimit: 0,
  podFailurePolicy: {
    rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }],
  },
  template: {
    metadata: { annotations: { "pilothouse.dev/run-seconds": "600" } },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "c", image: "i" }],
    },
  },
};

test("an evicted pod does not count against a Job whose podFailurePolicy ignores disruptions", async (t) => {
  const { client, stop } = await start();
  t.after(stop);
  await client.create(refs.jobs, "default", { metadata: { name: "j" }, spec } as KubeObject);
  const first = await runningPod(client, new Set());
  await evict(client, first);
  const second = await runningPod(client, new Set([first.metadata?.uid]));
  await evict(client, second);
  await runningPod(client, new Set([first.metadata?.uid, second.metadata?.uid]));
  const job = await client.get<Job>(refs.jobs, "default", "j");
  assert.equal(job.status?.failed ?? 0, 0);
});

function evict(client: Client, pod: Pod): Promise<unknown> {
  const { name = "", namespace = "" } = pod.metadata ?? {};
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
  return client.createSub(refs.pods, namespace, name, "eviction", eviction);
}

/** Waits for a pod of the Job that runs and is none of `known`, unless the Job fails. */
async function runningPod(client: Client, known: ReadonlySet<unknown>): Promise<Pod> {
  for (;;) {
    const job = await client.get<Job>(refs.jobs, "default", "j");
    const failed = job.status?.conditions?.find(({ type }) => type.startsWith("Fail"));
    assert.equal(failed, undefined, "with backoffLimit 0 one failure that counts ends the Job");
    const { items } = await client.list<Pod>(refs.pods, { namespace: "default" });
    const found = items.find(
      ({ metadata, status }) => status?.phase === "Running" && !known.has(metadata?.uid),
    );
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function start(): Promise<{ client: Client; stop: () => Promise<void> }> {
  const host = {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: silentLog,
  };
  const keys = mkdtempSync(join(tmpdir(), "pilothouse-job-"));
  const pki = ensurePki(keys, { ...host, extraHosts: [], serviceAddress });
  const plane = await startPlane(host, { pki, host: "127.0.0.1", port: 0, nodes: 2 });
  await plane.registered;
  const stop = async (): Promise<void> => {
    await plane.stop();
    rmSync(keys, { recursive: true });
  };
  return { client: plane.client, stop };
}
