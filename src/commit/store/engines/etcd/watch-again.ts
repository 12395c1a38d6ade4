/** A log cluster's watch that begins anew on the next connection, for as long as it is wanted. */
import type { Clock } from "#platform/clock.ts";
import { sleep } from "#platform/clock.ts";
import type { KeySink } from "./cluster.ts";

const watchAgainMs = 200;

/** `once`: until its connection ends, by an error or without one. `sink` hears of each end. */
export async function watchAgain(
  clock: Clock,
  sink: KeySink,
  closing: AbortSignal,
  once: () => Promise<void>,
): Promise<void> {
  while (!closing.aborted) {
    try {
      await once();
    } catch {
      // The connection was lost: the next one is tried.
    }
    sink.broke();
    await sleep(clock, "etcd.replica-wait", watchAgainMs, closing);
  }
}
