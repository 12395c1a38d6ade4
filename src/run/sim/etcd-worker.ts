/** Thread of a campaign: runs every `stride`-th seed and reports the results. */
import { parentPort, workerData } from "node:worker_threads";
import { must } from "#base/assert.ts";
import { runSeed } from "./etcd-run.ts";
import { tally, type Tally } from "./tally.ts";

export interface WorkerOrder {
  readonly first: number;
  readonly last: number;
  readonly stride: number;
  /** End of the campaign on the host's clock; no seed is started after it. */
  readonly untilMs: number;
}

export interface SeedReport {
  readonly seed: number;
  /** Empty: every guarantee held. */
  readonly problems: readonly string[];
  readonly tally: Tally;
}

export async function report(seed: number): Promise<SeedReport> {
  try {
    const { history, problems, marks } = await runSeed(seed);
    const texts = problems.map(({ guarantee, text }) => `${guarantee}: ${text}`);
    return { seed, problems: texts, tally: tally(history, marks) };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { seed, problems: [`the run ended: ${text}`], tally: {} };
  }
}

if (parentPort !== null) {
  const port = must(parentPort, "a worker has a parent");
  const { first, last, stride, untilMs } = workerData as WorkerOrder;
  for (let seed = first; seed <= last && Date.now() < untilMs; seed += stride) {
    port.postMessage(await report(seed));
  }
}
