/** What one look at a control plane found, as plain data. Rules read this and nothing else. */
import type { Metrics, Series } from "./metrics-text.ts";

/** The fields of any object that rules read; the rest of an answer is unknown to them. */
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

/** Programs whose own metrics are read when a flag says where they are. */
export type Program = "scheduler" | "controller-manager" | "etcd" | "relay";

/** A request that priority and fairness holds or runs, as its dump has it. */
export interface HeldRequest {
  readonly level: string;
  readonly schema: string;
  /** Empty where the dump does not tell. */
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
}

/** A list is whole when it has no limit and is not answered from the watch cache. */
export type CallKind = "list" | "list-whole" | "watch" | "write";

/** How often one client did one thing, by an audit log. */
export interface Call {
  readonly kind: CallKind;
  readonly userAgent: string;
  readonly user: string;
  readonly group: string;
  readonly resource: string;
  readonly version?: string;
  readonly count: number;
  /** Pods, as their tokens name them, or else addresses that it came from; counted up to a bound. Absent: not known. */
  readonly clients?: number;
}

/** What runs pods, of the namespaces of callers that ask for much. */
export interface Workload {
  /** As kubectl takes it: `deployment`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly serviceAccount: string;
  readonly replicas: number;
  readonly containers: readonly string[];
}

export interface Audit {
  /** The most frequent first. */
  readonly calls: readonly Call[];
  /** At least 1. */
  readonly seconds: number;
  /** Lines that are no events. */
  readonly dropped: number;
  /** Calls of clients beyond those that are counted. */
  readonly uncounted: number;
}

/** Something that was not read, why, and the right or flag that would show it. */
export interface Gap {
  readonly what: string;
  readonly why: string;
  readonly right: string;
}

/** Two samples of a program's metrics; rates are of what lies between them. Empty when they could not be read. */
export interface Samples {
  readonly before: Metrics;
  readonly after: Metrics;
  readonly secondsBetween: number;
}

/** Its own samples are the API server's. */
export interface Evidence extends Samples {
  readonly nowMs: number;
  readonly objects: Readonly<Record<SeenKind, readonly SeenObject[]>>;
  /** Absent: no TLS, or not seen. */
  readonly servingCertificateEndMs: number | undefined;
  /** False when nothing was read: then no finding means nothing. */
  readonly hasAnswer: boolean;
  readonly programs: Readonly<Partial<Record<Program, Samples>>>;
  readonly held: readonly HeldRequest[];
  /** By node name. Absent: no node is silent, or nodes were not readable. */
  readonly zones?: ReadonlyMap<string, string>;
  /** What a Prometheus has of a longer time; absent: no flag says where it is, or it did not answer. */
  readonly past?: Samples & Pick<Evidence, "programs">;
  /** Absent: no flag says where the log is, or it was not readable. */
  readonly audit?: Audit;
  /** Absent: no caller of the audit log asks for as much, or they were not readable. */
  readonly workloads?: readonly Workload[];
  readonly gaps: readonly Gap[];
}

/** Series of one name in the later sample. */
export function seriesOf(samples: Samples, name: string): readonly Series[] {
  return samples.after.series.filter((series) => series.name === name);
}

/** Where a program's metrics are: its own, or the API server's when one process is all of them. */
export function samplesOf(evidence: Evidence, program: Program): Samples {
  return evidence.programs[program] ?? evidence;
}

/** The samples of every program that was read, by name. */
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

/** The later value of a metric without labels. */
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
  // One sample has no growth.
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
