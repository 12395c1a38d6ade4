/** The recovery budget before servers that are quick, slow and overloaded, on a clock the test moves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { RecoveryBudget, type RecoveryHold, recoverySteps } from "./recovery-budget.ts";
import type { RecoveryLimits } from "./recovery-rate.ts";

const limits: RecoveryLimits = { firstPerSecond: 100, leastPerSecond: 5, mostPerSecond: 1_000 };

interface Given {
  readonly clock: FakeClock;
  readonly budget: RecoveryBudget;
  readonly grants: string[];
  readonly holds: RecoveryHold[];
  readonly ask: (namespace: string, count: number) => void;
}

function budgetOf(some: Partial<RecoveryLimits> = {}): Given {
  const clock = new FakeClock();
  const holds: RecoveryHold[] = [];
  const grants: string[] = [];
  const options = {
    limits: { ...limits, ...some },
    held: (hold: RecoveryHold) => void holds.push(hold),
  };
  const budget = new RecoveryBudget(clock, options);
  const written = (namespace: string): void => {
    grants.push(namespace);
    budget.unused("create");
  };
  const ask = (namespace: string, count: number): void => {
    for (let at = 0; at < count; at++) {
      const grant = budget.take("create", namespace);
      if (grant === undefined) written(namespace);
      else void grant.then(() => written(namespace));
    }
  };
  return { clock, budget, grants, holds, ask };
}

function count(grants: readonly string[], namespace: string): number {
  return grants.filter((one) => one === namespace).length;
}

test("a tenth of a second's pods go at once, the rest at the rate", async () => {
  const { clock, budget, grants, ask } = budgetOf();
  ask("a", 500);
  assert.equal(grants.length, 10);
  for (let second = 0; second < 3; second++) await clock.advance(1_000);
  assert.ok(grants.length >= 305 && grants.length <= 311, String(grants.length));
  assert.equal(budget.waiting("create"), 500 - grants.length);
});

test("a namespace with three pods waits for one round of a namespace with thousands, not for all of them", async () => {
  const { clock, grants, ask } = budgetOf();
  ask("large", 5_000);
  await clock.advance(1_000);
  ask("small", 3);
  await clock.advance(100);
  assert.equal(count(grants, "small"), 3);
});

test("no more than a twentieth of a second's writes are under way, and each answer lets the next one go", async () => {
  const { clock, budget } = budgetOf();
  let granted = 0;
  for (let at = 0; at < 50; at++) {
    const grant = budget.take("bind", "a");
    if (grant === undefined) granted++;
    else void grant.then(() => granted++);
  }
  await clock.advance(5_000);
  assert.equal(granted, 5);
  budget.answered("bind", 20, false);
  budget.unused("bind");
  await clock.advance(0);
  assert.equal(granted, 7);
});

test("each step has the whole rate", async () => {
  const { clock, budget } = budgetOf();
  const counts = { evict: 0, create: 0, bind: 0 };
  const written = (step: keyof typeof counts): void => {
    counts[step]++;
    budget.unused(step);
  };
  for (const step of recoverySteps) {
    for (let at = 0; at < 300; at++) {
      const grant = budget.take(step, "a");
      if (grant === undefined) written(step);
      else void grant.then(() => written(step));
    }
  }
  await clock.advance(2_000);
  for (const step of recoverySteps) assert.ok(counts[step] > 195, JSON.stringify(counts));
});

test("a caller that gives up leaves the line, and its namespace is forgotten", async () => {
  const { clock, budget, ask } = budgetOf({ firstPerSecond: 10 });
  ask("a", 1);
  const leaving = new AbortController();
  const left = budget.take("create", "b", leaving.signal);
  leaving.abort();
  await left;
  assert.equal(budget.waiting("create"), 0);
  await clock.advance(1_000);
  const gone = budget.take("create", "b", AbortSignal.abort());
  assert.equal(gone, undefined, "a token is there");
});

test("who waits longer than five seconds is told of, once a minute", async () => {
  const { clock, holds, ask } = budgetOf({ firstPerSecond: 5 });
  ask("a", 400);
  for (let second = 0; second < 70; second++) await clock.advance(1_000);
  assert.deepEqual(
    holds.map(({ namespace, step }) => `${step} ${namespace}`),
    ["create a", "create a"],
  );
  assert.equal(holds[0]?.reason, "measuring");
});

test("for any order of askers and answers: never more than the rate, every wait ends, nobody is passed twice", async () => {
  for (let seed = 1; seed <= 20; seed++) await anyOrder(seed);
});

async function anyOrder(seed: number): Promise<void> {
  const random = new FakeRandom(seed);
  const { clock, budget, grants, ask } = budgetOf({ mostPerSecond: 200 });
  let asked = 0;
  let allowed = 10;
  for (let step = 0; step < 100; step++) {
    const namespaces = 1 + Math.floor(random.fraction() * 4);
    for (let at = 0; at < namespaces; at++) {
      const pods = Math.floor(random.fraction() * 30);
      ask(`n${at}`, pods);
      asked += pods;
    }
    const ms = Math.floor(random.fraction() * 300);
    if (random.chance(0.1) && budget.take("bind", "a") === undefined)
      budget.answered("bind", 5, true);
    allowed += (Math.max(budget.perSecond, 5) * ms) / 1_000;
    await clock.advance(ms);
    assert.ok(grants.length <= allowed + 1, `seed ${seed}: ${grants.length} of ${allowed}`);
  }
  for (let wait = 0; wait < 2_000 && grants.length < asked; wait++) await clock.advance(1_000);
  assert.equal(grants.length, asked, `seed ${seed}`);
}
