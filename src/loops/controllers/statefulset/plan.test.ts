/** The order of a StatefulSet: steps by table, and its promises over random lives of pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Pod, StatefulSet } from "#api/gen/types.ts";
import { revisionHashLabel } from "../pods/revisions.ts";
import { pod, readyStatus } from "../testing/world.ts";
import { planStateful, type StatefulInput } from "./plan.ts";
import { statefulStatus } from "./status.ts";

const now = "2026-01-01T00:00:00Z";

/** `0+` ready, `0~` not ready, `0x` failed, `0-` ready but going; `/a` revision, default `new`. */
function podOf(text: string): Pod {
  const [, ordinal = "", state = "", revision = "new"] =
    /^(\d+)([+~x-])(?:\/(\w+))?$/.exec(text) ?? [];
  const going = state === "-" ? { deletionTimestamp: now } : {};
  const status =
    state === "x" ? { phase: "Failed" } : state === "~" ? { phase: "Running" } : readyStatus(now);
  const labels = { [revisionHashLabel]: revision };
  return pod(`web-${ordinal}`, { status, metadata: { labels, ...going } });
}

interface Fields {
  readonly replicas: number;
  readonly parallel?: boolean;
  readonly partition?: number;
  readonly start?: number;
  readonly onDelete?: boolean;
}

function input(fields: Fields, pods: readonly Pod[]): StatefulInput {
  const { replicas, parallel = false, partition = 0, start = 0, onDelete = false } = fields;
  const set: StatefulSet = {
    metadata: { name: "web", generation: 1 },
    spec: {
      replicas,
      selector: {},
      template: {},
      ordinals: { start },
      podManagementPolicy: parallel ? "Parallel" : "OrderedReady",
      updateStrategy: onDelete
        ? { type: "OnDelete" }
        : { type: "RollingUpdate", rollingUpdate: { partition } },
    },
  };
  const nowMs = Date.parse(now);
  const revisions = { currentRevision: "old", updateRevision: "new" };
  return { set, pods, ...revisions, collisions: 0, nowMs };
}

function planned(fields: Fields, pods: string): string {
  const plan = planStateful(input(fields, pods.split(" ").filter(Boolean).map(podOf)));
  const create = plan.create.map(({ ordinal, revision }) => `+${ordinal}/${revision}`);
  const remove = plan.remove.map((one) => `-${one.metadata?.name?.slice("web-".length)}`);
  return [...create, ...remove].join(" ");
}

const steps: readonly (readonly [string, Fields, string, string])[] = [
  ["the first pod", { replicas: 3 }, "", "+0/new"],
  ["nothing while it is not ready", { replicas: 3 }, "0~", ""],
  ["then the next", { replicas: 3 }, "0+", "+1/new"],
  ["nothing above a pod that is going", { replicas: 3 }, "0+ 1-", ""],
  ["a failed pod goes, to be made anew", { replicas: 2 }, "0x 1+", "-0"],
  ["all at once in parallel", { replicas: 3, parallel: true }, "1+", "+0/new +2/new"],
  ["start moves the ordinals", { replicas: 2, start: 5 }, "5+", "+6/new"],
  ["a pod below start is surplus", { replicas: 1, start: 5 }, "0+ 5+", "-0"],
  ["surplus goes from the top, one by one", { replicas: 1 }, "0+ 1+ 2+", "-2"],
  ["not before the one above has gone", { replicas: 1 }, "0+ 1+ 2-", ""],
  ["not while a wanted pod is down", { replicas: 1 }, "0~ 1+", ""],
  [
    "a surplus pod that never got up goes when it is the lowest such",
    { replicas: 1 },
    "0+ 1~",
    "-1",
  ],
  ["or waits for the lower one", { replicas: 1 }, "0+ 1~ 2~", ""],
  ["surplus goes at once in parallel", { replicas: 1, parallel: true }, "0+ 1+ 2+ 3-", "-2 -1"],
  ["an update starts at the top", { replicas: 3 }, "0+/old 1+/old 2+/old", "-2"],
  ["and goes on when that is up", { replicas: 3 }, "0+/old 1+/old 2+", "-1"],
  ["it waits while it is not", { replicas: 3, parallel: true }, "0+/old 1+/old 2~", ""],
  ["a partition keeps the lower ones", { replicas: 3, partition: 2 }, "0+/old 1+/old 2+", ""],
  [
    "a lost pod below the partition comes back as it was",
    { replicas: 2, partition: 1 },
    "1+",
    "+0/old",
  ],
  [
    "in parallel a broken old pod does not stop the update",
    { replicas: 3, parallel: true },
    "0~/old 1+/old 2+/old",
    "-2",
  ],
  ["OnDelete updates nothing by itself", { replicas: 2, onDelete: true }, "0+/old 1+/old", ""],
  ["but what is made is new", { replicas: 2, onDelete: true }, "0+/old", "+1/new"],
  ["a rest is a rest", { replicas: 2 }, "0+ 1+", ""],
];
for (const [what, fields, pods, expected] of steps) {
  test(`plan: ${what}`, () => {
    assert.equal(planned(fields, pods), expected);
  });
}

