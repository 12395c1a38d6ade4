/** Autoscalers keep their bounds and say that they measure nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, HorizontalPodAutoscaler } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, selector, template, type World } from "../testing/world.ts";
import { HorizontalPodAutoscalerController } from "./controller.ts";
import { planScale } from "./plan.ts";

const served = {
  "/apis/apps/v1": {
    resources: [
      { name: "deployments", kind: "Deployment" },
      { name: "deployments/scale", kind: "Scale" },
      { name: "daemonsets", kind: "DaemonSet" },
    ],
  },
};

function autoscaler(kind = "Deployment"): HorizontalPodAutoscaler {
  const scaleTargetRef = { apiVersion: "apps/v1", kind, name: "web" };
  const metrics = [
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization" } } },
  ];
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "hpa", namespace: "default" },
    spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 5, metrics },
  };
}

function put(world: World, replicas: number): void {
  const metadata = { name: "web", namespace: "default" };
  world.api.put<Deployment>(refs.deployments, { metadata, spec: { replicas, selector, template } });
}

function replicas(world: World): number | undefined {
  return world.api.peek<Deployment>(refs.deployments, "default", "web")?.spec?.replicas;
}

function conditions(world: World): readonly string[] {
  const ref = refs.horizontalpodautoscalers;
  const stored = world.api.peek<HorizontalPodAutoscaler>(ref, "default", "hpa");
  return (stored?.status?.conditions ?? []).map((one) => `${one.type}=${one.status} ${one.reason}`);
}

const plans: readonly (readonly [number, number | undefined, string])[] = [
  [1, 2, "FailedGetResourceMetric"],
  [2, undefined, "FailedGetResourceMetric"],
  [5, undefined, "FailedGetResourceMetric"],
  [9, 5, "FailedGetResourceMetric"],
  [0, undefined, "ScalingDisabled"],
];
for (const [current, wanted, reason] of plans) {
  test(`${current} replicas in 2..5: ${wanted ?? "as they are"}`, () => {
    const plan = planScale(autoscaler(), current);
    assert.equal(plan.rescale?.replicas, wanted);
    assert.equal(plan.scalingActive.reason, reason);
  });
}

test("the target is brought within its bounds, every 15 s, and rests there", async () => {
  const world = createWorld(served);
  put(world, 9);
  world.api.put(refs.horizontalpodautoscalers, autoscaler());
  await world.start((deps) => new HorizontalPodAutoscalerController(deps));
  assert.equal(replicas(world), 5);
  assert.deepEqual(conditions(world), [
    "AbleToScale=True SucceededRescale",
    "ScalingActive=False FailedGetResourceMetric",
  ]);
  await world.advance(16_000);
  world.forgetCalls();
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  put(world, 1);
  await world.advance(16_000);
  assert.equal(replicas(world), 2);
  await world.stop();
});

test("a target that is missing, or cannot be scaled, is told", async () => {
  const world = createWorld(served);
  world.api.put(refs.horizontalpodautoscalers, autoscaler());
  await world.start((deps) => new HorizontalPodAutoscalerController(deps));
  assert.deepEqual(conditions(world), ["AbleToScale=False FailedGetScale"]);
  await world.stop();
  const other = createWorld(served);
  other.api.put(refs.horizontalpodautoscalers, autoscaler("DaemonSet"));
  await other.start((deps) => new HorizontalPodAutoscalerController(deps));
  assert.match(other.events[0] ?? "", /does not implement the scale subresource$/);
  await other.stop();
});
