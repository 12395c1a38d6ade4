/** Work on many items, a few at once. */

/** Results in order. The first failure ends it: batches that have not begun are not asked for. */
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
