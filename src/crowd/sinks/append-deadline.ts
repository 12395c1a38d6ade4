/** The maximum time of an append: after it the sink counts as unreachable, whatever the state of its connection. */
import type { Clock } from "#platform/clock.ts";

const appendMsMax = 30_000;

/** Rejects when the sink does not answer in time. */
export async function withinDeadline(clock: Clock, appended: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after("sink.append", appendMsMax, () =>
    late.reject(new Error(`no answer in ${appendMsMax / 1000} s`)),
  );
  try {
    await Promise.race([appended, late.promise]);
  } finally {
    timer.cancel();
  }
}
