/** One daemon per node: steps by table, updates over random lives of pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DaemonSet, Node, Pod, Taint } from "#api/gen/types.ts";
import { revisionHashLabel } from "../pods/revisions.ts";
import { pod, readyStatus } from "../testing/world.ts";
import { FailedPodBackoff } from "./backoff.ts";
import { eligibility, targetNode, templateFor } from "./eligible.ts";
import {
  daemonStatus,
  planDaemons,
  planUpdate,
  type DaemonInput,
  type DaemonPlan,
} from "./plan.ts";

const now = "2026-01-01T00:00:00Z";

function node(name: string, taints: readonly Taint[] = [], labels = {}): Node {
  return { metadata: { name, labels }, spec: { taints } };
}

const noSchedule: Taint = { key: "full", effect: "NoSchedule" };
const noExecute: Taint = { key: "broken", effect: "NoExecute" };
/** a and b fit; `full` takes no new pod, `broken` none at all. */
const nodes = [node("a"), node("b"), node("full", [noSchedule]), node("broken", [noExecute])];

/** `a+` ready on a, `a~` not ready, `ax` failed, `as` succeeded, `a-` going, `a>` meant for a; `/old` revision. */
function podOf(text: string, at: number): Pod {
  const [, name = "", state = "", revision = "new"] =
    /^([a-z0-9]+?)([+~xs>-])(?:\/(\w+))?$/.exec(text) ?? [];
  const phases: Readonly<Record<string, string>> = { x: "Failed", s: "Succeeded", ">": "Pending" };
  const phase = phases[state] ?? "Running";
  const status = "+-".includes(state) ? readyStatus(now) : { phase };
  const going = state === "-" ? { deletionTimestamp: now } : {};
  const pinned = templateFor({}, name).spec ?? { containers: [] };
  return pod(`${text}${at}`, {
    spec: state === ">" ? pinned : { containers: [], nodeName: name },
    status,
    metadata: {
      labels: { [revisionHashLabel]: revision },
      creationTimestamp: `2026-01-01T00:00:${String(10 + at)}Z`,
      ...going,
    },
  });
}

type Rolling = { maxSurge?: number | string; maxUnavailable?: number | string } | "OnDelete";

function input(pods: readonly Pod[], rolling: Rolling = {}, on = nodes): DaemonInput {
  const updateStrategy =
    rolling === "OnDelete"
      ? { type: "OnDelete" }
      : { type: "RollingUpdate", rollingUpdate: rolling };
  const set: DaemonSet = {
    metadata: { name: "web", generation: 1 },
    spec: { selector: {}, template: { spec: { containers: [] } }, updateStrategy },
  };
  return { set, nodes: on, pods, hash: "new", nowMs: Date.parse(now) };
}

function print(plan: DaemonPlan): string {
  const strip = (one: Pod): string => (one.metadata?.name ?? "").replace(/\d+$/, "");
  return [
    ...plan.create.map((name) => `make:${name}`),
    ...plan.remove.map((one) => `end:${strip(one)}`),
    ...plan.failed.map((one) => `failed:${strip(one)}`),
    ...plan.succeeded.map((one) => `succeeded:${strip(one)}`),
  ].join(" ");
}

const given = (pods: string): readonly Pod[] => pods.split(" ").filter(Boolean).map(podOf);

const steps: readonly (readonly [string, string, Rolling, string])[] = [
  ["every node that fits gets one", "", {}, "make:a make:b"],
  ["a pod meant for a node is there already", "a> b+", {}, ""],
  ["a pod that is going holds its place", "a- b+", {}, ""],
  ["a finished one on its way out does not", "b+", {}, "make:a"],
  ["a taint that repels new pods lets old ones be", "a+ b+ full+", {}, ""],
  ["one that repels all does not", "a+ b+ broken+", {}, "end:broken+"],
  ["of two the older stays", "a+ a+/old b+", {}, "end:a+/old"],
  ["a bound one before one that is not", "a> a+ b+", {}, "end:a>"],
  ["failed and succeeded ones go", "ax bs", {}, "failed:ax succeeded:bs"],
  [
    "a pod meant for a lost node goes, a bound one is left to others",
    "a+ b+ gone> lost+",
    {},
    "end:gone>",
  ],
  ["a surge keeps old and new together", "a+/old a~ b+", { maxSurge: 1 }, ""],
  ["until the new one serves", "a+/old a+ b+", { maxSurge: 1 }, "end:a+/old"],
  ["or the old one does not", "a~/old a~ b+", { maxSurge: 1 }, "end:a~/old"],
  ["a surge replaces what goes at once", "a- b+", { maxSurge: 1 }, "make:a"],
];
for (const [what, pods, rolling, expected] of steps) {
  test(`plan: ${what}`, () => {
    assert.equal(print(planDaemons(input(given(pods), rolling))), expected);
  });
}

