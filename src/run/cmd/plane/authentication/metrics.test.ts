/** What is counted of the reloads of a configuration file. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricSet } from "#metrics/metric-set.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { reloadObserver } from "./metrics.ts";

function setup(firstHash: string | undefined) {
  const metrics = new MetricSet();
  const clock = new FakeClock();
  const observer = reloadObserver({ clock, metrics, serverId: "" }, "authorization", firstHash);
  const lines = (): readonly string[] =>
    metrics
      .text()
      .split("\n")
      .filter((line) => line !== "");
  return { clock, observer, lines };
}

const prefix = "apiserver_authorization_config_controller";

test("a reload counts by its status, with its time and the hash in force", async () => {
  const { clock, observer, lines } = setup("sha256:1");
  observer.failed();
  const failedAt = clock.nowMs() / 1_000;
  await clock.advance(5_000);
  observer.reloaded("sha256:2");
  const last = `${prefix}_automatic_reload_last_timestamp_seconds`;
  for (const line of [
    `${prefix}_automatic_reloads_total{status="failure",apiserver_id_hash=""} 1`,
    `${prefix}_automatic_reloads_total{status="success",apiserver_id_hash=""} 1`,
    `${last}{status="failure",apiserver_id_hash=""} ${failedAt}`,
    `${last}{status="success",apiserver_id_hash=""} ${failedAt + 5}`,
    `${prefix}_last_config_info{apiserver_id_hash="",hash="sha256:2"} 1`,
  ])
    assert.ok(lines().includes(line), `${line}\n${lines().join("\n")}`);
});

test("without a file the metrics are there and have no series", () => {
  const { lines } = setup(undefined);
  assert.equal(lines().length, 6);
  assert.ok(lines().every((line) => line.startsWith("#")));
});
