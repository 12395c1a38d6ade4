/** `--tracing-config-file`: spans of requests to an OpenTelemetry collector. Loaded when the flag is set. */
import { hostname } from "node:os";
import { identityName } from "#apiserver/server-identity.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { Tracer } from "#server/trace.ts";
import type { Host } from "../../shared/host.ts";
import { readOperatorFile } from "../../shared/operator-file.ts";
import type { Parts } from "../../shared/parts.ts";
import { UsageError } from "../../shared/usage-error.ts";
import { version } from "../../shared/user-agent.ts";
import { readTracingConfiguration } from "./configuration.ts";
import { SpanExporter } from "./exporter.ts";

export interface Tracing {
  readonly tracer: Tracer;
  describe(metrics: MetricSet): void;
}

/** @throws UsageError */
export async function openTracing(host: Host, path: string, parts: Parts): Promise<Tracing> {
  const { address, samplingRatePerMillion } = configurationOf(path);
  const { clock, random, log } = host;
  const options = { address, instanceId: identityName(hostname()), version: version.gitVersion };
  const exporter = await parts.open("tracing", () => new SpanExporter({ clock, log }, options), {
    close: (opened) => opened.close(),
  });
  const deps = {
    random,
    nowMs: () => clock.monotonicMs(),
    export: (spans: Parameters<SpanExporter["add"]>[0]) => exporter.add(spans),
  };
  return {
    tracer: new Tracer(deps, samplingRatePerMillion),
    describe: (metrics) => describe(metrics, exporter),
  };
}

function configurationOf(path: string): ReturnType<typeof readTracingConfiguration> {
  try {
    return readTracingConfiguration(readOperatorFile(path));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--tracing-config-file ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function describe(metrics: MetricSet, exporter: SpanExporter): void {
  metrics.gaugeOf(
    "pilothouse_tracing_spans_total",
    "Spans that the collector took, and spans that were dropped.",
    ["result"],
    () => [
      [["sent"], exporter.counts.sent],
      [["dropped"], exporter.counts.dropped],
    ],
  );
}
