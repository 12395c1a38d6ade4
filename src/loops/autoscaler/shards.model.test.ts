/**
 * Several autoscalers with a part of the groups each, on one world: they see the same and act without asking each other,
 * one of them dies and comes back without its book. They keep every bound, do not undo each other's work, and leave no
 * pod without a node that a group could give.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Action } from "./action.ts";
import { Book } from "./book.ts";
import { plan } from "./plan.ts";
import { isOwnGroup } from "./shard.ts";
import { testOptions } from "./testing.ts";
import { World } from "./testing/world.ts";

const busySteps = 60;
const quietSteps = 120;
/** Steps of the quiet time after which nothing is changed any more. */
const calmSteps = 80;
const killedAt = 30;
const killedFor = 20;

class Autoscaler {
  readonly #isOwn: (id: string) => boolean;
  readonly #random: FakeRandom;
  book = new Book();

  constructor(isOwn: (id: string) => boolean, seed: number) {
    this.#isOwn = isOwn;
    this.#random = new FakeRandom(seed);
  }

  plan(world: World): readonly Action[] {
    const snapshot = world.snapshot(this.#isOwn);
    const options = { ...testOptions, maxDrainParallelism: 5 };
    const { book } = this;
    const { actions } = plan({ snapshot, book, options, random: this.#random });
    for (const action of actions) {
      if ("group" in action) assert.ok(this.#isOwn(action.group), "a group has one autoscaler");
    }
    return actions.filter(({ kind }) => kind !== "mark" && kind !== "unmark");
  }
}

interface Outcome {
  readonly lateChanges: number;
  readonly helpable: number;
}

/** `owners`: how many autoscalers look after a group; more than one is the planted fault. */
function run(seed: number, count: number, owners = 1): Outcome {
  const world = new World(seed);
  const shards = Array.from({ length: count }, (_, index) => {
    const isOwn = (id: string): boolean =>
      owners > 1 || isOwnGroup(`${seed}-${id}`, { index, count });
    return new Autoscaler(isOwn, seed + index);
  });
  const [first] = shards;
  assert.ok(first);
  let lateChanges = 0;
  for (; world.step < busySteps + quietSteps; world.step++) {
    world.arrive();
    if (world.step < busySteps) world.change();
    if (world.step === busySteps) world.thin();
    world.schedule();
    if (world.step === killedAt) first.book = new Book();
    const isDead = world.step >= killedAt && world.step < killedAt + killedFor;
    const alive = shards.filter((one) => !isDead || one !== first);
    // All of them have planned before one of them acts.
    const plans = alive.map((one) => [one, one.plan(world)] as const);
    for (const [one, actions] of plans) {
      world.carryOut(actions, one.book);
      if (world.step >= busySteps + calmSteps && world.isHonest) lateChanges += actions.length;
    }
    for (const { id, min, max, target } of world.groups) {
      assert.ok(target >= min && target <= max, `${id} has ${target} of ${min} to ${max}`);
    }
  }
  return { lateChanges, helpable: world.isHonest ? world.helpable() : 0 };
}

for (const count of [2, 3]) {
  test(`${count} autoscalers never fight, also while one is dead and after it came back`, () => {
    for (let seed = 1; seed <= 40; seed++) {
      assert.deepEqual(run(seed, count), { lateChanges: 0, helpable: 0 }, `seed ${seed}`);
    }
  });
}

test("two autoscalers for the same groups are found out", () => {
  assert.throws(() => {
    for (let seed = 1; seed <= 40; seed++) {
      assert.deepEqual(run(seed, 2, 2), { lateChanges: 0, helpable: 0 });
    }
  });
});
