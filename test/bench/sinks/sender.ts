/** One sink in a process of its own, without an election: tells how many records have landed when it is asked. */
import { socketClient, socketClientLimits } from "#client/rest-client.ts";
import { makeDriver } from "#cmd/sink/make-driver.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { nodeLog } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { Sink } from "#sinks/sink.ts";
import { nameOfSource, parseSinkFile } from "#sinks/sink-file.ts";
import { SinkMetrics } from "#sinks/sink-metrics.ts";

const [, , server = "", file = ""] = process.argv;
const clock = new NodeClock();
const http = httpClient({ server, limits: httpClientLimits });
const client = socketClient({ http }, { userAgent: "bench", ...socketClientLimits });
const figures = new MetricSet();
const deps = {
  client,
  clock,
  random: new NodeRandom(),
  log: nodeLog({ level: "warn", destination: 2 }),
};
const metrics = new SinkMetrics(figures, () => clock.monotonicMs());
const [declared] = parseSinkFile(file);
if (declared === undefined) throw new Error("no sink");
const { name, target, format, source } = declared;
const sources = declared.resources.map((one) => {
  const encoding = { format, source, ref: one.ref, kind: "Pod", fields: one.fields };
  return { name: nameOfSource(one), encoding, route: target.route, selection: one.selection };
});
process.on("message", () => {
  const landed = /records_landed_total\{[^}]*\} (\d+)/.exec(figures.text())?.[1] ?? "0";
  process.send?.(Number(landed));
});
process.on("SIGTERM", () => process.exit());
process.send?.("ready");
const definition = { name, sources, driver: makeDriver(deps, declared) };
await new Sink({ ...deps, metrics }, definition).run(new AbortController().signal);
