/**
 * Computes the replicas that a metric requires, pure (upstream's replica_calculator.go).
 *
 * Holds  a pod without a metric is counted so that it changes the result least: at its target when the other pods
 *        require fewer replicas, idle when they require more. These assumptions never reverse the direction. Sums of
 *        hostile amounts stay in int64, replicas in int32.
 */
import type { Pod } from "#api/gen/types.ts";
import { int64Max } from "#api/go/go-integer.ts";
import { isReady } from "../pods/pod.ts";
import { addMilli, ceilMilli, ceilReplicas, int32Max } from "./amounts.ts";
import { groupPods, type PodGroups, type PodTimes } from "./pod-groups.ts";
import { MetricError, type PodMetrics } from "./readings.ts";
import { requestsOf } from "./requests.ts";
import { isWithin, type Tolerances } from "./tolerance.ts";

/** The current state of the autoscaler's target. */
export interface Scaled {
  /** From the scale's spec. */
  readonly replicas: number;
  /** From the scale's status. */
  readonly statusReplicas: number;
  /** Pods selected by the scale's selector. */
  readonly pods: readonly Pod[];
  readonly tolerances: Tolerances;
  readonly times: PodTimes;
}

/** Replicas, and the amounts shown in the status: thousandths, and percent of the requests. */
export interface Proposal {
  readonly replicas: number;
  readonly milli: bigint;
  readonly percent?: number;
}

interface Usage {
  /** Ratio of usage to target. */
  readonly ratio: number;
  readonly milli: bigint;
  readonly percent?: number;
}

/** Converts amounts to a ratio, and fills in pods without a metric. */
interface Measure {
  readonly resource: string;
  usageOf(millis: ReadonlyMap<string, bigint>): Usage;
  assumedBelow(pod: string): bigint;
}

const noPods = "no pods returned by selector while calculating replica count";
const noMetrics = "did not receive metrics for targeted pods (pods might be unready)";

/** Utilization in percent of the pods' requests. @throws MetricError */
export function utilizationReplicas(
  scaled: Scaled,
  metrics: PodMetrics,
  { resource, container, percent }: { resource: string; container: string; percent: number },
): Proposal {
  requirePods(scaled);
  let requests: ReadonlyMap<string, bigint> | undefined;
  // Computed after the metrics, as upstream, which determines the error that is shown.
  const asked = () => (requests ??= requestsOf(scaled.pods, resource, container));
  const assumed = BigInt(Math.max(100, percent));
  return podReplicas(scaled, metrics, {
    resource,
    usageOf: (millis) => utilizationOf(millis, asked(), percent),
    assumedBelow: (pod) => ((asked().get(pod) ?? 0n) * assumed) / 100n,
  });
}

/** Average amount per pod; `resource` is "" for a custom metric. @throws MetricError */
export function averageReplicas(
  scaled: Scaled,
  metrics: PodMetrics,
  { resource, target }: { resource: string; target: bigint },
): Proposal {
  requirePods(scaled);
  return podReplicas(scaled, metrics, {
    resource,
    usageOf: (millis) => averageOf(millis, target),
    assumedBelow: () => target,
  });
}

function requirePods({ pods }: Scaled): void {
  if (pods.length === 0) throw new MetricError(noPods);
}

function podReplicas(scaled: Scaled, metrics: PodMetrics, measure: Measure): Proposal {
  const { replicas, tolerances } = scaled;
  const groups = groupPods(scaled.pods, metrics, measure.resource, scaled.times);
  const millis = countedMillis(metrics, groups);
  if (millis.size === 0) throw new MetricError(noMetrics);
  const usage = measure.usageOf(millis);
  const { ratio, ...shown } = usage;
  const asItIs = { replicas, ...shown };
  if (groups.missing.length === 0 && (groups.unready.length === 0 || ratio <= 1)) {
    if (isWithin(tolerances, ratio)) return asItIs;
    return { replicas: ceilReplicas(ratio * groups.readyCount), ...shown };
  }
  assume(millis, groups, ratio, measure);
  const { ratio: next } = measure.usageOf(millis);
  if (isWithin(tolerances, next) || isTurned(ratio, next)) return asItIs;
  const proposed = ceilReplicas(next * millis.size);
  const isOpposite = next < 1 ? proposed > replicas : next > 1 && proposed < replicas;
  return isOpposite ? asItIs : { replicas: proposed, ...shown };
}

function countedMillis(metrics: PodMetrics, { ignored, unready }: PodGroups): Map<string, bigint> {
  const left = new Set([...ignored, ...unready]);
  const counted = [...metrics].filter(([name]) => !left.has(name));
  return new Map(counted.map(([name, { milli }]) => [name, milli]));
}

function assume(
  millis: Map<string, bigint>,
  { missing, unready }: PodGroups,
  ratio: number,
  measure: Measure,
): void {
  if (ratio < 1) for (const pod of missing) millis.set(pod, measure.assumedBelow(pod));
  if (ratio > 1) for (const pod of [...missing, ...unready]) millis.set(pod, 0n);
}

function isTurned(before: number, after: number): boolean {
  return (before < 1 && after > 1) || (before > 1 && after < 1);
}

function utilizationOf(
  millis: ReadonlyMap<string, bigint>,
  requests: ReadonlyMap<string, bigint>,
  target: number,
): Usage {
  let used = 0n;
  let asked = 0n;
  let count = 0n;
  for (const [pod, milli] of millis) {
    const request = requests.get(pod);
    // The metric belongs to an unknown pod.
    if (request === undefined) continue;
    used = addMilli(used, milli);
    asked = addMilli(asked, request);
    count++;
  }
  if (asked === 0n) throw new MetricError("no metrics returned matched known pods");
  const percent = ceilReplicas(Number((used * 100n) / asked));
  return { ratio: percent / target, percent, milli: used / count };
}

function averageOf(millis: ReadonlyMap<string, bigint>, target: bigint): Usage {
  const milli = sumMilli([...millis.values()]) / BigInt(millis.size);
  return { ratio: Number(milli) / Number(target), milli };
}

function sumMilli(millis: readonly bigint[]): bigint {
  return millis.reduce(addMilli, 0n);
}

/** A value that does not depend on the number of pods (object, external). @throws MetricError */
export function valueReplicas(scaled: Scaled, millis: readonly bigint[], target: bigint): Proposal {
  const milli = sumMilli(millis);
  const ratio = Number(milli) / Number(target);
  // From zero replicas there is no pod to measure by: the ratio is the number.
  if (scaled.replicas === 0) return { replicas: ceilReplicas(ratio), milli };
  if (isWithin(scaled.tolerances, ratio)) return { replicas: scaled.replicas, milli };
  if (scaled.pods.length === 0) throw new MetricError(`unable to calculate ready pods: ${noPods}`);
  const ready = scaled.pods.filter((pod) => pod.status?.phase === "Running" && isReady(pod));
  return { replicas: ceilReplicas(ratio * ready.length), milli };
}

/** A value that the replicas share. */
export function sharedReplicas(
  { statusReplicas, tolerances }: Scaled,
  millis: readonly bigint[],
  target: bigint,
): Proposal {
  const total = sumMilli(millis);
  const ratio = Number(total) / (Number(target) * statusReplicas);
  const asked = Math.min(int32Max, ceilReplicas(Number(total) / Number(target)));
  const replicas = isWithin(tolerances, ratio) ? statusReplicas : asked;
  // Without a replica the whole is shown.
  const share = Number(total) / Math.max(1, statusReplicas);
  const milli = total >= int64Max ? int64Max : ceilMilli(share);
  return { replicas, milli };
}
