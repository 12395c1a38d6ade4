/** Workers of a queue: take a key, reconcile it, retry by the queue's rules. */
import { ApiError } from "#api/status.ts";
import { retryAfterMs } from "./api-errors.ts";
import type { WorkQueue } from "./workqueue.ts";

/** Undefined: done. Otherwise the key is reconciled again after that time, which does not count as a failure. */
export type ReconcileResult = void | { readonly requeueAfterMs: number };

export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult>;

/**
 * Runs `count` workers until `signal` aborts, then closes the queue and resolves when the last key
 * under work is done. A key whose reconcile throws is queued again with backoff, or after the time that the server
 * asked for (429, 503 with retryAfterSeconds), whichever is later.
 */
export async function runWorkers(
  queue: WorkQueue,
  count: number,
  reconcile: Reconcile,
  signal: AbortSignal,
): Promise<void> {
  const close = (): void => queue.close();
  if (signal.aborted) close();
  else signal.addEventListener("abort", close, { once: true });
  const workers = Array.from({ length: count }, () => runWorker(queue, reconcile, signal));
  await Promise.all(workers);
  signal.removeEventListener("abort", close);
}

async function runWorker(
  queue: WorkQueue,
  reconcile: Reconcile,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const key = await queue.take();
    if (key === undefined) return;
    try {
      const result = await reconcile(key, signal);
      queue.forget(key);
      if (result !== undefined) queue.addAfter(key, result.requeueAfterMs);
    } catch (error) {
      workerFailed(queue, key, error);
    } finally {
      queue.done(key);
    }
  }
}

function workerFailed(queue: WorkQueue, key: string, error: unknown): void {
  const delayMs = Math.max(queue.failed(key), retryAfterMs(error) ?? 0);
  queue.addAfter(key, delayMs);
  const message = error instanceof Error ? error.message : String(error);
  const fields = { key, delayMs, error: message };
  // Conflicts and 429s are normal; any other error may be a bug.
  if (error instanceof ApiError) return queue.log.debug("reconcile refused", fields);
  const stack = error instanceof Error ? error.stack : undefined;
  queue.log.warn("reconcile failed", { ...fields, stack });
}
