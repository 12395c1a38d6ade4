/**
 * Delays the wakes of a key that covers many objects, so that one reconcile serves many events. Each
 * reconcile reads all objects of its key: without a delay, n changes of n objects would cost n * n.
 *
 * Cost  a key of `size` objects is reconciled for its pods at most once in `size / sizePerMs` ms. Small
 *       keys are woken at once, the largest after `gatherMostMs`.
 */
import type { KeySink } from "./workqueue.ts";

const sizePerMs = 50;
const gatherMostMs = 1_000;

export function addGathered(queue: KeySink, key: string, size: number): void {
  queue.addAfter(key, gatherMs(size));
}

export function gatherMs(size: number): number {
  return Math.min(gatherMostMs, Math.floor(size / sizePerMs));
}
