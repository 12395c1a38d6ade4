/**
 * Many calls of one kind, in doubling batches: 1, 2, 4 ... A first refusal (quota, bad template)
 * then costs one call instead of thousands. Like upstream's slowStartBatch.
 */

/**
 * Calls `call` for each element in order; stops after a batch in which one failed.
 * @returns how many succeeded, and the first error if any failed.
 */
export async function slowStart<T>(
  list: readonly T[],
  call: (element: T) => Promise<void>,
): Promise<{ readonly succeeded: number; readonly error: unknown }> {
  let succeeded = 0;
  let started = 0;
  for (let size = 1; started < list.length; size *= 2) {
    const batch = list.slice(started, started + size);
    const results = await Promise.allSettled(batch.map(call));
    started += batch.length;
    succeeded += results.filter((result) => result.status === "fulfilled").length;
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) return { succeeded, error: failed.reason };
  }
  return { succeeded, error: undefined };
}
