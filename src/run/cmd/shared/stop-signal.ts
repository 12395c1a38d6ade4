/**
 * SIGINT and SIGTERM of a role: the first one starts an orderly stop, a later one ends the process at once,
 * since acknowledged writes are on disk already. One request often arrives twice - a terminal or a process
 * group signals the launcher too, which passes it on - so signals within `sameWishMs` count as one.
 */
const sameWishMs = 1_000;
const signals = ["SIGINT", "SIGTERM"] as const;

/** Calls `stop` once at a stop signal. @returns a function that removes the handlers. */
export function onStopSignal(stop: () => void): () => void {
  let firstAtMs: number | undefined;
  const asked = (): void => {
    const nowMs = performance.now();
    if (firstAtMs === undefined) {
      firstAtMs = nowMs;
      stop();
    } else if (nowMs - firstAtMs > sameWishMs) process.exit(130);
  };
  for (const signal of signals) process.on(signal, asked);
  return () => {
    for (const signal of signals) process.off(signal, asked);
  };
}
