/** Applies an asynchronous function to many items, a few at a time. */

/** Returns the results in order. The first failure ends the work: items that have not begun are skipped. */
export async function inLanes<T, R>(
  items: readonly T[],
  lanes: number,
  f: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length && !hasFailed; at = next++) {
      try {
        results[at] = await f(items[at] as T); // at is below the length
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
  return results;
}
