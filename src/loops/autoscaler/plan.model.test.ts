/**
 * Plans in a world of random pods and groups: nodes come late or never, pods come and go, a scheduler places pods.
 * The invariants are checked at every step, and the checks find four planted breaches.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Action } from "./action.ts";
import { Book } from "./book.ts";
import type { AutoscalerOptions } from "./options.ts";
import { plan } from "./plan.ts";
import type { Group } from "./snapshot.ts";
import { testOptions } from "./testing.ts";
import { budgeted, World } from "./testing/world.ts";

const busySteps = 60;
const quietSteps = 90;

interface Told {
  readonly group?: (group: Group) => Group;
  readonly options?: Partial<AutoscalerOptions>;
  readonly withoutBudgets?: boolean;
}

/** @returns the first breach, or undefined. */
function run(seed: number, told: Told = {}): string | undefined {
  const world = new World(seed, told);
  const book = new Book();
  const options = { ...testOptions, maxDrainParallelism: 5, ...told.options };
  const random = new FakeRandom(seed + 1);
  let isStill = false;
  for (; world.step < busySteps + quietSteps; world.step++) {
    world.arrive();
    if (world.step < busySteps) world.change();
    if (world.step === busySteps) world.thin();
    // Sometimes the plan comes before the scheduler has looked at the pods.
    const isEarly = random.chance(0.3);
    if (!isEarly) world.schedule();
    const { actions } = plan({ snapshot: world.snapshot(), book, options, random });
    const breach = breachOf(world, actions, isEarly);
    if (breach !== undefined) return `step ${world.step}: ${breach}`;
    world.carryOut(actions, book);
    for (const { id, min, max, target } of world.groups) {
      if (target < min || target > max)
        return `step ${world.step}: ${id} has ${target} of ${min} to ${max}`;
    }
    isStill = actions.every(({ kind }) => kind === "mark" || kind === "unmark");
    if (
      world.step > busySteps + quietSteps - 10 &&
      !isStill &&
      world.groups.every(({ comes }) => comes === 1)
    ) {
      return `step ${world.step}: no rest: ${actions.map(({ kind }) => kind).join()}`;
    }
  }
  return undefined;
}

function breachOf(world: World, actions: readonly Action[], isEarly: boolean): string | undefined {
  const removals = actions.filter((one) => one.kind === "remove");
  const sinceAddMs = world.nowMs - world.lastAddMs;
  if (removals.length > 0 && sinceAddMs < testOptions.scaleDownDelayAfterAddMs) {
    return `a node goes ${sinceAddMs} ms after others came`;
  }
  const moved = removals.flatMap(({ pods }) => pods);
  const disrupted = moved.filter(({ pod }) => pod.metadata?.labels?.["app"] === budgeted.app);
  if (disrupted.length > 1) return `${disrupted.length} pods of a budget of 1 are moved at once`;
  const grows = actions.some(({ kind }) => kind === "increase");
  if (isEarly && world.schedule() && grows) return "nodes for pods that had places";
  return undefined;
}

test("no bound is left, no budget exceeded, no node comes for pods that fit, and all comes to rest", () => {
  for (let seed = 1; seed <= 25; seed++) assert.equal(run(seed), undefined, `seed ${seed}`);
});

const planted: readonly (readonly [what: string, told: Told, found: RegExp])[] = [
  ["a plan that is told a higher most", { group: (one) => ({ ...one, max: one.max + 5 }) }, / of /],
  ["a plan that is told a lower least", { group: (one) => ({ ...one, min: 0 }) }, / of /],
  ["a plan without a cooldown", { options: { scaleDownDelayAfterAddMs: 0 } }, /after others came/],
  ["a plan that knows of no budget", { withoutBudgets: true }, /of a budget/],
];

for (const [what, told, found] of planted) {
  test(`${what} is found out`, () => {
    const breaches = Array.from({ length: 40 }, (_, at) => run(at + 1, told));
    assert.match(breaches.find((one) => one !== undefined && found.test(one)) ?? "", found);
  });
}