test("a finished pod with a deletion time blocks nothing", () => {
  const ended = {
    ...podOf("ax", 0),
    metadata: { ...podOf("ax", 0).metadata, deletionTimestamp: now },
  };
  assert.equal(print(planDaemons(input([ended, ...given("b+")]))), "make:a");
});

const updates: readonly (readonly [string, string, Rolling, string])[] = [
  ["one old pod at a time", "a+/old b+/old", {}, "end:a+/old"],
  ["none while a new one is not up", "a~ b+/old", {}, ""],
  ["none while a node has none", "b+/old", {}, ""],
  ["an old one that serves nobody at once", "a~/old b+/old", {}, "end:a~/old"],
  [
    "as many as may be unavailable",
    "a+/old b+/old",
    { maxUnavailable: "100%" },
    "end:a+/old end:b+/old",
  ],
  ["on a node that takes no new pod too", "a+ b+ full+/old", {}, "end:full+/old"],
  ["never by itself when OnDelete", "a+/old b+/old", "OnDelete", ""],
  ["a surge makes new ones beside", "a+/old b+/old", { maxSurge: 1 }, "make:a"],
  ["as many as it may", "a+/old b+/old", { maxSurge: 2 }, "make:a make:b"],
  ["beyond it where the old one serves nobody", "a+/old b~/old", { maxSurge: 1 }, "make:b make:a"],
  ["a new one that is not up counts", "a+/old a~ b+/old", { maxSurge: 1 }, ""],
  [
    "an old one goes when the new one is up",
    "a+/old a+ b+/old",
    { maxSurge: 1 },
    "make:b end:a+/old",
  ],
  [
    "a pod on a node that no longer fits stays while others do not serve",
    "a+ b~ full+/old",
    { maxSurge: 1 },
    "",
  ],
  ["and goes when they do", "a+ b+ full+/old", { maxSurge: 1 }, "end:full+/old"],
];
for (const [what, pods, rolling, expected] of updates) {
  test(`update: ${what}`, () => {
    assert.equal(print(planUpdate(input(given(pods), rolling))), expected);
  });
}

test("over any lives of pods an update keeps its bounds, and ends", () => {
  const life = fc.record({ at: fc.nat(7), what: fc.constantFrom("up" as const, "gone" as const) });
  const scenario = fc.record({
    count: fc.integer({ min: 1, max: 8 }),
    maxSurge: fc.nat(3),
    maxUnavailable: fc.integer({ min: 1, max: 3 }),
    lives: fc.array(fc.array(life, { maxLength: 4 }), { maxLength: 20 }),
  });
  fc.assert(
    fc.property(scenario, ({ count, maxSurge, maxUnavailable, lives }) => {
      const on = Array.from({ length: count }, (_one, at) => node(`n${at}`));
      const rolling = maxSurge > 0 ? { maxSurge, maxUnavailable: 0 } : { maxUnavailable };
      let pods = on.map((one, at) => podOf(`${one.metadata?.name}+/old`, at));
      let made = 0;
      const step = (): void => {
        const look = input(pods, rolling, on);
        const first = planDaemons(look);
        const busy = first.create.length + first.remove.length > 0;
        const plan = busy ? first : planUpdate(look);
        const removed = new Set(plan.remove);
        pods = pods.map((one) =>
          removed.has(one)
            ? { ...one, metadata: { ...one.metadata, deletionTimestamp: now } }
            : one,
        );
        for (const name of plan.create) pods.push(podOf(`${name}~`, made++ % 50));
        const living = pods.filter((one) => one.metadata?.deletionTimestamp === undefined);
        const serving = living.filter((one) => one.status?.conditions !== undefined);
        const served = new Set(serving.map(targetNode)).size;
        assert.ok(served >= count - (maxSurge > 0 ? 0 : maxUnavailable), `${served} of ${count}`);
        assert.ok(living.length <= count + maxSurge, "too many");
      };
      const live = (name: string, what: "up" | "gone"): void => {
        pods = pods.flatMap((one) => {
          if (targetNode(one) !== name) return [one];
          const going = one.metadata?.deletionTimestamp !== undefined;
          if (going) return what === "gone" ? [] : [one];
          return [what === "up" ? { ...one, status: readyStatus(now) } : one];
        });
      };
      for (const happenings of lives) {
        for (const { at, what } of happenings) live(`n${at % count}`, what);
        step();
      }
      for (let round = 0; round < 60; round++) {
        for (const one of on)
          for (const what of ["gone", "up"] as const) live(one.metadata?.name ?? "", what);
        step();
      }
      assert.equal(pods.length, count);
      assert.ok(pods.every((one) => one.metadata?.labels?.[revisionHashLabel] === "new"));
    }),
    { numRuns: 100 },
  );
});

