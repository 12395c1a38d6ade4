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

export type SeenKind = "namespaces" | "apiservices" | "leases";

/** Something that was not read, why, and the right or flag that would show it. */
export interface Gap {
  readonly what: string;
  readonly why: string;
  readonly right: string;
}

export interface Evidence {
  readonly nowMs: number;
  /** Two samples; rates are of what lies between them. Empty when they could not be read. */
  readonly before: Metrics;
  readonly after: Metrics;
  readonly secondsBetween: number;
  readonly objects: Readonly<Record<SeenKind, readonly SeenObject[]>>;
  /** Absent: no TLS, or not seen. */
  readonly servingCertificateEndMs: number | undefined;
  /** False when nothing was read: then no finding means nothing. */
  readonly hasAnswer: boolean;
  readonly gaps: readonly Gap[];
}

/** Series of one name in the later sample. */
export function seriesOf(evidence: Evidence, name: string): readonly Series[] {
  return evidence.after.series.filter((series) => series.name === name);
}

/**
 * How much each group of a counter grew between the samples, by the values of `by`, joined with "/".
 * A counter that fell began anew, so its whole value counts.
 */
export function growth(
  evidence: Evidence,
  name: string,
  by: readonly string[],
  isCounted: (series: Series) => boolean = () => true,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  // One sample has no growth.
  if (evidence.before.series.length === 0) return sums;
  const old = new Map<string, number>();
  for (const series of evidence.before.series) {
    if (series.name === name) old.set(identityOf(series), series.value);
  }
  for (const series of evidence.after.series) {
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
