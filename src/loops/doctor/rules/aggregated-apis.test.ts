/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SeenObject } from "../evidence.ts";
import { named, seen } from "../testing/evidence.ts";
import { aggregatedApis } from "./aggregated-apis.ts";

function apiService(status: string): SeenObject {
  const conditions = [{ type: "Available", status, message: "no endpoints" }];
  return named("v1.m.io", {
    spec: { service: { namespace: "kube-system", name: "metrics" } },
    status: { conditions },
  });
}

test("an APIService that is not available is named, with its service", () => {
  const [verdict] = aggregatedApis.judge(seen({ apiservices: [apiService("False")] }));
  assert.equal(verdict?.sentence, "the aggregated API v1.m.io is away: no endpoints");
  assert.equal(verdict.culprit, "APIService v1.m.io, service kube-system/metrics");
});

test("one that is available, and one that nobody looked at yet, are well", () => {
  const well = seen({ apiservices: [apiService("True"), named("v1.new")] });
  assert.deepEqual(aggregatedApis.judge(well), []);
});
