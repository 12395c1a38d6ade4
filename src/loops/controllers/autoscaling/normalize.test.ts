/** From the number that metrics ask for to the one that is set: upstream's rules of bounds, windows and policies, restated. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HorizontalPodAutoscaler } from "#api/gen/types.ts";
import { ScaleHistory } from "./history.ts";
import { normalize } from "./normalize.ts";

type Behavior = NonNullable<HorizontalPodAutoscaler["spec"]["behavior"]>;
type Rules = NonNullable<Behavior["scaleUp"]>;

const minute = 60_000;

/** One autoscaler over time: a look each 15 s, which sets what it decides. */
class Run {
  readonly history = new ScaleHistory();
  readonly #behavior: Behavior | undefined;
  nowMs = 0;
  current: number;
  reasons: readonly string[] = [];

  constructor(current: number, behavior?: Behavior) {
    this.current = current;
    this.#behavior = behavior;
    this.history.begin(current, 0);
  }

  look(desired: number, { min = 1, max = 1000 } = {}): number {
    const behavior = this.#behavior;
    const autoscaler = {
      spec: { maxReplicas: max, ...(behavior === undefined ? {} : { behavior }) },
    } as HorizontalPodAutoscaler;
    const { current, nowMs } = this;
    const asked = { current, desired, min, max, nowMs, downscaleStabilizationMs: 5 * minute };
    const { replicas, ableToScale, scalingLimited } = normalize(autoscaler, this.history, asked);
    this.reasons = [ableToScale.reason, `${scalingLimited.status} ${scalingLimited.reason}`];
    if (replicas !== current && behavior !== undefined)
      this.history.changed(current, replicas, nowMs);
    this.current = replicas;
    this.nowMs += 15_000;
    return replicas;
  }

  looks(desired: number, count: number): readonly number[] {
    return Array.from({ length: count }, () => this.look(desired));
  }
}

test("without behaviour: twice as many or 4 a look, and not beyond the bounds", () => {
  const run = new Run(1);
  assert.deepEqual(run.looks(100, 6), [4, 8, 16, 32, 64, 100]);
  assert.deepEqual(run.reasons, ["ReadyForNewScale", "False DesiredWithinRange"]);
  assert.equal(run.look(100, { max: 40 }), 40);
  assert.deepEqual(run.reasons, ["ReadyForNewScale", "True TooManyReplicas"]);
  assert.equal(new Run(3).look(50), 6);
});

test("without behaviour: down after five minutes without a higher recommendation", () => {
  const run = new Run(10);
  assert.deepEqual(new Set(run.looks(2, 20)), new Set([10]));
  assert.deepEqual(run.reasons, ["ScaleDownStabilized", "False DesiredWithinRange"]);
  assert.equal(run.look(2), 2);
  assert.equal(new Run(3).look(0, { min: 2 }), 3);
});

test("below the minimum is the minimum, and says so", () => {
  const run = new Run(3);
  run.nowMs = 10 * minute;
  assert.equal(run.look(0, { min: 2 }), 2);
  assert.deepEqual(run.reasons, ["ReadyForNewScale", "True TooFewReplicas"]);
});

const pods = (value: number, periodSeconds: number) => ({ type: "Pods", value, periodSeconds });
const percent = (value: number, periodSeconds: number) => ({
  type: "Percent",
  value,
  periodSeconds,
});
const now = { stabilizationWindowSeconds: 0 };

interface Case {
  readonly name: string;
  readonly from: number;
  readonly desired: number;
  readonly up?: Rules;
  readonly down?: Rules;
  readonly sizes: readonly number[];
  readonly reason: string;
}

