/** Keeps a watch of a log cluster open, on a new connection whenever one ends. */
import type { Clock } from "#platform/clock.ts";
import { sleep } from "#platform/clock.ts";
import type { KeySink } from "./cluster.ts";

const watchAgainMs = 200;

/** `once` watches until its connection ends, with or without an error. `sink` is called at each end. */
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
      // The connection was lost; the loop tries the next one.
    }
    sink.broke();
    await sleep(clock, "etcd.replica-wait", watchAgainMs, closing);
  }
}
