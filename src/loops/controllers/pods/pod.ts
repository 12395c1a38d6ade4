/** States of Pods for controllers, and the creation of pods from templates. */
import { ownEntry } from "#base/own.ts";
import type { Pod, PodTemplateSpec } from "#api/gen/types.ts";
import type { OwnerReference } from "#api/object.ts";

/** Succeeded or Failed. */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Being deleted, possibly finished. */
export function isGoing(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined;
}

/** Neither finished nor being deleted. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && !isGoing(pod);
}

/** Being deleted, and not finished yet. */
export function isTerminating(pod: Pod): boolean {
  return isGoing(pod) && !isFinished(pod);
}

export function podCondition(
  pod: Pod,
  type: string,
): { readonly status: string; readonly lastTransitionTime?: string } | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

export function isReady(pod: Pod): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

/** Ready for at least `minReadySeconds`. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  return isReady(pod) && availableInMs(pod, minReadySeconds, nowMs) <= 0;
}

/** Time until a ready pod becomes available; 0 or less when it already is. */
export function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number {
  if (minReadySeconds <= 0) return 0;
  const since = Date.parse(podCondition(pod, "Ready")?.lastTransitionTime ?? "");
  return Number.isNaN(since) ? minReadySeconds * 1000 : since + minReadySeconds * 1000 - nowMs;
}

/** Time until the next ready pod becomes available; undefined: none will by time alone. */
export function nextAvailableMs(
  pods: readonly Pod[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  const waits = pods
    .filter(isReady)
    .map((pod) => availableInMs(pod, minReadySeconds, nowMs))
    .filter((wait) => wait > 0);
  return waits.length === 0 ? undefined : Math.min(...waits);
}

/** A pod as created by the controller of `owner`; the server adds defaults, name suffix and uid. */
export function podFromTemplate(
  template: PodTemplateSpec,
  options: {
    readonly namespace: string;
    /** Either `name` (stable) or `generateName`. */
    readonly name?: string;
    readonly generateName?: string;
    readonly owner: OwnerReference;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  },
): Pod {
  const { namespace, name, generateName, owner } = options;
  const given = [...(template.metadata?.finalizers ?? []), ...(options.finalizers ?? [])];
  const finalizers = [...new Set(given)];
  const annotations = { ...template.metadata?.annotations, ...options.annotations };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      ...(name === undefined ? {} : { name }),
      ...(generateName === undefined ? {} : { generateName }),
      labels: { ...template.metadata?.labels, ...options.labels },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(finalizers.length === 0 ? {} : { finalizers }),
      ownerReferences: [owner],
    },
    ...(template.spec === undefined ? {} : { spec: template.spec }),
  };
}

type Compare = (a: Pod, b: Pod) => number;

/**
 * The order in which pods are deleted: not assigned before assigned, pending before running, not
 * ready before ready, cheaper deletion cost, more crowded node, younger readiness, more restarts,
 * younger age. Ages count by powers of two: within one power the uid decides, so that the choice
 * among pods of one burst is random. After upstream's ActivePodsWithRanks.
 */
export function compareForDeletion(nowMs: number, crowd: (pod: Pod) => number): Compare {
  const rank = (pod: Pod): number => ageRank(nowMs, readySince(pod));
  const born = (pod: Pod): number => ageRank(nowMs, pod.metadata?.creationTimestamp);
  return chain([
    byStage,
    (a, b) => deletionCost(a) - deletionCost(b),
    (a, b) => crowd(b) - crowd(a),
    (a, b) => (readySince(a) === readySince(b) ? 0 : rank(a) - rank(b) || byUid(a, b)),
    byRestarts,
    (a, b) => (bornAt(a) === bornAt(b) ? 0 : born(a) - born(b)),
    byUid,
  ]);
}

/** The deletion order for Jobs: ignores deletion cost and crowding, and uses exact times. */
export const compareActive: Compare = chain([
  byStage,
  (a, b) => laterFirst(readySince(a), readySince(b)),
  byRestarts,
  (a, b) => laterFirst(bornAt(a), bornAt(b)),
  byUid,
]);

function chain(comparisons: readonly Compare[]): Compare {
  return (a, b) => {
    for (const compare of comparisons) {
      const difference = compare(a, b);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}

const phaseRanks: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

function byStage(a: Pod, b: Pod): number {
  return (
    Number(isAssigned(a)) - Number(isAssigned(b)) ||
    phaseRank(a) - phaseRank(b) ||
    Number(isReady(a)) - Number(isReady(b))
  );
}

function isAssigned(pod: Pod): boolean {
  return (pod.spec?.nodeName ?? "") !== "";
}

function phaseRank(pod: Pod): number {
  return ownEntry(phaseRanks, pod.status?.phase ?? "Pending") ?? 2;
}

function deletionCost(pod: Pod): number {
  const text = pod.metadata?.annotations?.["controller.kubernetes.io/pod-deletion-cost"] ?? "0";
  return /^(0|-?[1-9]\d{0,9})$/.test(text) ? Number(text) : 0;
}

/** Undefined unless the pod is ready. */
function readySince(pod: Pod): string | undefined {
  return isReady(pod) ? podCondition(pod, "Ready")?.lastTransitionTime : undefined;
}

function bornAt(pod: Pod): string | undefined {
  return pod.metadata?.creationTimestamp;
}

/** An absent time counts as the latest. */
function laterFirst(a: string | undefined, b: string | undefined): number {
  const [timeA, timeB] = [timeOf(a), timeOf(b)];
  return timeA === timeB ? 0 : timeA > timeB ? -1 : 1;
}

function timeOf(text: string | undefined): number {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
}

/** Logarithm to base 2 of an age in nanoseconds; -1 for an age of 0 or less. */
function ageRank(nowMs: number, since: string | undefined): number {
  const ageMs = nowMs - timeOf(since);
  return ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1;
}

function byRestarts(a: Pod, b: Pod): number {
  return restarts(b) - restarts(a) || sidecarRestarts(b) - sidecarRestarts(a);
}

function restarts(pod: Pod): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map((one) => one.restartCount));
}

function sidecarRestarts(pod: Pod): number {
  const sidecars = (pod.spec?.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  const named = new Set(sidecars.map((container) => container.name));
  const statuses = (pod.status?.initContainerStatuses ?? []).filter((one) => named.has(one.name));
  return Math.max(0, ...statuses.map((one) => one.restartCount));
}

function byUid(a: Pod, b: Pod): number {
  const [uidA = "", uidB = ""] = [a.metadata?.uid, b.metadata?.uid];
  return uidA === uidB ? 0 : uidA < uidB ? -1 : 1;
}
