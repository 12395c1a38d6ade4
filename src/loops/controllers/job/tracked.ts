/** Marks on a Job's pods: the index, and the finalizer that keeps an ended pod until it is counted. */
import type { Pod } from "#api/gen/types.ts";

export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
export const indexAnnotation = "batch.kubernetes.io/job-completion-index";

export function isTracked(pod: Pod): boolean {
  return (pod.metadata?.finalizers ?? []).includes(trackingFinalizer);
}

export function indexOfPod(pod: Pod): number | undefined {
  const text = pod.metadata?.annotations?.[indexAnnotation];
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
