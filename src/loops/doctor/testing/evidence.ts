/** Evidence of a healthy control plane, and parts to add a fault. For the tests of rules. */
import type { Evidence, SeenObject } from "../evidence.ts";
import { parseMetrics } from "../metrics-text.ts";

export const nowMs = Date.parse("2026-01-02T03:00:00Z");

const noObjects: Evidence["objects"] = {
  namespaces: [],
  apiservices: [],
  leases: [],
  nodeLeases: [],
};

export function evidenceOf(parts: Partial<Evidence>): Evidence {
  return {
    nowMs,
    before: { series: [], dropped: 0 },
    after: { series: [], dropped: 0 },
    secondsBetween: 1,
    objects: noObjects,
    servingCertificateEndMs: undefined,
    hasAnswer: true,
    programs: {},
    held: [],
    gaps: [],
    ...parts,
  };
}

/** Makes evidence from two samples of /metrics. */
export function sampled(before: string, after: string): Evidence {
  const parse = (text: string) => parseMetrics(`up 1\n${text}`, () => true);
  return evidenceOf({ before: parse(before), after: parse(after) });
}

export function seen(objects: Partial<Evidence["objects"]>): Evidence {
  return evidenceOf({ objects: { ...noObjects, ...objects } });
}

export function secondsAgo(seconds: number): string {
  return new Date(nowMs - seconds * 1_000).toISOString();
}

export function named(name: string, rest: Omit<SeenObject, "metadata"> = {}): SeenObject {
  return { metadata: { name }, ...rest };
}

/** Makes the lines of a histogram, all of whose observations took `seconds`. */
export function observed(name: string, seconds: number, count: number, labels = ""): string {
  const comma = labels === "" ? "" : ",";
  const rows = [0.001, 0.008, 0.032, 0.128, 0.512, 2].map(
    (le) => `${name}_bucket{${labels}${comma}le="${le}"} ${seconds <= le ? count : 0}`,
  );
  return `${rows.join("\n")}
${name}_bucket{${labels}${comma}le="+Inf"} ${count}
${name}_sum{${labels}} ${seconds * count}
${name}_count{${labels}} ${count}\n`;
}
