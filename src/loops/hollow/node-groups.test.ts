/** Node groups keep their bounds, their ramp and their quota, whatever is asked for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeRandom } from "#platform/testing/random.ts";
import type { FailureProgram, NodeGroupSpec } from "./node-group-spec.ts";
import { NodeGroups } from "./node-groups.ts";

const plain: NodeGroupSpec = {
  name: "a",
  min: 0,
  max: 10,
  initial: 0,
  shape: { cpu: "4" },
  labels: {},
  taints: [],
  zones: [],
  price: undefined,
  start: { leastMs: 0, mostMs: 0 },
  failures: [],
  quota: undefined,
  rampPercentPerMinute: undefined,
};

function groupsOf(specs: readonly Partial<NodeGroupSpec>[], quotas = {}): NodeGroups {
  const groups = specs.map((spec) => ({ ...plain, ...spec }));
  const made = new NodeGroups(
    { random: new FakeRandom(7) },
    { groups, quotas },
    { nowMs: 0, firstIndex: 0 },
  );
  made.begin(0);
  return made;
}

const always = (kind: FailureProgram["kind"]): FailureProgram[] => [
  { kind, share: 1, fromMs: 0, untilMs: Number.POSITIVE_INFINITY },
];

test("a group stays within its bounds and its target is its instances, whatever is asked for", () => {
  const call = fc.record({
    verb: fc.constantFrom("increase", "delete", "decrease", "step", "gone"),
    delta: fc.integer({ min: -4, max: 12 }),
    waitMs: fc.integer({ min: 0, max: 90_000 }),
  });
  const spec = { min: 2, max: 8, initial: 3, start: { leastMs: 0, mostMs: 60_000 } };
  fc.assert(
    fc.property(fc.array(call, { maxLength: 60 }), (calls) => {
      const groups = groupsOf([{ ...spec, rampPercentPerMinute: 50 }]);
      let nowMs = 0;
      let hasLost = false;
      for (const { verb, delta, waitMs } of calls) {
        nowMs += waitMs;
        const names = (groups.instances("a") ?? []).map(({ name }) => name);
        if (verb === "increase") groups.increase("a", delta, nowMs);
        else if (verb === "delete") groups.deleteNodes("a", names.slice(0, Math.max(0, delta)));
        else if (verb === "decrease") groups.decreaseTarget("a", delta);
        else if (verb === "step") groups.step(nowMs);
        else {
          hasLost ||= names.length > 0;
          for (const name of names.slice(0, 1)) groups.nodeGone(name);
        }
        const size = groups.target("a") ?? -1;
        assert.ok(size <= 8 && (hasLost || size >= 2), `${size} after ${verb} ${delta}`);
        assert.equal(size, groups.instances("a")?.length);
      }
    }),
  );
});

test("within a minute at most the ramp's share of a group starts", () => {
  const groups = groupsOf([{ initial: 4, max: 100, rampPercentPerMinute: 50 }]);
  const running = (nowMs: number): number => {
    groups.step(nowMs);
    return (groups.instances("a") ?? []).filter(({ state }) => state === "running").length;
  };
  // The group is new: of nothing half is one node at least.
  assert.equal(running(0), 1);
  groups.increase("a", 20, 1_000);
  const sizes = [1, 61, 122, 183, 244, 305].map((seconds) => running(seconds * 1_000));
  assert.deepEqual(sizes, [1, 2, 3, 4, 6, 9]);
});

test("a start time is waited for, and the next step is named", () => {
  const groups = groupsOf([{ start: { leastMs: 5_000, mostMs: 5_000 } }]);
  groups.increase("a", 1, 0);
  assert.deepEqual(groups.step(4_999), []);
  assert.equal(groups.nextStepMs(4_999), 1);
  assert.equal(groups.step(5_000).length, 1);
});

test("failure programs refuse, hang, lose nodes and show errors", () => {
  const groups = groupsOf([
    { name: "refuse", failures: always("refuse") },
    { name: "hang", failures: always("hang") },
    { name: "never", failures: always("never") },
    { name: "error", failures: always("error") },
  ]);
  assert.deepEqual(groups.increase("refuse", 1, 0), {
    kind: "refused",
    code: "out-of-resources",
    message: "refuse is out of stock",
  });
  assert.equal(groups.increase("hang", 1, 0).kind, "hang");
  assert.equal(groups.increase("never", 1, 0).kind, "ok");
  assert.equal(groups.increase("error", 1, 0).kind, "ok");
  assert.deepEqual(groups.step(1e9), []);
  assert.equal(groups.instances("never")?.[0]?.error, undefined);
  assert.equal(groups.instances("error")?.[0]?.error?.code, "OUT_OF_STOCK");
});

test("groups of one quota share it: what is beyond it shows an error and never comes", () => {
  const groups = groupsOf(
    [
      { name: "a", quota: "q" },
      { name: "b", quota: "q" },
    ],
    { q: 3 },
  );
  groups.increase("a", 2, 0);
  groups.increase("b", 2, 0);
  assert.equal(groups.step(1).length, 3);
  const errors = (groups.instances("b") ?? []).map(({ error }) => error?.code);
  assert.deepEqual(errors, [undefined, "QUOTA_EXCEEDED"]);
});

test("nodes of an earlier process are taken over as far as the group has room", () => {
  const groups = groupsOf([{ max: 2, zones: ["x", "y"] }]);
  assert.ok(groups.adopt("a-7", "a", 7));
  assert.ok(groups.adopt("a-9", "a", 9));
  assert.ok(!groups.adopt("a-11", "a", 11));
  assert.ok(!groups.adopt("b-1", "b", 1));
  assert.equal(groups.groupOf("a-7")?.name, "a");
  assert.equal(groups.increase("a", 1, 0).kind, "refused");
});
