/** Shares one answer among many callers; the answer is newer than each caller's call. */

/**
 * `run` is under way at most once. A call that comes meanwhile shares the next one with all others that do: the one
 * under way may have asked before the call came.
 */
export function sharingNext(run: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    current = run().finally(() => (current = undefined));
    return current;
  };
  return () => {
    if (current === undefined) return begin();
    next ??= current.catch(ignore).then(() => {
      next = undefined;
      return begin();
    });
    return next;
  };
}

const ignore = (): void => undefined;