test("the status counts nodes, by the oldest bound pod of each", () => {
  assert.deepEqual(daemonStatus(input(given("a+/old a~ b~ full+ broken-"))), {
    currentNumberScheduled: 2,
    numberMisscheduled: 2,
    desiredNumberScheduled: 2,
    numberReady: 1,
    observedGeneration: 1,
    updatedNumberScheduled: 1,
    numberAvailable: 1,
    numberUnavailable: 1,
  });
});

const eligible: readonly (readonly [string, object, Node, boolean, boolean])[] = [
  ["a plain node", {}, node("a"), true, true],
  ["another node than the named one", { nodeName: "b" }, node("a"), false, false],
  ["a node without the wanted label", { nodeSelector: { gpu: "yes" } }, node("a"), false, false],
  ["a node with it", { nodeSelector: { gpu: "yes" } }, node("a", [], { gpu: "yes" }), true, true],
  [
    "a node outside the affinity",
    {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "gpu", operator: "Exists" }] }],
          },
        },
      },
    },
    node("a"),
    false,
    false,
  ],
  [
    "a cordoned node",
    {},
    node("a", [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }]),
    true,
    true,
  ],
  [
    "an unreachable node",
    {},
    node("a", [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }]),
    true,
    true,
  ],
  [
    "a node without network",
    {},
    node("a", [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }]),
    false,
    true,
  ],
  [
    "the same with the host's network",
    { hostNetwork: true },
    node("a", [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }]),
    true,
    true,
  ],
  [
    "a tolerated taint",
    { tolerations: [{ key: "full", operator: "Exists" }] },
    node("a", [noSchedule]),
    true,
    true,
  ],
];
for (const [what, spec, on, shouldRun, shouldContinue] of eligible) {
  test(`a daemon on ${what}: ${shouldRun ? "runs" : shouldContinue ? "may stay" : "does not run"}`, () => {
    const set = { spec: { selector: {}, template: { spec: { containers: [], ...spec } } } };
    assert.deepEqual(eligibility(set, on), { shouldRun, shouldContinue });
  });
}

test("a daemon pod is pinned by name alone and tolerates for good what would drive others out", () => {
  const brief = { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" };
  const terms = [{ matchExpressions: [{ key: "gpu", operator: "Exists" }] }];
  const required = { nodeSelectorTerms: terms };
  const made = templateFor(
    {
      spec: {
        containers: [],
        tolerations: [
          { ...brief, tolerationSeconds: 30 },
          { key: "own", operator: "Exists" },
        ],
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
      },
    },
    "n1",
  );
  const pinned = made.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  assert.deepEqual(pinned?.nodeSelectorTerms, [
    { matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] },
  ]);
  const matching = made.spec?.tolerations?.filter((one) => one.key === brief.key);
  assert.deepEqual(matching, [brief]);
  assert.equal(made.spec?.tolerations?.[0]?.key, "own");
});

test("failed daemons of a node are deleted later each time, and at once after a long quiet", () => {
  const backoff = new FailedPodBackoff();
  const waits: number[] = [];
  let nowMs = 0;
  for (let round = 0; round < 12; round++) {
    const wait = backoff.waitMs("set/1/n", nowMs);
    waits.push(wait / 1000);
    nowMs += wait;
    backoff.deleted("set/1/n", nowMs);
  }
  assert.deepEqual(waits, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900]);
  assert.equal(backoff.waitMs("set/1/other", nowMs), 0);
  assert.equal(backoff.waitMs("set/1/n", nowMs + 31 * 60_000), 0);
  backoff.forget("set/");
  assert.equal(backoff.size, 0);
});
