/**
 * What connects a ReplicaSet to its Deployment besides ownership: the template hash, the revision and
 * the annotations with the size the Deployment had when the ReplicaSet was last scaled.
 */
import type { Deployment, PodTemplateSpec, ReplicaSet } from "#api/gen/types.ts";
import { parseInt64 } from "#api/go/go-integer.ts";
import { jsonEqual } from "#api/json/json-value.ts";

export const hashLabel = "pod-template-hash";
export const revisionAnnotation = "deployment.kubernetes.io/revision";
export const revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history";
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
export const maxAnnotation = "deployment.kubernetes.io/max-replicas";

/** Annotations of only one of the two objects, which are not copied. */
const notCopied = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredAnnotation,
  maxAnnotation,
  "deprecated.deployment.rollback.to",
]);

/** The ReplicaSet with the Deployment's template (ignoring the hash label); the oldest if there are several. */
export function findNewReplicaSet(
  deployment: Deployment,
  replicaSets: readonly ReplicaSet[],
): ReplicaSet | undefined {
  return replicaSets
    .toSorted(oldestFirst)
    .find((rs) => sameTemplate(rs.spec?.template, deployment.spec?.template));
}

function withoutHash(template: PodTemplateSpec | undefined): PodTemplateSpec {
  const { [hashLabel]: _hash, ...labels } = template?.metadata?.labels ?? {};
  const { creationTimestamp: _none, ...metadata } = template?.metadata ?? {};
  return { ...template, metadata: { ...metadata, labels } };
}

export function oldestFirst(a: ReplicaSet, b: ReplicaSet): number {
  const timeA = a.metadata?.creationTimestamp ?? "";
  const timeB = b.metadata?.creationTimestamp ?? "";
  if (timeA !== timeB) return timeA < timeB ? -1 : 1;
  return (a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1;
}

/** An int64; 0 when there is none. */
export function revisionOf(object: ReplicaSet | Deployment): bigint {
  return parseInt64(object.metadata?.annotations?.[revisionAnnotation] ?? "") ?? 0n;
}

export function nextRevision(olds: readonly ReplicaSet[]): bigint {
  const newest = olds.map(revisionOf).reduce((most, one) => (one > most ? one : most), 0n);
  return BigInt.asIntN(64, newest + 1n);
}

/** Annotations of the newest ReplicaSet; its other annotations stay. */
export function newestAnnotations(
  deployment: Deployment,
  current: Readonly<Record<string, string>>,
  revision: bigint,
): Readonly<Record<string, string>> {
  const copied = Object.entries(deployment.metadata?.annotations ?? {}).filter(
    ([key]) => !notCopied.has(key),
  );
  const merged = { ...current, ...Object.fromEntries(copied) };
  const text = current[revisionAnnotation] ?? "";
  const old = text === "" ? 0n : parseInt64(text);
  // As upstream, a higher revision written by someone else stays.
  if (old === undefined || old >= revision) return merged;
  const past =
    text !== ""
      ? { [revisionHistoryAnnotation]: withPast(current[revisionHistoryAnnotation], text) }
      : {};
  return { ...merged, ...past, [revisionAnnotation]: String(revision) };
}

/** Upstream's limit: about 100 past revisions; the oldest are dropped first. */
const historyCharsMax = 2000;

function withPast(history: string | undefined, revision: string): string {
  const past = [...(history ?? "").split(",").filter((text) => text !== ""), revision];
  while (past.join(",").length > historyCharsMax) past.shift();
  return past.join(",");
}

const nameMax = 253;

export function replicaSetName(deployment: Deployment, hash: string): string {
  return `${(deployment.metadata?.name ?? "").slice(0, nameMax - 1 - hash.length)}-${hash}`;
}

/** Whether the templates are equal, ignoring the hash label. */
export function sameTemplate(
  a: PodTemplateSpec | undefined,
  b: PodTemplateSpec | undefined,
): boolean {
  return jsonEqual(withoutHash(a), withoutHash(b));
}

/** Desired and maximum replicas, stored on each ReplicaSet to distinguish scaling from a rollout. */
export function sizeAnnotations(desired: number, max: number): Readonly<Record<string, string>> {
  return { [desiredAnnotation]: String(desired), [maxAnnotation]: String(max) };
}
