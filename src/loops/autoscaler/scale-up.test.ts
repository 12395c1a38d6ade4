/** Which groups grow: alike ones in step, by priority, and up to their minimum, within every bound. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { makeNode } from "#scheduler/testing.ts";
import { Book } from "./book.ts";
import type { AutoscalerOptions } from "./options.ts";
import { plan } from "./plan.ts";
import type { Group, Snapshot } from "./snapshot.ts";
import { ownedPod, snapshotOf, testCluster, testGroup, testOptions } from "./testing.ts";

/** What is asked of each group for pods of three cores; a node has four. */
function grown(
  groups: readonly Group[],
  { pods = 0, book = new Book(), ...more }: Asked,
): Record<string, number> {
  const cluster = testCluster();
  for (let i = 0; i < pods; i++) cluster.setPod(ownedPod(`p${i}`, { cpu: "3" }));
  const snapshot = { ...snapshotOf(cluster, groups), ...more.snapshot };
  const options = { ...testOptions, ...more.options };
  const asked = new Map<string, number>();
  for (const action of plan({ snapshot, book, options, random: new FakeRandom(1) }).actions) {
    assert.equal(action.kind, "increase");
    if (action.kind !== "increase") continue;
    assert.ok(!asked.has(action.group), "a group is asked once in a loop");
    assert.ok(action.from + action.delta <= action.max);
    asked.set(action.group, action.delta);
  }
  return Object.fromEntries(asked);
}

interface Asked {
  readonly pods?: number;
  readonly book?: Book;
  readonly options?: Partial<AutoscalerOptions>;
  readonly snapshot?: Partial<Snapshot>;
}

const zoned = (id: string, zone: string, more: Partial<Group> = {}): Group =>
  testGroup(id, { template: makeNode(`${id}-template`, { zone }), ...more });

test("groups that differ by zone alone grow in step, the smallest first, each within its maximum", () => {
  const balance = { balanceSimilarNodeGroups: true };
  const three = ["a", "b", "c"].map((zone) => zoned(zone, zone));
  assert.deepEqual(grown(three, { pods: 9, options: balance }), { a: 3, b: 3, c: 3 });
  const uneven = [zoned("a", "a", { target: 0, max: 2 }), zoned("b", "b"), zoned("c", "c")];
  assert.deepEqual(grown(uneven, { pods: 10, options: balance }), { a: 2, b: 4, c: 4 });
  const one = grown(three, { pods: 9 });
  assert.deepEqual(Object.values(one), [9], "without the flag one group grows");
});

test("groups of another size, with other labels or other taints are not alike", () => {
  const balance = { balanceSimilarNodeGroups: true };
  const others: readonly Parameters<typeof makeNode>[1][] = [
    { zone: "b", cpu: "5" },
    { zone: "b", labels: { pool: "x" } },
    { zone: "b", taints: [{ key: "soft", effect: "PreferNoSchedule" }] },
  ];
  for (const shape of others) {
    const groups = [zoned("a", "a"), testGroup("b", { template: makeNode("t", shape) })];
    assert.equal(Object.keys(grown(groups, { pods: 6, options: balance })).length, 1);
  }
  const nearly = { zone: "b", cpu: "3900m", memory: "16200Mi" };
  const groups = [zoned("a", "a"), testGroup("b", { template: makeNode("t", nearly) })];
  assert.deepEqual(grown(groups, { pods: 6, options: balance }), { a: 3, b: 3 });
});

test("the priority expander takes the highest priority that a pattern gives, and the next one when it is full", () => {
  const priorities = new Map([
    [10, [/^spot-/]],
    [50, [/^reserved$/, /^none$/]],
  ]);
  const snapshot = { priorities };
  const options = { expanders: ["priority" as const] };
  const groups = [testGroup("demand"), testGroup("spot-1"), testGroup("reserved", { max: 2 })];
  assert.deepEqual(grown(groups, { pods: 2, options, snapshot }), { reserved: 2 });
  assert.deepEqual(grown(groups, { pods: 5, options, snapshot }), { reserved: 2, "spot-1": 3 });
});

test("a group below its minimum is lifted once, within every limit, and pods wait for those nodes", () => {
  const options = { enforceNodeGroupMinSize: true };
  const low = testGroup("low", { min: 3, max: 3 });
  assert.deepEqual(grown([low], { options }), { low: 3 });
  assert.deepEqual(grown([low], { pods: 3, options }), { low: 3 });
  assert.deepEqual(grown([low, testGroup("b")], { pods: 4, options }), { low: 3, b: 1 });
  assert.deepEqual(grown([low], { options: { ...options, maxNodesTotal: 2 } }), { low: 2 });
  const huge = testGroup("huge", { min: 2 ** 31, max: 2 ** 31 });
  assert.deepEqual(grown([huge], { options }), { huge: 1_000 });
  const book = new Book();
  book.fail("low", { code: "x", message: "" }, 0, testOptions);
  assert.deepEqual(grown([low], { options, book }), {}, "a group that failed rests");
});
