/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { endpoints } from "./endpoints.ts";

const sent = (resource: string, events: number, bytes: number, suffix = ""): string =>
  `apiserver_watch_events_total{group="",resource="${resource}"} ${events}
apiserver_watch_events_sizes${suffix}{group="",resource="${resource}"} ${bytes}\n`;

test("large Endpoints that change often are found, on ours and on a stock server", () => {
  for (const suffix of ["", "_sum"]) {
    const [verdict] = endpoints.judge(sampled("", sent("endpoints", 100, 4_000_000, suffix)));
    assert.equal(verdict?.figures["meanBytes"], 40_000);
  }
});

test("small Endpoints, large ones that rarely change, and large Pods are well", () => {
  assert.deepEqual(endpoints.judge(sampled("", sent("endpoints", 1_000, 2_000_000))), []);
  assert.deepEqual(endpoints.judge(sampled("", sent("endpoints", 10, 400_000))), []);
  assert.deepEqual(endpoints.judge(sampled("", sent("pods", 100, 4_000_000))), []);
});
