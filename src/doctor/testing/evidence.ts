/** Evidence of a healthy plane, and parts to put a fault in. For the tests of rules. */
import type { Evidence, SeenObject } from "../evidence.ts";
import { parseMetrics } from "../metrics-text.ts";

export const nowMs = Date.parse("2026-01-02T03:00:00Z");

export function evidenceOf(parts: Partial<Evidence>): Evidence {
  return {
    nowMs,
    before: { series: [], dropped: 0 },
    after: { series: [], dropped: 0 },
    secondsBetween: 1,
    objects: { namespaces: [], apiservices: [], leases: [] },
    servingCertificateEndMs: undefined,
    hasAnswer: true,
    gaps: [],
    ...parts,
  };
}

/** Evidence of two samples of /metrics. */
export function sampled(before: string, after: string): Evidence {
  const parse = (text: string) => parseMetrics(`up 1\n${text}`, () => true);
  return evidenceOf({ before: parse(before), after: parse(after) });
}

export function seen(objects: Partial<Evidence["objects"]>): Evidence {
  return evidenceOf({ objects: { namespaces: [], apiservices: [], leases: [], ...objects } });
}

export function secondsAgo(seconds: number): string {
  return new Date(nowMs - seconds * 1_000).toISOString();
}

export function named(name: string, rest: Omit<SeenObject, "metadata"> = {}): SeenObject {
  return { metadata: { name }, ...rest };
}
