/**
 * Plans in a world of random pods and groups: nodes come late or never, pods come and go, a scheduler places pods.
 * The invariants are checked at every step, and the checks find four planted breaches.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodDisruptionBudget } from "#api/gen/types.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { makeNode, type PodShape } from "#scheduler/testing.ts";
import type { Action } from "./action.ts";
import { Book } from "./book.ts";
import type { AutoscalerOptions } from "./options.ts";
import { plan } from "./plan.ts";
import type { Group, Snapshot } from "./snapshot.ts";
import { groupNode, ownedPod, snapshotOf, testCluster, testGroup, testOptions } from "./testing.ts";

const stepMs = 30_000;
const busySteps = 60;
const quietSteps = 90;
const budgeted = { app: "budgeted" };

interface Told {
  readonly group?: (group: Group) => Group;
  readonly options?: Partial<AutoscalerOptions>;
  readonly withoutBudgets?: boolean;
}

interface ModelGroup {
  readonly id: string;
  readonly min: number;
  readonly max: number;
  readonly shape: { readonly cpu: string; readonly labels: Readonly<Record<string, string>> };
  /** Of its instances: whether they ever come. */
  readonly comes: number;
  target: number;
  readonly instances: Map<string, { dueStep: number; isThere: boolean }>;
}

class World {
  readonly cluster = testCluster();
  readonly book = new Book();
  readonly groups: ModelGroup[];
  readonly #random: FakeRandom;
  readonly #told: Told;
  #names = 0;
  step = 0;
  lastAddMs = Number.NEGATIVE_INFINITY;

  constructor(seed: number, told: Told) {
    this.#random = new FakeRandom(seed);
    this.#told = told;
    const group = (id: string, cpu: string, labels: Readonly<Record<string, string>>) => {
      const min = this.#random.below(3);
      const max = min + 4 + this.#random.below(8);
      const comes = this.#random.chance(0.2) ? 0.5 : 1;
      return { id, min, max, shape: { cpu, labels }, comes, target: 0, instances: new Map() };
    };
    this.groups = [
      group("small", "4", {}),
      group("large", "16", {}),
      group("x", "4", { pool: "x" }),
    ];
    for (const one of this.groups) this.#grow(one, one.min, true);
  }

  get nowMs(): number {
    return this.step * stepMs;
  }

  #grow(group: ModelGroup, count: number, isAtOnce = false): void {
    group.target += count;
    for (let at = 0; at < count; at++) {
      const comes = isAtOnce || this.#random.chance(group.comes);
      const dueStep = isAtOnce ? this.step : this.step + 1 + this.#random.below(3);
      const name = `${group.id}-${this.#names++}`;
      group.instances.set(name, { dueStep: comes ? dueStep : Infinity, isThere: false });
    }
  }

  arrive(): void {
    for (const { instances, shape } of this.groups) {
      for (const [name, instance] of instances) {
        if (instance.isThere || instance.dueStep > this.step) continue;
        instance.isThere = true;
        this.cluster.setNode(groupNode(name, shape));
      }
    }
  }

  /** Users: pods of any size come, some go. */
  change(): void {
    const random = this.#random;
    for (let count = random.below(6); count > 0; count--) {
      const cpu = random.chance(0.05) ? "64" : `${250 * (1 + random.below(8))}m`;
      const spec = random.chance(0.2) ? { nodeSelector: { pool: "x" } } : {};
      const labels = random.chance(0.8) ? budgeted : { app: "free" };
      const shape: PodShape = { cpu, spec, labels };
      this.cluster.setPod(ownedPod(`p${this.#names++}`, shape));
    }
    if (random.chance(0.1)) this.thin();
  }

  /** Most pods that run end. */
  thin(): void {
    const { cache } = this.cluster;
    for (const slot of cache.nodes.live.slice(0, cache.nodes.size)) {
      for (const { pod } of Array.from(cache.podsOn(slot))) {
        if (this.#random.chance(0.6)) this.cluster.deletePod(pod);
      }
    }
  }

  /** @returns whether every pending pod was placed. */
  schedule(): boolean {
    let isWhole = true;
    for (const info of this.cluster.pending) {
      const decision = this.cluster.algorithm.decide(info);
      if (decision.kind === "none") isWhole = false;
      else
        this.cluster.setPod({
          ...info.pod,
          spec: {
            ...info.pod.spec,
            containers: info.pod.spec?.containers ?? [],
            nodeName: decision.nodeName,
          },
        });
    }
    return isWhole;
  }

  snapshot(): Snapshot {
    const groups = this.groups.map((one) => {
      const { id, min, max, target, instances, shape } = one;
      const list = [...instances].map(([name, { isThere }]) => ({
        id: `test://${name}`,
        state: isThere ? ("running" as const) : ("creating" as const),
        error: undefined,
      }));
      const template = makeNode(`${id}-template`, shape);
      const options = { ...testOptions.group, scaleDownUnneededMs: 2 * stepMs };
      const group = testGroup(id, { min, max, target, instances: list, template, options });
      return this.#told.group?.(group) ?? group;
    });
    const budget: PodDisruptionBudget = {
      metadata: { name: "b", namespace: "a" },
      spec: { selector: { matchLabels: budgeted }, minAvailable: 1 },
      status: { disruptionsAllowed: 1, currentHealthy: 9, desiredHealthy: 8, expectedPods: 9 },
    };
    const budgets = this.#told.withoutBudgets === true ? [] : [budget];
    return { ...snapshotOf(this.cluster, groups, this.nowMs), budgets };
  }

  carryOut(actions: readonly Action[]): void {
    for (const action of actions) {
      if (!("group" in action)) continue;
      const { group: id } = action;
      const group = this.groups.find((one) => one.id === id);
      assert.ok(group !== undefined);
      if (action.kind === "increase") {
        this.#grow(group, action.delta);
        this.book.added(group.id, action.delta, this.nowMs);
        this.lastAddMs = this.nowMs;
      } else if (action.kind === "decrease") group.target += action.delta;
      else if (action.kind === "delete-instances") {
        for (const id of action.ids) this.#drop(group, id.replace("test://", ""));
      } else this.#remove(group, action.node.metadata?.name ?? "");
    }
  }

  #remove(group: ModelGroup, name: string): void {
    const slot = this.cluster.cache.nodes.slotOf(name);
    assert.ok(slot !== undefined, `${name} is there`);
    for (const { pod } of Array.from(this.cluster.cache.podsOn(slot))) {
      this.cluster.deletePod(pod);
      const { nodeName: _, ...spec } = pod.spec ?? { containers: [] };
      const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
      this.cluster.setPod({ ...pod, spec, status: { phase: "Pending", conditions: [condition] } });
    }
    this.cluster.deleteNode(name);
    this.book.lastDeleteMs = this.nowMs;
    this.#drop(group, name);
  }

  #drop(group: ModelGroup, name: string): void {
    if (group.instances.delete(name)) group.target--;
  }
}

/** @returns the first breach, or undefined. */
function run(seed: number, told: Told = {}): string | undefined {
  const world = new World(seed, told);
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
    const { actions } = plan({ snapshot: world.snapshot(), book: world.book, options, random });
    const breach = breachOf(world, actions, isEarly);
    if (breach !== undefined) return `step ${world.step}: ${breach}`;
    world.carryOut(actions);
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
