/**
 * Many calls of one kind, in doubling batches: 1, 2, 4 ... A first refusal (quota, bad template)
 * then costs one call instead of thousands. As upstream's slowStartBatch.
 */

/**
 * Calls `call(index)` for 0..count-1; stops after a batch in which one failed.
 * @returns how many succeeded, and the first error if any failed.
 */
export async function slowStart(
  count: number,
  call: (index: number) => Promise<void>,
): Promise<{ readonly succeeded: number; readonly error: unknown }> {
  let succeeded = 0;
  let started = 0;
  for (let size = 1; started < count; size *= 2) {
    const batch = Math.min(size, count - started);
    const indexes = Array.from({ length: batch }, (_value, at) => started + at);
    const results = await Promise.allSettled(indexes.map((index) => call(index)));
    started += batch;
    succeeded += results.filter((result) => result.status === "fulfilled").length;
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) return { succeeded, error: failed.reason };
  }
  return { succeeded, error: undefined };
}
