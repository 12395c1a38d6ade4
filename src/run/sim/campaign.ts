/** Runs many seeds on several threads and collects their results. */
import { Worker } from "node:worker_threads";
import type { SeedReport, WorkerOrder } from "./etcd-worker.ts";
import { add, type Tally } from "./tally.ts";

interface CampaignOptions {
  readonly first: number;
  readonly last: number;
  readonly threads: number;
  readonly secondsMax: number;
}

export interface CampaignResult {
  readonly runs: number;
  /** Failed runs, sorted by seed. */
  readonly failed: readonly SeedReport[];
  readonly tally: Tally;
}

/** Returns the command that repeats the run of one seed. */
export function again(seed: number): string {
  return `npm run sim -- --seed ${seed}`;
}

export async function campaign(
  options: CampaignOptions,
  progress: (runs: number, report: SeedReport) => void,
): Promise<CampaignResult> {
  const { first, last, threads } = options;
  const untilMs = Date.now() + options.secondsMax * 1000;
  let runs = 0;
  let sum: Tally = {};
  const failed: SeedReport[] = [];
  const take = (report: SeedReport): void => {
    runs++;
    sum = add(sum, report.tally);
    if (report.problems.length > 0) failed.push(report);
    progress(runs, report);
  };
  const work = Array.from({ length: threads }, (_, i) =>
    runThread({ first: first + i, last, stride: threads, untilMs }, take),
  );
  await Promise.all(work);
  return { runs, failed: failed.toSorted((a, b) => a.seed - b.seed), tally: sum };
}

function runThread(order: WorkerOrder, take: (report: SeedReport) => void): Promise<void> {
  const worker = new Worker(new URL("./etcd-worker.ts", import.meta.url), { workerData: order });
  return new Promise((resolve, reject) => {
    worker.on("message", take);
    worker.once("error", reject);
    worker.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`a simulation thread ended with ${code}`)),
    );
  });
}
