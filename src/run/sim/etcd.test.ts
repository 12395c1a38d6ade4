/** The etcd API under simulated faults: 180 seeds here, 10,000 by `npm run sim -- --seeds 10000`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { again, campaign } from "./campaign.ts";
import { report } from "./etcd-worker.ts";

/** The same in every run: the faults they reach can be counted. */
const knownSeeds = 120;
/** So often they reach each fault at least, or the simulation has gone blunt. */
const leastReached = 3;
/** Others with every tree. */
const ownSeeds = 60;
const firstOwnSeed = Number(process.env["PILOTHOUSE_SEED"] ?? 1) + knownSeeds;

/** @returns how often each fault came up. */
async function holdsOver(first: number, seeds: number): Promise<Readonly<Record<string, number>>> {
  const options = { first, last: first + seeds - 1, threads: 2, secondsMax: 600 };
  const { runs, failed, tally } = await campaign(options, () => undefined);
  const texts = failed.map(({ seed, problems }) => `${again(seed)}: ${problems[0]}`);
  assert.deepEqual(texts, []);
  assert.equal(runs, seeds);
  return tally;
}

void test(`over ${knownSeeds} seeds every promise of the etcd API holds, and every fault comes up`, async () => {
  const tally = await holdsOver(1, knownSeeds);
  assert.deepEqual(
    Object.entries(tally).filter(([, count]) => count < leastReached),
    [],
  );
});

void test(`over ${ownSeeds} seeds from ${firstOwnSeed} on every promise of the etcd API holds`, async () => {
  await holdsOver(firstOwnSeed, ownSeeds);
});

void test("a run is decided by its seed", async () => {
  const [once, twice] = [await report(7), await report(7)];
  assert.deepEqual(once, twice);
  assert.notDeepEqual((await report(8)).tally, once.tally);
});
