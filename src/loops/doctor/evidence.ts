/** Findings of one examination of a control plane, as plain data. Rules read nothing else. */
import type { Metrics, Series } from "./metrics-text.ts";

/** Fields of an object that rules read; the other fields are not available to them. */
export interface SeenObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly conditions?: readonly SeenCondition[];
  };
}

export interface SeenCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** `leases` are those of kube-system, `nodeLeases` those of kubelets. */
export type SeenKind = "namespaces" | "apiservices" | "leases" | "nodeLeases";

/** Programs whose own metrics are read if a flag gives their URL. */
export type Program = "scheduler" | "controller-manager" | "etcd" | "relay";

/** A request that priority and fairness queues or executes, as its dump shows it. */
export interface HeldRequest {
  readonly level: string;
  readonly schema: string;
  /** Empty: the dump does not show the user. */
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
}

/** `list-whole` is a list without a limit that is not answered from the watch cache. */
export type CallKind = "list" | "list-whole" | "watch" | "write";

/** Number of calls of one kind by one client, from an audit log. */
export interface Call {
  readonly kind: CallKind;
  readonly userAgent: string;
  readonly user: string;
  readonly group: string;
  readonly resource: string;
  readonly version?: string;
  readonly count: number;
  /** Number of different pods (from their tokens) or source addresses behind the calls, counted up to a bound. Absent: not known. */
  readonly clients?: number;
}

/** A workload that runs pods, in a namespace of callers with many requests. */
export interface Workload {
  /** Kind in kubectl's form, for example `deployment`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly serviceAccount: string;
  readonly replicas: number;
  readonly containers: readonly string[];
}

export interface Audit {
  /** Sorted by count, the most frequent first. */
  readonly calls: readonly Call[];
  /** Time that the log covers, at least 1. */
  readonly seconds: number;
  /** Number of lines that are not events. */
  readonly dropped: number;
  /** Number of calls by clients beyond the maximum that is counted. */
  readonly uncounted: number;
}

/** An input that was not read, the reason, and the permission or flag that would make it readable. */
export interface Gap {
  readonly what: string;
  readonly why: string;
  readonly right: string;
}

/** Two samples of a program's metrics; rates refer to the time between them. Empty when they could not be read. */
export interface Samples {
  readonly before: Metrics;
  readonly after: Metrics;
  readonly secondsBetween: number;
}

/** The samples of the evidence itself are those of the API server. */
export interface Evidence extends Samples {
  readonly nowMs: number;
  readonly objects: Readonly<Record<SeenKind, readonly SeenObject[]>>;
  /** Absent: the server has no TLS, or its certificate was not seen. */
  readonly servingCertificateEndMs: number | undefined;
  /** False: nothing could be read, so that the absence of findings means nothing. */
  readonly hasAnswer: boolean;
  readonly programs: Readonly<Partial<Record<Program, Samples>>>;
  readonly held: readonly HeldRequest[];
  /** By node name: zone of the node. Absent: no node is silent, or nodes were not readable. */
  readonly zones?: ReadonlyMap<string, string>;
  /** Samples of a longer time from a Prometheus. Absent: no flag gives its URL, or it did not answer. */
  readonly past?: Samples & Pick<Evidence, "programs">;
  /** Absent: no flag gives the log's file, or it was not readable. */
  readonly audit?: Audit;
  /** Absent: no caller in the audit log is busy enough to ask for its workloads, or they were not readable. */
  readonly workloads?: readonly Workload[];
  readonly gaps: readonly Gap[];
}

/** Returns the series with this name from the later sample. */
export function seriesOf(samples: Samples, name: string): readonly Series[] {
  return samples.after.series.filter((series) => series.name === name);
}

/** Returns the samples with a program's metrics: its own, or the API server's if all programs run in one process. */
export function samplesOf(evidence: Evidence, program: Program): Samples {
  return evidence.programs[program] ?? evidence;
}

/** Returns the samples of every program that was read, with the program's name. */
export function allSamples(evidence: Evidence): readonly (readonly [string, Samples])[] {
  return [["API server", evidence], ...Object.entries(evidence.programs)];
}

/**
 * The upper bound of the histogram's bucket that holds a share of what was observed between the samples.
 * Undefined when less than `observationsMin` were observed.
 */
export function quantileBound(
  samples: Samples,
  name: string,
  { share, observationsMin }: { readonly share: number; readonly observationsMin: number },
): number | undefined {
  const buckets = [...growth(samples, `${name}_bucket`, ["le"])]
    .map(([le, count]) => [le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), count] as const)
    .toSorted(([a], [b]) => a - b);
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total < observationsMin) return undefined;
  return buckets.find(([, count]) => count >= share * total)?.[0];
}

/** Returns the value of a metric without labels in the later sample. */
export function gaugeOf(samples: Samples, name: string): number | undefined {
  return seriesOf(samples, name)[0]?.value;
}

/**
 * How much each group of a counter grew between the samples, by the values of `by`, joined with "/".
 * A counter that fell began anew, so its whole value counts.
 */
export function growth(
  samples: Samples,
  name: string,
  by: readonly string[],
  isCounted: (series: Series) => boolean = () => true,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  // A single sample shows no growth.
  if (samples.before.series.length === 0) return sums;
  const old = new Map<string, number>();
  for (const series of samples.before.series) {
    if (series.name === name) old.set(identityOf(series), series.value);
  }
  for (const series of samples.after.series) {
    if (series.name !== name || !isCounted(series)) continue;
    const key = by.map((label) => series.labels.get(label) ?? "").join("/");
    const first = old.get(identityOf(series)) ?? 0;
    const grown = series.value >= first ? series.value - first : series.value;
    sums.set(key, (sums.get(key) ?? 0) + grown);
  }
  return sums;
}

function identityOf({ labels }: Series): string {
  return JSON.stringify([...labels]);
}
