/** What one run of a generator measured, and how it is measured: all times are of the window only. */
import { cpuSeconds, residentBytes } from "../process-cost.ts";

export interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly calls: number;
  /** Of the server, user and system. */
  readonly cpuUsPerCall: number;
  /** Of the server, at the end of the window. */
  readonly rssMiB: number;
  /** Of one core, the generator's own: near 1 it is what was measured. */
  readonly generatorCpu: number;
}

export function rssMiB(pid: number): number {
  return Math.round(residentBytes(pid) / 2 ** 20);
}

/** Latencies in buckets of 20 us up to 20 s: as many as come, in a megabyte. */
export class Histogram {
  readonly #buckets = new Uint32Array(1_000_000);
  count = 0;

  add(ms: number): void {
    const bucket = Math.min(this.#buckets.length - 1, Math.max(0, Math.floor(ms * 50)));
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
    this.count++;
  }

  clear(): void {
    this.#buckets.fill(0);
    this.count = 0;
  }

  /** The upper edge of the bucket that holds the quantile, in ms. */
  quantile(q: number): number {
    const wanted = Math.max(1, Math.ceil(this.count * q));
    let seen = 0;
    for (let i = 0; i < this.#buckets.length && this.count > 0; i++) {
      seen += this.#buckets[i] as number;
      if (seen >= wanted) return (i + 1) / 50;
    }
    return 0;
  }
}

/** Measures the server, and the process it runs in, from its making to `end`. */
export class Window {
  readonly #serverPid: number;
  readonly #startMs = performance.now();
  readonly #serverCpu: number;
  readonly #ownCpu = process.cpuUsage();

  constructor(serverPid: number) {
    this.#serverPid = serverPid;
    this.#serverCpu = cpuSeconds(serverPid);
  }

  end(latencies: Histogram): Sample {
    const seconds = (performance.now() - this.#startMs) / 1000;
    const own = process.cpuUsage(this.#ownCpu);
    const calls = latencies.count;
    const cpu = cpuSeconds(this.#serverPid) - this.#serverCpu;
    return {
      perSecond: calls / seconds,
      p50Ms: latencies.quantile(0.5),
      p99Ms: latencies.quantile(0.99),
      maxMs: latencies.quantile(1),
      calls,
      cpuUsPerCall: (cpu * 1e6) / Math.max(1, calls),
      rssMiB: rssMiB(this.#serverPid),
      generatorCpu: (own.user + own.system) / 1e6 / seconds,
    };
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
