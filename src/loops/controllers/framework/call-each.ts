/**
 * Calls `call` for every element at once.
 * @returns the first error, after all calls have ended; undefined when none failed.
 */
export async function callEach<T>(
  list: readonly T[],
  call: (element: T) => Promise<void>,
): Promise<unknown> {
  const results = await Promise.allSettled(list.map(call));
  return results.find((result) => result.status === "rejected")?.reason;
}
