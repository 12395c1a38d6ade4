/** Each finished pod counts once, wherever the work is cut short. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Job, JobStatus, Pod } from "#api/gen/types.ts";
import { pod } from "../testing/world.ts";
import { countOf, formatIndexes } from "./indexes.ts";
import {
  goingOn,
  tallyPods,
  tallyStatus,
  uncountedMax,
  type Tally,
  type TallyOptions,
} from "./tally.ts";
import { indexAnnotation, isTracked, trackingFinalizer } from "./tracked.ts";

interface Fields {
  readonly phase?: string;
  readonly index?: number;
  readonly going?: boolean;
  readonly free?: boolean;
  readonly exitCode?: number;
}

function podOf(name: string, fields: Fields): Pod {
  const { phase = "Running", index, going = false, free = false, exitCode } = fields;
  const terminated = { exitCode: exitCode ?? 0 };
  const containerStatuses = [
    { name: "main", image: "", imageID: "", ready: false, restartCount: 0, state: { terminated } },
  ];
  return pod(name, {
    status: { phase, ...(exitCode === undefined ? {} : { containerStatuses }) },
    metadata: {
      finalizers: free ? [] : [trackingFinalizer],
      ...(index === undefined ? {} : { annotations: { [indexAnnotation]: String(index) } }),
      ...(going ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
  });
}

function jobOf(spec: Partial<NonNullable<Job["spec"]>> = {}, status: JobStatus = {}): Job {
  return { metadata: { name: "work" }, spec: { template: {}, ...spec }, status };
}

const indexed = { completionMode: "Indexed", completions: 4 };
const ignoring = {
  podFailurePolicy: {
    rules: [{ action: "Ignore", onExitCodes: { operator: "In", values: [42] } }],
  },
};

function print(tally: Tally): string {
  const { succeeded, failed, uncounted, completed, release } = tally;
  const list = (uids: readonly string[]): string => uids.map((uid) => uid.slice(4)).join(",");
  return [
    `${succeeded}+${list(uncounted.succeeded)}`,
    `${failed}+${list(uncounted.failed)}`,
    formatIndexes(completed),
    release.map((one) => one.metadata?.name).join(","),
  ].join(" | ");
}

const rounds: readonly (readonly [
  string,
  Job,
  Readonly<Record<string, Fields>>,
  string,
  TallyOptions?,
])[] = [
  ["running pods count for nothing", jobOf(), { a: {} }, "0+ | 0+ |  | "],
  ["an ended pod is written down", jobOf(), { a: { phase: "Succeeded" } }, "0+a | 0+ |  | a"],
  [
    "and counted once it has lost the finalizer",
    jobOf({}, { succeeded: 2, uncountedTerminatedPods: { succeeded: ["uid-a"] } }),
    { a: { phase: "Succeeded", free: true } },
    "3+ | 0+ |  | ",
  ],
  [
    "or is gone",
    jobOf({}, { uncountedTerminatedPods: { failed: ["uid-a"] } }),
    {},
    "0+ | 1+ |  | ",
  ],
  [
    "until then it waits",
    jobOf({}, { uncountedTerminatedPods: { succeeded: ["uid-a"] } }),
    { a: { phase: "Succeeded" } },
    "0+a | 0+ |  | a",
  ],
  [
    "a pod without the finalizer was counted before",
    jobOf(),
    { a: { phase: "Failed", free: true } },
    "0+ | 0+ |  | ",
  ],
  ["a pod that is deleted has failed", jobOf(), { a: { going: true } }, "0+ | 0+a |  | a"],
  [
    "unless it must end first",
    jobOf({ podReplacementPolicy: "Failed" }),
    { a: { going: true } },
    "0+ | 0+ |  | ",
  ],
  [
    "an ignored failure is let go uncounted",
    jobOf(ignoring),
    { a: { phase: "Failed", exitCode: 42 }, b: { phase: "Failed", exitCode: 1 } },
    "0+ | 0+b |  | a,b",
  ],
  [
    "of an Indexed Job the index is the count",
    jobOf(indexed, { completedIndexes: "0" }),
    { a: { phase: "Succeeded", index: 1 }, b: { phase: "Succeeded", index: 0 } },
    "2+ | 0+ | 0,1 | a,b",
  ],
  [
    "a pod with an index that is none counts for nothing",
    jobOf(indexed),
    { a: { phase: "Succeeded", index: 9 }, b: { phase: "Failed" } },
    "0+ | 0+ |  | a,b",
  ],
  [
    "when the Job fails all its pods have failed",
    jobOf(),
    { a: {}, b: { phase: "Succeeded" } },
    "0+b | 0+a |  | a,b",
    { ...goingOn, ending: "Failed" },
  ],
  [
    "when it is complete those still at work are let go",
    jobOf(),
    { a: {}, b: { phase: "Succeeded" } },
    "0+b | 0+ |  | a,b",
    { ...goingOn, ending: "Complete" },
  ],
  [
    "a held pod stays, unwritten",
    jobOf(indexed),
    { a: { phase: "Failed", index: 1 } },
    "0+ | 0+ |  | ",
    { ...goingOn, held: new Set(["uid-a"]) },
  ],
];
for (const [what, job, pods, expected, options = goingOn] of rounds) {
  test(`tally: ${what}`, () => {
    const list = Object.entries(pods).map(([name, fields]) => podOf(name, fields));
    assert.equal(print(tallyPods(job, list, options)), expected);
  });
}

test("a round writes down no more than its bound, and says that there is more", () => {
  const pods = Array.from({ length: uncountedMax + 7 }, (_one, at) =>
    podOf(`p${at}`, { phase: "Succeeded" }),
  );
  const tally = tallyPods(jobOf(), pods, goingOn);
  assert.equal(tally.uncounted.succeeded.length, uncountedMax);
  assert.equal(tally.release.length, uncountedMax);
  assert.equal(tally.hasMore, true);
  assert.equal(tally.total.succeeded, uncountedMax + 7);
});

test("the status always carries uncountedTerminatedPods, empty or not", () => {
  assert.deepEqual(tallyStatus(jobOf(), tallyPods(jobOf(), [], goingOn)), {
    uncountedTerminatedPods: {},
  });
});

/** What may happen in a life of a Job between two looks at it. */
const happening = fc.record({
  what: fc.constantFrom("end", "fail", "delete", "vanish", "look", "lookOld"),
  at: fc.nat(9),
  /** How far a look gets: nothing, the status, or that many finalizers after it. */
  reach: fc.integer({ min: -1, max: 10 }),
});

