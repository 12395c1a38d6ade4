/** /metrics of the real roles: what a process and a store hold, under the names that dashboards know. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { keptOf } from "./churn-report.ts";
import { removeDirectory, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { startRelay } from "./relay-harness.ts";
import { startStore } from "./store-harness.ts";

const ofProcess = [
  "process_cpu_seconds_total",
  "process_resident_memory_bytes",
  "process_start_time_seconds",
  "nodejs_heap_size_used_bytes",
  "nodejs_heap_size_total_bytes",
  "nodejs_external_memory_bytes",
  "nodejs_array_buffers_bytes",
  ...(process.platform === "linux"
    ? ["process_virtual_memory_bytes", "process_open_fds", "process_max_fds"]
    : []),
];
const ofStore = ["state", "history", "live", "held", "log", "checkpoint"].map(
  (what) => `pilothouse_store_${what}_bytes`,
);

/** Each of `names` has a HELP, a TYPE and one sample that is a number. */
function assertShows(page: string, names: readonly string[]): void {
  for (const name of names) {
    const type = name.endsWith("_total") ? "counter" : "gauge";
    assert.match(
      page,
      new RegExp(`^# HELP ${name} .+\n# TYPE ${name} ${type}\n${name} [0-9.e+]+$`, "m"),
    );
  }
}

test("up and a relay before it show what they hold", async () => {
  const directory = temporaryDirectory("metrics");
  const dataDir = join(directory, "data");
  const up = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
  const direct = new KubeHttp(credentialsOf(up.kubeconfig));
  const page = String((await direct.request("GET", "/metrics")).body["text"]);
  assertShows(page, [...ofProcess, ...ofStore]);
  assert.match(
    page,
    /^apiserver_flowcontrol_nominal_limit_seats\{priority_level="catch-all"\} [1-9]\d*$/m,
  );
  const kept = keptOf(page);
  assert.ok(kept.storeHeld >= kept.storeLive && kept.storeLive > 0 && kept.log > 0);
  assert.ok(kept.objects > 50, "bootstrap objects");
  const { kubeconfig } = up;
  const pki = join(dataDir, "pki");
  const args = ["--resources", "configmaps"];
  const relay = await startRelay({ kubeconfig, directory, name: "relay", pki, args });
  const through = new KubeHttp(credentialsOf(relay.kubeconfig));
  const { body } = await through.request("GET", "/relay/metrics");
  assertShows(String(body["text"]), ofProcess);
  for (const http of [direct, through]) http.close();
  await relay.stop();
  await up.stop();
  removeDirectory(directory);
});

test("a store shows what it holds", async () => {
  const store = await startStore(["--memory", "--listen", "127.0.0.1:0"]);
  const page = await (await fetch(`${store.url}/metrics`)).text();
  assertShows(page, [...ofProcess, ...ofStore]);
  await store.stop();
});
