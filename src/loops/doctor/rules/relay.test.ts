/** A relay that has answered reads makes a finding; one that has not makes none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasFault, judge } from "../report.ts";
import { rules } from "../rules.ts";
import { evidenceOf, nowMs, sampled } from "../testing/evidence.ts";
import { relay } from "./relay.ts";

const metrics = `
relay_requests_total{by="mirror",code="200"} 900
relay_requests_total{by="etag",code="304"} 90000
relay_requests_total{by="upstream",code="200"} 7
relay_upstream_lists_total{resource="pods"} 1
relay_upstream_lists_total{resource="services"} 2
relay_upstream_watches{resource="pods"} 1
relay_upstream_watches{resource="services"} 1
relay_streams 300
process_start_time_seconds ${nowMs / 1_000 - 7_200}
`;

test("a relay tells what it has answered since its start, and what it asked for", () => {
  const evidence = evidenceOf({ programs: { relay: sampled(metrics, metrics) } });
  const [verdict] = relay.judge(evidence);
  assert.match(
    verdict?.sentence ?? "",
    /answered 90900 reads in 2 h with 3 lists.*300 streams from 2 watches/,
  );
  assert.equal(verdict?.severity, "info");
  assert.equal(hasFault(judge(evidence, rules)), false, "it is no fault");
});

test("a relay that has answered nothing, or that was not looked at, is not told of", () => {
  const none = metrics.replaceAll(/(relay_requests_total.*) \d+/g, "$1 0");
  assert.deepEqual(relay.judge(evidenceOf({ programs: { relay: sampled(none, none) } })), []);
  assert.deepEqual(relay.judge(evidenceOf({})), []);
});