for (const mode of ["NonIndexed", "Indexed"]) {
  test(`${mode}: over any lives, crashes and stale looks each pod is counted exactly once`, () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60 }), (happenings) => {
        const spec = mode === "Indexed" ? { completionMode: mode, completions: 10 } : {};
        let status: JobStatus = {};
        let pods = Array.from({ length: 10 }, (_one, at) =>
          podOf(`p${at}`, mode === "Indexed" ? { index: at } : {}),
        );
        let stale = { status, pods };
        const fate = new Map<string, "succeeded" | "failed">();
        const change = (at: number, f: (one: Pod) => Pod | undefined): void => {
          pods = pods.flatMap((one) => (one.metadata?.name === `p${at}` ? (f(one) ?? []) : [one]));
        };
        const look = (reach: number): void => {
          if (reach < 0) return;
          const tally = tallyPods(jobOf(spec, status), pods, goingOn);
          for (const one of tally.release)
            if (!fate.has(one.metadata?.uid ?? ""))
              fate.set(
                one.metadata?.uid ?? "",
                one.status?.phase === "Succeeded" ? "succeeded" : "failed",
              );
          status = { ...tallyStatus(jobOf(spec), tally) };
          for (const one of tally.release.slice(0, reach))
            change(Number(one.metadata?.name?.slice(1)), (now) =>
              now.metadata?.deletionTimestamp === undefined
                ? { ...now, metadata: { ...now.metadata, finalizers: [] } }
                : undefined,
            );
        };
        const running = (one: Pod): boolean => one.status?.phase === "Running";
        for (const { what, at, reach } of happenings) {
          if (what === "look") look(reach);
          else if (what === "lookOld") {
            // A write by an old status is refused as a conflict: nothing of it happens.
            tallyPods(jobOf(spec, stale.status), stale.pods, goingOn);
            stale = { status, pods };
          } else if (what === "vanish") {
            change(at, (one) => (isTracked(one) ? one : undefined));
          } else if (what === "delete") {
            const deletionTimestamp = "2026-01-01T00:00:00Z";
            change(at, (one) => ({ ...one, metadata: { ...one.metadata, deletionTimestamp } }));
          } else {
            const phase = what === "end" ? "Succeeded" : "Failed";
            change(at, (one) => (running(one) ? { ...one, status: { phase } } : one));
          }
        }
        for (let at = 0; at < 10; at++)
          change(at, (one) => (running(one) ? { ...one, status: { phase: "Succeeded" } } : one));
        for (let round = 0; round < 5; round++) look(10);
        const { succeeded = 0, failed = 0, uncountedTerminatedPods } = status;
        assert.deepEqual(uncountedTerminatedPods, {});
        assert.equal(succeeded + failed, 10);
        const expected = [...fate.values()].filter((one) => one === "succeeded").length;
        assert.equal(succeeded, expected);
        const final = tallyPods(jobOf(spec, status), pods, goingOn);
        assert.deepEqual(final.release, []);
        if (mode === "Indexed") assert.equal(countOf(final.completed), succeeded);
      }),
      { numRuns: 300 },
    );
  });
}
