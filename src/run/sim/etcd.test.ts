/** The etcd API under simulated faults: 300 seeds here, 10,000 by `npm run sim -- --seeds 10000`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { again, campaign } from "./campaign.ts";
import { report } from "./etcd-worker.ts";

const seeds = 300;
/** What a few hundred seeds reach a handful of times at least, or the simulation has gone blunt. */
const leastReached = 5;

void test(`over ${seeds} seeds every promise of the etcd API holds, and every fault comes up`, async () => {
  const options = { first: 1, last: seeds, threads: 2, secondsMax: 600 };
  const { runs, failed, tally } = await campaign(options, () => undefined);
  const texts = failed.map(({ seed, problems }) => `${again(seed)}: ${problems[0]}`);
  assert.deepEqual(texts, []);
  assert.equal(runs, seeds);
  const rare = Object.entries(tally).filter(([, count]) => count < leastReached);
  assert.deepEqual(rare, []);
});

void test("a run is decided by its seed", async () => {
  const [once, twice] = [await report(7), await report(7)];
  assert.deepEqual(once, twice);
  assert.notDeepEqual((await report(8)).tally, once.tally);
});