const cases: readonly Case[] = [
  {
    name: "defaults add 4 or double in 15 s",
    from: 1,
    desired: 40,
    sizes: [5, 10, 20, 40],
    reason: "False DesiredWithinRange",
  },
  {
    name: "4 pods a minute",
    from: 1,
    desired: 40,
    up: { ...now, policies: [pods(4, 60)] },
    sizes: [5, 5, 5, 5, 9, 9],
    reason: "True ScaleUpLimit",
  },
  {
    name: "half as many more a minute, rounded up",
    from: 3,
    desired: 40,
    up: { ...now, policies: [percent(50, 60)] },
    sizes: [5, 5, 5, 5, 8],
    reason: "True ScaleUpLimit",
  },
  {
    name: "the policy that changes most",
    from: 10,
    desired: 100,
    up: { ...now, policies: [pods(4, 15), percent(100, 15)] },
    sizes: [20],
    reason: "True ScaleUpLimit",
  },
  {
    name: "the policy that changes least",
    from: 10,
    desired: 100,
    up: { ...now, selectPolicy: "Min", policies: [pods(4, 15), percent(100, 15)] },
    sizes: [14, 18],
    reason: "True ScaleUpLimit",
  },
  {
    name: "no growth at all",
    from: 10,
    desired: 100,
    up: { ...now, selectPolicy: "Disabled" },
    sizes: [10, 10],
    reason: "True ScaleUpLimit",
  },
  {
    name: "growth waits until a window knows nothing lower",
    from: 2,
    desired: 6,
    up: { stabilizationWindowSeconds: 30 },
    sizes: [2, 2, 6],
    reason: "False DesiredWithinRange",
  },
  {
    name: "one pod less a minute",
    from: 5,
    desired: 1,
    down: { ...now, policies: [pods(1, 60)] },
    sizes: [4, 4, 4, 4, 3],
    reason: "True ScaleDownLimit",
  },
  {
    name: "a fifth less in 30 s",
    from: 100,
    desired: 1,
    down: { ...now, policies: [percent(20, 30)] },
    sizes: [80, 80, 64, 64, 51],
    reason: "True ScaleDownLimit",
  },
  {
    name: "the policy that removes least",
    from: 100,
    desired: 1,
    down: { ...now, selectPolicy: "Min", policies: [pods(4, 15), percent(20, 15)] },
    sizes: [96, 92],
    reason: "True ScaleDownLimit",
  },
  {
    name: "never less",
    from: 5,
    desired: 1,
    down: { ...now, selectPolicy: "Disabled" },
    sizes: [5, 5],
    reason: "True ScaleDownLimit",
  },
  {
    name: "less once a window of 30 s knows nothing higher",
    from: 5,
    desired: 1,
    down: { stabilizationWindowSeconds: 30 },
    sizes: [5, 5, 1],
    reason: "False DesiredWithinRange",
  },
  {
    name: "the flag's window where the rules name none",
    from: 5,
    desired: 1,
    down: { policies: [pods(4, 15)] },
    sizes: [5, 5, 5, 5],
    reason: "False DesiredWithinRange",
  },
];

for (const { name, from, desired, up, down, sizes, reason } of cases) {
  test(`behaviour: ${name}`, () => {
    const behavior = {
      ...(up === undefined ? {} : { scaleUp: up }),
      ...(down === undefined ? {} : { scaleDown: down }),
    };
    const run = new Run(from, behavior);
    assert.deepEqual(run.looks(desired, sizes.length), sizes);
    assert.equal(run.reasons[1], reason);
  });
}

test("what was removed may come back above the policy of growth", () => {
  const rules = { ...now, policies: [pods(2, 60)] };
  const run = new Run(10, { scaleUp: rules, scaleDown: { ...now, policies: [pods(5, 60)] } });
  assert.equal(run.look(5), 5);
  // The period began with 10: 12 are allowed.
  assert.equal(run.look(40), 12);
});

test("ten thousand looks keep an hour of them", () => {
  const run = new Run(5);
  for (let i = 0; i < 10_000; i++) run.look(5);
  assert.equal(run.history.recommended(Number.POSITIVE_INFINITY, run.nowMs).length, 241);
});
