/** Delays stay between their bounds for any random value. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Random } from "#platform/random.ts";
import { changed } from "#platform/testing/changed.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Backoff } from "./backoff.ts";

/** Always the least or the most that a uniform draw can give. */
function extreme(most: boolean): { readonly random: Random } {
  const below = (bound: number): number => (most ? bound - 1 : 0);
  return { random: changed(new FakeRandom(1), { below }) };
}

test("delays double from the first to the most, and spread over as much again", () => {
  const options = { firstMs: 100, mostMs: 1_000 };
  const least = new Backoff(extreme(false), options);
  const most = new Backoff(extreme(true), options);
  const drawn = [1, 2, 3, 4, 5, 6].map(() => [least.nextMs(), most.nextMs()]);
  const steps = [100, 200, 400, 800, 1_000, 1_000];
  assert.deepEqual(
    drawn,
    steps.map((step) => [step, 2 * step - 1]),
  );
});

test("with full jitter they are anywhere below the step", () => {
  const options = { firstMs: 100, mostMs: 1_000, jitter: "full" } as const;
  const least = new Backoff(extreme(false), options);
  const most = new Backoff(extreme(true), options);
  const drawn = [1, 2, 3, 4, 5].map(() => [least.nextMs(), most.nextMs()]);
  assert.deepEqual(
    drawn,
    [100, 200, 400, 800, 1_000].map((step) => [0, step - 1]),
  );
});
