/**
 * SIGINT and SIGTERM of a role: the first asks it to end in order, a later one ends it at once, since
 * what was acknowledged is on disk already. The same wish often comes twice - a terminal or a process
 * group tells the launcher, too, and that passes it on - so what follows within a moment is one wish.
 */
const sameWishMs = 1_000;

/** Calls `stop` once. */
export function onStopSignal(stop: () => void): void {
  let firstAtMs: number | undefined;
  const asked = (): void => {
    const nowMs = performance.now();
    if (firstAtMs === undefined) {
      firstAtMs = nowMs;
      stop();
    } else if (nowMs - firstAtMs > sameWishMs) process.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, asked);
}
