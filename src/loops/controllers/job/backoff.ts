/**
 * Computes how long a Job waits before it creates another pod after failures, pure: 10 s after the first, doubling to
 * 10 min, counted from the end of the last failed pod. A success resets the count of failures.
 */
import { clampToSafe } from "#api/go/go-integer.ts";
import type { Pod } from "#api/gen/types.ts";

export interface BackoffRecord {
  /** Consecutive failures since the last success. */
  readonly failures: number;
  readonly lastFailureMs: number;
}

const firstMs = 10_000;
const mostMs = 600_000;

/** The record after these pods have ended; undefined: no backoff is necessary. */
export function nextRecord(
  record: BackoffRecord | undefined,
  succeeded: readonly Pod[],
  failed: readonly Pod[],
): BackoffRecord | undefined {
  if (succeeded.length === 0 && failed.length === 0) return record;
  const ends = failed.map(endMs);
  if (succeeded.length === 0) {
    const failures = (record?.failures ?? 0) + failed.length;
    return { failures, lastFailureMs: Math.max(...ends) };
  }
  const lastSuccessMs = Math.max(...succeeded.map(endMs));
  const later = ends.filter((end) => end > lastSuccessMs);
  if (later.length === 0) return undefined;
  return { failures: later.length, lastFailureMs: Math.max(...later) };
}

export function remainingMs(record: BackoffRecord | undefined, nowMs: number): number {
  if (record === undefined || record.failures === 0) return 0;
  // 2^6 already exceeds mostMs; a larger exponent would only lose precision.
  const delayMs = Math.min(mostMs, firstMs * 2 ** Math.min(record.failures - 1, 6));
  return Math.max(0, record.lastFailureMs + delayMs - nowMs);
}

/** The end of the last container, otherwise the end of readiness, otherwise the deletion. */
export function endMs(pod: Pod): number {
  const {
    deletionTimestamp,
    deletionGracePeriodSeconds = 0,
    creationTimestamp,
  } = pod.metadata ?? {};
  const notReady = pod.status?.conditions?.find(
    (condition) => condition.type === "Ready" && condition.status === "False",
  );
  const deleted =
    Date.parse(deletionTimestamp ?? "") - clampToSafe(deletionGracePeriodSeconds) * 1000;
  const born = Date.parse(creationTimestamp ?? "");
  const known = [
    containersEndMs(pod),
    Date.parse(notReady?.lastTransitionTime ?? ""),
    deleted,
    born,
  ];
  return known.find((time) => !Number.isNaN(time)) ?? 0;
}

/** NaN unless all containers have ended, including sidecars. */
function containersEndMs(pod: Pod): number {
  const sidecars = (pod.spec?.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  const names = new Set(sidecars.map((container) => container.name));
  const statuses = [
    ...(pod.status?.containerStatuses ?? []),
    ...(pod.status?.initContainerStatuses ?? []).filter((status) => names.has(status.name)),
  ];
  const ends = statuses.map((status) => Date.parse(status.state?.terminated?.finishedAt ?? ""));
  return ends.length === 0 ? Number.NaN : Math.max(...ends);
}
