/** Metrics as pairs of samples, so that faults can be added to a healthy control plane and their texts joined. */
import type { Call, Evidence, HeldRequest, Program, Workload } from "../evidence.ts";
import { parseMetrics } from "../metrics-text.ts";
import { evidenceOf, seen } from "./evidence.ts";

/** A series by its name and labels, with its value in both samples. */
export type Pair = readonly [series: string, before: number, after: number];

export interface Parts {
  readonly pairs?: readonly Pair[];
  readonly objects?: Partial<Evidence["objects"]>;
  readonly programs?: Partial<Record<Program, readonly Pair[]>>;
  readonly calls?: readonly Call[];
  readonly workloads?: readonly Workload[];
  readonly held?: readonly HeldRequest[];
  readonly servingCertificateEndMs?: number;
}

/** A counter that grew by `by`. Its old value is arbitrary. */
export function grew(series: string, by: number, old = 1_000): Pair {
  return [series, old, old + by];
}

export function gauge(series: string, value: number): Pair {
  return [series, value, value];
}

/** A histogram with observations between the samples, all of the same duration. */
export function took(name: string, labels: string, count: number, seconds: number): Pair[] {
  return [
    grew(`${name}_count{${labels}}`, count),
    grew(`${name}_sum{${labels}}`, count * seconds),
    ...[0.001, 0.008, 0.032, 0.128, 0.512, 2, "+Inf"].map((le) =>
      grew(
        `${name}_bucket{${labels}${labels === "" ? "" : ","}le="${le}"}`,
        seconds <= Number(le) || le === "+Inf" ? count : 0,
      ),
    ),
  ];
}

/** An earlier part takes precedence: its series and objects replace those of the same name in later parts. */
export function evidenceOfParts(parts: readonly Parts[], secondsBetween: number): Evidence {
  const programs: Partial<Record<Program, Evidence>> = {};
  for (const name of ["scheduler", "controller-manager", "etcd", "relay"] as const) {
    const pairs = parts.flatMap((part) => part.programs?.[name] ?? []);
    if (pairs.length > 0) programs[name] = evidenceOf({ ...samplesOf(pairs), secondsBetween });
  }
  const calls = parts.flatMap((part) => part.calls ?? []);
  const end = parts.find((part) => part.servingCertificateEndMs !== undefined);
  const objects = (kind: keyof Evidence["objects"]) => {
    const all = parts.flatMap((part) => part.objects?.[kind] ?? []);
    const names = all.map(({ metadata }) => metadata.name);
    return all.filter(({ metadata }, at) => names.indexOf(metadata.name) === at);
  };
  return {
    ...seen({
      namespaces: objects("namespaces"),
      apiservices: objects("apiservices"),
      leases: objects("leases"),
      nodeLeases: objects("nodeLeases"),
    }),
    ...samplesOf(parts.flatMap((part) => part.pairs ?? [])),
    secondsBetween,
    programs,
    workloads: parts.flatMap((part) => part.workloads ?? []),
    held: parts.flatMap((part) => part.held ?? []),
    audit: {
      calls: calls.toSorted((a, b) => b.count - a.count),
      seconds: 600,
      dropped: 0,
      uncounted: 0,
    },
    servingCertificateEndMs: end?.servingCertificateEndMs,
  };
}

function samplesOf(pairs: readonly Pair[]): Pick<Evidence, "before" | "after"> {
  const first = new Map<string, Pair>();
  for (const pair of pairs) if (!first.has(pair[0])) first.set(pair[0], pair);
  const text = (at: 1 | 2): string =>
    [...first.values()].map((pair) => `${pair[0]} ${pair[at]}`).join("\n");
  return {
    before: parseMetrics(text(1), () => true),
    after: parseMetrics(text(2), () => true),
  };
}
