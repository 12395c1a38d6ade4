/**
 * A world for plans: random pods and groups; nodes come late or never, pods come and go, a scheduler places pods. Budgets are
 * the API server's to keep: a node whose pods it does not let go stays.
 */
import assert from "node:assert/strict";
import type { PodDisruptionBudget } from "#api/gen/types.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { makeNode, type PodShape } from "#scheduler/testing.ts";
import type { Action } from "../action.ts";
import type { Book } from "../book.ts";
import type { Group, Snapshot } from "../snapshot.ts";
import {
  groupNode,
  ownedPod,
  snapshotOf,
  testCluster,
  testGroup,
  testOptions,
} from "../testing.ts";

const stepMs = 30_000;
export const budgeted = { app: "budgeted" };

/** False inputs by which a model proves that its checks detect errors. */
interface Told {
  readonly group?: (group: Group) => Group;
  readonly withoutBudgets?: boolean;
}

interface ModelGroup {
  readonly id: string;
  readonly min: number;
  readonly max: number;
  readonly shape: { readonly cpu: string; readonly labels: Readonly<Record<string, string>> };
  /** Probability that a new instance ever registers. */
  readonly comes: number;
  target: number;
  readonly instances: Map<string, { dueStep: number; isThere: boolean }>;
}

export class World {
  readonly cluster = testCluster();
  /** Groups of the provider. */
  readonly groups: ModelGroup[];
  readonly #random: FakeRandom;
  readonly #told: Told;
  #names = 0;
  step = 0;
  lastAddMs = Number.NEGATIVE_INFINITY;

  constructor(seed: number, told: Told = {}) {
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

  /** Acts as users: creates pods of any size, and deletes some. */
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

  /** Ends most of the running pods. */
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

  /** Makes the snapshot that an autoscaler responsible for these groups sees. */
  snapshot(isOwn: (id: string) => boolean = () => true): Snapshot {
    const groups = this.groups.map((one) => {
      const { id, min, max, target, instances, shape } = one;
      const list = [...instances].map(([name, { isThere }]) => ({
        id: `test://${name}`,
        state: isThere ? ("running" as const) : ("creating" as const),
        error: undefined,
      }));
      const template = makeNode(`${id}-template`, shape);
      const options = { ...testOptions.group, scaleDownUnneededMs: 2 * stepMs };
      const group = testGroup(id, {
        min,
        max,
        target,
        instances: list,
        template,
        options,
        isOwn: isOwn(id),
      });
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

  /** Carries out a plan. `book`: the book of the autoscaler that made it. */
  carryOut(actions: readonly Action[], book: Book): void {
    for (const action of actions) {
      if (!("group" in action)) continue;
      const { group: id } = action;
      const group = this.groups.find((one) => one.id === id);
      assert.ok(group !== undefined);
      if (action.kind === "increase") {
        this.#grow(group, action.delta);
        book.added(group.id, action.delta, this.nowMs);
        this.lastAddMs = this.nowMs;
      } else if (action.kind === "decrease") group.target += action.delta;
      else if (action.kind === "delete-instances") {
        for (const id of action.ids) this.#drop(group, id.replace("test://", ""));
      } else this.#remove(group, action.node.metadata?.name ?? "", book);
    }
  }

  #remove(group: ModelGroup, name: string, book: Book): void {
    const slot = this.cluster.cache.nodes.slotOf(name);
    assert.ok(slot !== undefined, `${name} is there`);
    for (const { pod } of Array.from(this.cluster.cache.podsOn(slot))) {
      this.cluster.deletePod(pod);
      const { nodeName: _, ...spec } = pod.spec ?? { containers: [] };
      const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
      this.cluster.setPod({ ...pod, spec, status: { phase: "Pending", conditions: [condition] } });
    }
    this.cluster.deleteNode(name);
    book.lastDeleteMs = this.nowMs;
    this.#drop(group, name);
  }

  /** Whether every promised node comes. */
  get isHonest(): boolean {
    return this.groups.every(({ comes }) => comes === 1);
  }

  /** Number of pods without a node that fit on a fresh node of a group with room. */
  helpable(): number {
    const { algorithm, cache } = this.cluster;
    let count = 0;
    for (const { id, target, max, shape } of this.groups) {
      if (target >= max) continue;
      const slot = cache.setNode(groupNode(`${id}-fresh`, shape));
      for (const info of this.cluster.pending) if (algorithm.passes(info, slot)) count++;
      cache.deleteNode(`${id}-fresh`);
    }
    return count;
  }

  #drop(group: ModelGroup, name: string): void {
    if (group.instances.delete(name)) group.target--;
  }
}
