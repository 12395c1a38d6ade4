/**
 * Two samples from a Prometheus: the metrics that rules read, now and a time ago.
 *
 * Prometheus has every server's series, and a limit of open files or a number of processors belongs to one
 * process; so what describes a process is left out, and those rules look at the live server only.
 */
import type { Evidence, Program, Samples } from "./evidence.ts";
import type { Metrics, Series } from "./metrics-text.ts";

const seriesMax = 100_000;
const programNames: readonly Program[] = ["scheduler", "controller-manager", "etcd"];
const ofOneProcess = /^(process|go)_/;

/** Returns the path of an instant query for all of these metrics at a given time. */
export function queryPath(names: readonly string[], atMs: number): string {
  const metrics = names.filter((name) => isMetric(name) && !ofOneProcess.test(name));
  const query = `{__name__=~"${metrics.join("|")}"}`;
  return `/api/v1/query?query=${encodeURIComponent(query)}&time=${atMs / 1_000}`;
}

/** Splits both samples by the `job` label into those of the API server and those of other programs. */
export function pastOf(
  before: Metrics,
  after: Metrics,
  secondsBetween: number,
): NonNullable<Evidence["past"]> {
  const programs: Partial<Record<Program, Samples>> = {};
  for (const name of programNames) {
    const isIts = (series: Series): boolean => jobOf(series) === name;
    const samples = { before: only(before, isIts), after: only(after, isIts), secondsBetween };
    if (samples.after.series.length > 0) programs[name] = samples;
  }
  const isRest = (series: Series): boolean => jobOf(series) === undefined;
  return { before: only(before, isRest), after: only(after, isRest), secondsBetween, programs };
}

function only(metrics: Metrics, isWanted: (series: Series) => boolean): Metrics {
  return { series: metrics.series.filter(isWanted), dropped: metrics.dropped };
}

function jobOf({ labels }: Series): Program | undefined {
  return programNames.find((name) => labels.get("job")?.includes(name));
}

/** Undefined: the answer is not a vector. */
export function parseVector(answer: unknown): Metrics | undefined {
  const { status, data } = fieldsOf(answer);
  const { resultType, result } = fieldsOf(data);
  if (status !== "success" || resultType !== "vector" || !Array.isArray(result)) return undefined;
  const series = result.slice(0, seriesMax).flatMap(seriesFrom);
  return { series, dropped: result.length - series.length };
}

function seriesFrom(item: unknown): readonly Series[] {
  const { metric, value } = fieldsOf(item);
  const labels = new Map<string, string>();
  for (const [name, text] of Object.entries(fieldsOf(metric))) labels.set(name, String(text));
  const name = labels.get("__name__") ?? "";
  labels.delete("__name__");
  const number = Array.isArray(value) ? Number(value[1]) : Number.NaN;
  return name === "" || Number.isNaN(number) ? [] : [{ name, labels, value: number }];
}

/** Whether the name is that of a metric. Rules also read kinds and files. */
function isMetric(name: string): boolean {
  return /^[a-z]+(_[a-z]+)+$/.test(name);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
