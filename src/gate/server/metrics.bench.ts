/** Measures the metrics of a request: begin and end, for a mix of kinds, verbs and codes. `node src/gate/server/metrics.bench.ts` */
import { MetricSet } from "#metrics/metric-set.ts";
import { RequestMetrics } from "./metrics.ts";
import { requestInfo } from "./request-info.ts";

const rounds = 400_000;
const metrics = new RequestMetrics(new MetricSet());
const resources = ["pods", "configmaps", "secrets", "services", "endpoints", "events"];
const outcomes = resources.flatMap((resource, at) =>
  ["", "/a"].map((name) => ({
    info: requestInfo(
      "GET",
      `/api/v1/namespaces/ns-${at}/${resource}${name}`,
      new URLSearchParams(),
    ),
    known: true,
    method: "GET",
    isApply: false,
    code: at % 3 === 0 ? 404 : 200,
    seconds: 0.003 * at,
    bytes: 1_000 * at,
    dryRun: false,
  })),
);

for (let round = 0; round < 3; round++) {
  const began = process.cpuUsage();
  for (let i = 0; i < rounds; i++) {
    const outcome = outcomes[i % outcomes.length];
    if (outcome === undefined) continue;
    const left = metrics.begin(outcome.info);
    left();
    metrics.end(outcome);
  }
  const { user, system } = process.cpuUsage(began);
  const ns = ((user + system) * 1_000) / rounds;
  console.log(`${ns.toFixed(0)} ns of CPU a request`);
}
