/** Nodes that are too old are replaced: the new node first, one at a time, and no budget is violated. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodDisruptionBudget } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Book } from "./book.ts";
import { plan } from "./plan.ts";
import { groupNode, ownedPod, snapshotOf, testCluster, testGroup, testOptions } from "./testing.ts";

const minuteMs = 60_000;
const ageMs = 60 * minuteMs;
const labels = { app: "web" };
const bornAt = (name: string, bornMs: number) => {
  const node = groupNode(name);
  return { ...node, metadata: { ...node.metadata, creationTimestamp: formatTime(bornMs) } };
};

/** `comesAfter`: loops from the request of a node to the node. */
class Fleet {
  readonly cluster = testCluster();
  readonly book = new Book();
  readonly #random = new FakeRandom(3);
  readonly #nodes = new Map<string, number>();
  readonly #comesAfter: number;
  #names = 0;
  #loop = 0;

  constructor(count: number, comesAfter: number) {
    this.#comesAfter = comesAfter;
    for (let i = 0; i < count; i++) this.#arrive(`old-${i}`);
    for (let i = 0; i < count; i++) {
      this.cluster.setPod(ownedPod(`p${i}`, { cpu: "3", labels, nodeName: `old-${i}` }));
    }
  }

  get nodes(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  get nowMs(): number {
    return this.#loop * minuteMs;
  }

  #arrive(name: string): void {
    this.#nodes.set(name, 0);
    this.cluster.setNode(bornAt(name, this.nowMs));
  }

  /** @returns nodes asked for and removed in this loop. */
  step(budget: PodDisruptionBudget): { readonly grown: number; readonly removed: string[] } {
    this.#loop++;
    for (const [name, due] of this.#nodes) {
      const isThere = this.cluster.cache.nodes.slotOf(name) !== undefined;
      if (!isThere && due <= this.#loop) this.#arrive(name);
    }
    const instances = this.nodes.map((name) => {
      return { id: `test://${name}`, state: "running" as const, error: undefined };
    });
    const group = testGroup("g", { min: 1, max: 9, target: instances.length, instances });
    const snapshot = { ...snapshotOf(this.cluster, [group], this.nowMs), budgets: [budget] };
    const options = { ...testOptions, expireAfterMs: ageMs, scaleDownEnabled: false };
    const { actions } = plan({ snapshot, book: this.book, options, random: this.#random });
    let grown = 0;
    const removed: string[] = [];
    for (const action of actions) {
      if (action.kind === "increase") {
        grown += action.delta;
        for (let i = 0; i < action.delta; i++) {
          this.#nodes.set(`new-${this.#names++}`, this.#loop + this.#comesAfter);
        }
      } else if (action.kind === "remove") {
        assert.equal(action.reason, "expired");
        removed.push(action.node.metadata?.name ?? "");
        this.#remove(removed.at(-1) ?? "");
      } else assert.fail(action.kind);
    }
    return { grown, removed };
  }

  /** The pods go to the node that is free; there must be one. */
  #remove(name: string): void {
    const { cache, algorithm } = this.cluster;
    const slot = cache.nodes.slotOf(name);
    assert.ok(slot !== undefined);
    const moved = [...cache.podsOn(slot)];
    this.cluster.deleteNode(name);
    this.#nodes.delete(name);
    for (const info of moved) {
      this.cluster.deletePod(info.pod);
      const decision = algorithm.decide(info);
      assert.ok(
        decision.kind !== "none",
        "a pod of an expired node has a place when it is evicted",
      );
      const spec = { containers: [], ...info.pod.spec, nodeName: decision.nodeName };
      this.cluster.setPod({ ...info.pod, spec });
    }
  }
}

const budgetOf = (disruptionsAllowed: number): PodDisruptionBudget => ({
  metadata: { name: "b", namespace: "a" },
  spec: { selector: { matchLabels: labels }, maxUnavailable: 1 },
  status: { disruptionsAllowed, currentHealthy: 4, desiredHealthy: 3, expectedPods: 4 },
});

for (const comesAfter of [0, 1, 5]) {
  test(`every node is replaced, one at a time, each after its replacement is there (${comesAfter} loops later)`, () => {
    const fleet = new Fleet(4, comesAfter);
    for (let loop = 0; loop < 59; loop++) assert.deepEqual(fleet.step(budgetOf(1)).removed, []);
    for (let loop = 0; loop < 50; loop++) {
      const { grown, removed } = fleet.step(budgetOf(1));
      assert.ok(removed.length <= 1 && grown <= 1);
      assert.ok(fleet.nodes.length >= 4 && fleet.nodes.length <= 5);
    }
    assert.ok(fleet.nodes.every((name) => name.startsWith("new-")));
  });
}

test("a budget that allows no disruption keeps its nodes, however old they are", () => {
  const fleet = new Fleet(4, 0);
  for (let loop = 0; loop < 100; loop++) {
    assert.deepEqual(fleet.step(budgetOf(0)), { grown: 0, removed: [] });
  }
});
