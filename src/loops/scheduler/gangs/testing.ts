/** Groups for tests: a PodGroup of either form, and its Pods. */
import type { Pod, PodGroupSpec } from "#api/gen/types.ts";
import { assert } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { makePod, type PodShape } from "../testing.ts";

import type { InTurns } from "./decide-gang.ts";
import { groupRefs } from "./group-sources.ts";

export function serveGroups(api: FakeApi): void {
  for (const { group, resource, version } of Object.values(groupRefs)) {
    api.answer(`/apis/${group}/${version}`, { resources: [{ name: resource }] });
  }
}

export function putGroup(
  api: FakeApi,
  name: string,
  minCount: number,
  more: Partial<PodGroupSpec> = {},
  namespace = "a",
): void {
  api.put(groupRefs.native, {
    apiVersion: "scheduling.k8s.io/v1alpha2",
    kind: "PodGroup",
    metadata: { name, namespace },
    spec: { schedulingPolicy: { gang: { minCount } }, ...more },
  });
}

export function putCoschedulingGroup(api: FakeApi, name: string, minMember: number): void {
  api.put(groupRefs.coscheduling, {
    apiVersion: "scheduling.x-k8s.io/v1alpha1",
    kind: "PodGroup",
    metadata: { name, namespace: "a" },
    spec: { minMember },
  });
}

/** Returns Pods `PREFIX-0`, `PREFIX-1` ... of the native group `group`. */
export function gangPods(
  group: string,
  count: number,
  shape: PodShape = {},
  prefix = group,
): Pod[] {
  const schedulingGroup = { podGroupName: group };
  return Array.from({ length: count }, (_, i) =>
    makePod(`${prefix}-${i}`, { cpu: "1", ...shape, spec: { schedulingGroup, ...shape.spec } }),
  );
}

export function labelledPods(group: string, count: number, shape: PodShape = {}): Pod[] {
  const labels = { "scheduling.x-k8s.io/pod-group": group };
  return Array.from({ length: count }, (_, i) =>
    makePod(`${group}-${i}`, { cpu: "1", labels, ...shape }),
  );
}

/** Runs a decision in one turn, for deps without `isTurnOver`. */
export function inOneTurn<T>(decision: InTurns<T>): T {
  const { done, value } = decision.next();
  assert(done === true, "a decision in one turn does not yield");
  return value;
}

/**
 * Returns a clock that advances by `lookMs` at each reading. `betweenTurns` runs before each turn of a scheduler
 * except the first after a wait.
 */
export function slowClock(clock: Clock, lookMs: number, betweenTurns: () => void): Clock {
  let spentMs = 0;
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs() + (spentMs += lookMs),
    after: (timer, ms, run) =>
      clock.after(timer, ms, () => {
        if (timer === "scheduler.step") betweenTurns();
        run();
      }),
  };
}
