/** Shares one answer among many callers; the answer is newer than each caller's call. */

/**
 * Returns a function that runs `run` at most once at a time. All calls that arrive during a run share the next run,
 * because the current one may have started its work before they arrived.
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