test("in order: over any lives of pods one is on its way at most, and nothing comes before its elders", () => {
  const life = fc.record({ at: fc.nat(6), what: fc.constantFrom("ready", "fail", "lose", "gone") });
  const scenario = fc.record({
    replicas: fc.integer({ min: 0, max: 6 }),
    later: fc.integer({ min: 0, max: 6 }),
    lives: fc.array(life, { maxLength: 60 }),
  });
  fc.assert(
    fc.property(scenario, ({ replicas, later, lives }) => {
      let pods: readonly Pod[] = [];
      const number = (one: Pod): number => Number(one.metadata?.name?.slice("web-".length));
      const step = (wanted: number): void => {
        const given = input({ replicas: wanted }, pods);
        const plan = planStateful(given);
        assert.ok(plan.create.length + plan.remove.length <= 1, "one at a time");
        for (const { ordinal } of plan.create) {
          assert.equal(
            statefulStatus({ ...given, pods: pods.filter((one) => number(one) < ordinal) })
              .availableReplicas,
            ordinal,
          );
          pods = [...pods, podOf(`${ordinal}~`)];
        }
        for (const gone of plan.remove) {
          const above = pods.filter((one) => number(one) > number(gone));
          const finished = gone.status?.phase === "Failed";
          if (!finished) assert.deepEqual(above, []);
          pods = pods.map((one) => (one === gone ? podOf(`${number(one)}-`) : one));
        }
      };
      lives.forEach(({ at, what }, round) => {
        pods = pods.flatMap((one) => {
          const going = one.metadata?.deletionTimestamp !== undefined;
          if (number(one) !== at) return [one];
          if (what === "gone") return going ? [] : [one];
          if (going) return [one];
          return [podOf(`${at}${what === "ready" ? "+" : what === "fail" ? "x" : "~"}`)];
        });
        step(round < lives.length / 2 ? replicas : later);
      });
      for (let round = 0; round < 40; round++) {
        pods = pods
          .filter((one) => one.metadata?.deletionTimestamp === undefined)
          .map((one) => (one.status?.phase === "Failed" ? one : podOf(`${number(one)}+`)));
        step(later);
      }
      assert.deepEqual(
        pods.map(number).toSorted(),
        Array.from({ length: later }, (_one, at) => at),
      );
    }),
    { numRuns: 100 },
  );
});

const statuses: readonly (readonly [string, Fields, string, object])[] = [
  [
    "in the middle of an update",
    { replicas: 3 },
    "0+/old 1-/old 2~",
    {
      replicas: 3,
      readyReplicas: 2,
      availableReplicas: 2,
      currentReplicas: 1,
      updatedReplicas: 1,
      currentRevision: "old",
    },
  ],
  [
    "at its end the update revision is the current one",
    { replicas: 2 },
    "0+ 1+",
    {
      replicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      currentReplicas: 2,
      updatedReplicas: 2,
      currentRevision: "new",
    },
  ],
  [
    "OnDelete never says so",
    { replicas: 1, onDelete: true },
    "0+",
    {
      replicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
      updatedReplicas: 1,
      currentRevision: "old",
    },
  ],
  [
    "without pods",
    { replicas: 0 },
    "",
    { replicas: 0, availableReplicas: 0, currentRevision: "new" },
  ],
];
for (const [what, fields, pods, expected] of statuses) {
  test(`status: ${what}`, () => {
    const given = input(fields, pods.split(" ").filter(Boolean).map(podOf));
    assert.deepEqual(statefulStatus(given), {
      observedGeneration: 1,
      collisionCount: 0,
      updateRevision: "new",
      ...expected,
    });
  });
}
