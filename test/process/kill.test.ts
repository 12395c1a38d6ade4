/**
 * kill -9 at random instants under load: no acknowledged write is lost, none appears that nobody
 * sent, every restart is ready, and a watcher that resumes sees each write exactly once, in order.
 *
 * PILOTHOUSE_KILLS sets how often (20 here; 100 in CI), PILOTHOUSE_SEED the instants.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "./harness.ts";
import { count, follow, Ledger, listAll } from "./kill-load.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";

const kills = Number(process.env["PILOTHOUSE_KILLS"] ?? 20);
const seed = Number(process.env["PILOTHOUSE_SEED"] ?? Date.now() % 1_000_000);
const clients = 50;

test(
  `${kills} kill -9 under ${clients} clients lose nothing (seed ${seed})`,
  { timeout: 1_500_000 },
  async () => {
    const directory = temporaryDirectory("kill");
    const random = new FakeRandom(seed);
    const ledger = new Ledger();
    const counters = Array.from({ length: clients }, () => 0);
    const args = ["--data-dir", join(directory, "data"), "--nodes", "0", "--port", "0"];
    let wanted = 0;
    for (let round = 0; round < kills; round++) {
      const up = await startUp(args);
      // Some kills come before the first write of their round, others amid hundreds.
      wanted += Math.floor(random.fraction() * 2 * clients);
      await loadAndKill(up, { afterMs: random.fraction() * 200, wanted }, counters, ledger);
      assert.deepEqual(ledger.faults, [], `seed ${seed} round ${round}`);
    }
    const up = await startUp(args);
    await settle(up, ledger);
    assert.equal(await up.stop(), 0);
    assert.deepEqual(ledger.faults, [], `seed ${seed}`);
    assert.ok(
      ledger.acknowledgedCount >= wanted,
      `only ${ledger.acknowledgedCount} writes were made`,
    );
    removeDirectory(directory);
  },
);

interface Kill {
  readonly afterMs: number;
  /** Writes that were acknowledged by then, those of the rounds before among them. */
  readonly wanted: number;
}

async function loadAndKill(
  up: Running,
  { afterMs, wanted }: Kill,
  counters: number[],
  ledger: Ledger,
): Promise<void> {
  const credentials = credentialsOf(up.kubeconfig);
  const reader = new KubeHttp(credentials);
  ledger.checkState(await listAll(reader));
  const watching = follow(reader, ledger);
  const connections = Array.from({ length: 5 }, () => new KubeHttp(credentials));
  const writers = counters.map(async (from, at) => {
    const http = connections[at % connections.length];
    if (http !== undefined) counters[at] = await count(http, `kill-${at}`, from, ledger);
  });
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  // A busy machine takes its time for them; a write that is refused ends the round.
  while (ledger.acknowledgedCount < wanted && ledger.faults.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await up.kill();
  await Promise.all([...writers, watching]);
  for (const http of [reader, ...connections]) http.close();
}

/** After the last restart: state as acknowledged, and the watch catches up with everything. */
async function settle(up: Running, ledger: Ledger): Promise<void> {
  const http = new KubeHttp(credentialsOf(up.kubeconfig));
  ledger.checkState(await listAll(http));
  const watching = follow(http, ledger);
  const marker = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "end", labels: { app: "kill" } },
    data: { n: "1" },
  };
  ledger.submitted("end", 1);
  const answer = await http.request("POST", "/api/v1/namespaces/default/configmaps", marker);
  const end = Number(answer.body["metadata"]?.["resourceVersion"]);
  const deadline = performance.now() + 20_000;
  while (ledger.lastSeen < end && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  http.close();
  await watching;
  ledger.checkWatch();
}
