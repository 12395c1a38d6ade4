/**
 * CPU time of containers as counters, which is what a kubelet's pages show: usage is a rate here.
 *
 * Holds  a counter never goes back while it is known, whatever its usage becomes; a container seen for the first time has
 *        used what it uses now since it started.
 * Bounds `countersMax`: the one that was asked for longest ago goes.
 */
interface Counter {
  atMs: number;
  nanos: bigint;
}

const countersMax = 500_000;

export class CpuCounters {
  readonly #counters = new Map<string, Counter>();

  /** Returns the nanoseconds of CPU used until `nowMs`. `cpuNanos`: present usage in billionths of a core. */
  until(key: string, startedMs: number, nowMs: number, cpuNanos: bigint): bigint {
    const known = this.#counters.get(key) ?? { atMs: Math.min(startedMs, nowMs), nanos: 0n };
    const spentMs = BigInt(Math.max(0, Math.floor(nowMs - known.atMs)));
    const next = {
      atMs: Math.max(known.atMs, nowMs),
      nanos: known.nanos + (cpuNanos * spentMs) / 1_000n,
    };
    this.#counters.delete(key);
    this.#counters.set(key, next);
    if (this.#counters.size > countersMax) {
      for (const oldest of this.#counters.keys()) {
        this.#counters.delete(oldest);
        break;
      }
    }
    return next.nanos;
  }
}
