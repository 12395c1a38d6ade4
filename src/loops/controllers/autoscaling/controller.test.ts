/** Autoscalers over a small world: metrics as documents, targets with scales. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, HorizontalPodAutoscaler, MetricSpec } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { conflict } from "#api/status.ts";
import {
  createWorld,
  names,
  pod,
  readyStatus,
  selector,
  template,
  type World,
} from "../testing/world.ts";
import { HorizontalPodAutoscalerController } from "./controller.ts";

type Documents = Record<string, unknown>;

function served(): Documents {
  return {
    "/apis/apps/v1": {
      resources: [
        { name: "deployments", kind: "Deployment" },
        { name: "deployments/scale", kind: "Scale" },
        { name: "daemonsets", kind: "DaemonSet" },
      ],
    },
    "/apis": {
      groups: [
        {
          name: "custom.metrics.k8s.io",
          preferredVersion: { groupVersion: "custom.metrics.k8s.io/v1beta2" },
        },
      ],
    },
    "/api/v1": { resources: [{ name: "services", kind: "Service" }] },
  };
}

const podMetrics = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";
const custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default";
const external = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default";

const cpu: MetricSpec = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
};

function autoscaler(fields: Partial<HorizontalPodAutoscaler["spec"]> = {}, name = "hpa") {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name, namespace: "default" },
    spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 10, metrics: [cpu], ...fields },
  };
}

/** A Deployment and its ready pods, which ask for 100m each. */
function put(world: World, replicas: number): void {
  const metadata = { name: "web", namespace: "default" };
  world.api.put<Deployment>(refs.deployments, {
    metadata,
    spec: { replicas, selector, template },
    status: { replicas },
  });
  for (let i = 0; i < replicas; i++) {
    const spec = {
      containers: [{ name: "main", resources: { requests: { cpu: "100m", memory: "64Mi" } } }],
    };
    const status = { ...readyStatus("2020-01-01T00:00:00Z"), startTime: "2020-01-01T00:00:00Z" };
    const fields = { metadata: { labels: { app: "web" } }, spec, status };
    world.api.put(refs.pods, pod(`web-${i}`, fields));
  }
}

function usage(count: number, cpuText: string, timestamp = "2026-01-01T00:00:00Z") {
  return {
    kind: "PodMetricsList",
    items: Array.from({ length: count }, (_, i) => ({
      metadata: { name: `web-${i}`, namespace: "default" },
      timestamp,
      window: "30s",
      containers: [{ name: "main", usage: { cpu: cpuText, memory: "32Mi" } }],
    })),
  };
}

function replicas(world: World): number | undefined {
  return world.api.peek<Deployment>(refs.deployments, "default", "web")?.spec?.replicas;
}

function statusOf(world: World, name = "hpa") {
  const ref = refs.horizontalpodautoscalers;
  return world.api.peek<HorizontalPodAutoscaler>(ref, "default", name)?.status;
}

function conditions(world: World, name = "hpa"): readonly string[] {
  const all = statusOf(world, name)?.conditions ?? [];
  return all.map((one) => `${one.type}=${one.status} ${one.reason}`);
}

async function started(
  count: number,
  documents: Documents,
  spec: Partial<HorizontalPodAutoscaler["spec"]> = {},
): Promise<World> {
  const world = createWorld(documents);
  put(world, count);
  world.api.put(refs.horizontalpodautoscalers, autoscaler(spec));
  await world.start((deps) => new HorizontalPodAutoscalerController(deps));
  return world;
}

test("a target out of its bounds is brought back without a metric", async () => {
  const world = await started(12, served());
  assert.equal(replicas(world), 10);
  assert.deepEqual(conditions(world), ["AbleToScale=True SucceededRescale"]);
  assert.deepEqual(world.events, [
    "Normal SuccessfulRescale New size: 10; reason: Current number of replicas above Spec.MaxReplicas",
  ]);
  await world.stop();
});

test("CPU above its target adds replicas, each 15 s, and its status shows what was measured", async () => {
  const documents = { ...served(), [podMetrics]: usage(2, "100m") };
  const world = await started(2, documents);
  assert.equal(replicas(world), 4);
  assert.deepEqual(conditions(world), [
    "AbleToScale=True SucceededRescale",
    "ScalingActive=True ValidMetricFound",
    "ScalingLimited=False DesiredWithinRange",
  ]);
  assert.deepEqual(statusOf(world)?.currentMetrics, [
    {
      type: "Resource",
      resource: { name: "cpu", current: { averageUtilization: 100, averageValue: "100m" } },
    },
  ]);
  assert.deepEqual(world.events, [
    "Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target",
  ]);
  put(world, 4);
  documents[podMetrics] = usage(4, "50m");
  await world.advance(16_000);
  assert.equal(replicas(world), 4);
  world.forgetCalls();
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("CPU below its target removes them five minutes later", async () => {
  const documents = { ...served(), [podMetrics]: usage(6, "10m") };
  const world = await started(6, documents);
  assert.equal(replicas(world), 6);
  assert.ok(conditions(world).includes("AbleToScale=True ScaleDownStabilized"));
  await world.advance(330_000);
  assert.equal(replicas(world), 2);
  assert.match(world.events.at(-1) ?? "", /New size: 2; reason: All metrics below target$/);
  await world.stop();
});

const value = (text: string) => ({
  items: [{ describedObject: { name: "main" }, timestamp: "2026-01-01T00:00:00Z", value: text }],
});

const kinds: readonly (readonly [string, MetricSpec, string, unknown])[] = [
  [
    "a container's memory",
    {
      type: "ContainerResource",
      containerResource: {
        name: "memory",
        container: "main",
        target: { type: "AverageValue", averageValue: "16Mi" },
      },
    },
    podMetrics,
    usage(2, "1m"),
  ],
  [
    "pods",
    {
      type: "Pods",
      pods: { metric: { name: "qps" }, target: { type: "AverageValue", averageValue: "5" } },
    },
    `${custom}/pods/*/qps`,
    {
      items: ["web-0", "web-1"].map((name) => ({
        describedObject: { kind: "Pod", name },
        metric: { name: "qps" },
        value: "10",
      })),
    },
  ],
  [
    "an object",
    {
      type: "Object",
      object: {
        describedObject: { kind: "Service", name: "main" },
        metric: { name: "hits" },
        target: { type: "Value", value: "10" },
      },
    },
    `${custom}/services/main/hits`,
    value("20"),
  ],
  [
    "the namespace",
    {
      type: "Object",
      object: {
        describedObject: { kind: "Namespace", name: "elsewhere" },
        metric: { name: "hits" },
        target: { type: "AverageValue", averageValue: "5" },
      },
    },
    `${custom}/metrics/hits`,
    value("20"),
  ],
  [
    "a metric from outside",
    {
      type: "External",
      external: {
        metric: { name: "queue", selector: { matchLabels: { of: "web" } } },
        target: { type: "AverageValue", averageValue: "5" },
      },
    },
    `${external}/queue`,
    {
      items: [
        { metricName: "queue", value: "15" },
        { metricName: "queue", value: "5" },
      ],
    },
  ],
];

for (const [name, metric, path, document] of kinds) {
  test(`${name} scales`, async () => {
    const world = await started(2, { ...served(), [path]: document }, { metrics: [metric] });
    assert.equal(replicas(world), 4, JSON.stringify(world.events));
    await world.stop();
  });
}

test("several metrics: the highest number wins; one that fails only keeps replicas from going", async () => {
  const queue: MetricSpec = {
    type: "External",
    external: { metric: { name: "queue" }, target: { type: "AverageValue", averageValue: "5" } },
  };
  const documents: Documents = { ...served(), [podMetrics]: usage(3, "100m") };
  const world = await started(3, documents, { metrics: [queue, cpu] });
  assert.equal(replicas(world), 6);
  documents[podMetrics] = usage(3, "1m");
  await world.advance(600_000);
  assert.equal(replicas(world), 6);
  assert.ok(conditions(world).includes("ScalingActive=False FailedGetExternalMetric"));
  assert.ok(
    world.events.includes(
      "Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 2), first error is: failed to get queue external metric value: failed to get queue external metric: unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: no document at /apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue",
    ),
    world.events.join("\n"),
  );
  assert.deepEqual(statusOf(world)?.currentMetrics?.[0], { type: "" });
  await world.stop();
});

test("two autoscalers of the same pods are both told, in upstream's words", async () => {
  const world = createWorld({ ...served(), [podMetrics]: usage(2, "100m") });
  put(world, 2);
  for (const name of ["a", "b"]) world.api.put(refs.horizontalpodautoscalers, autoscaler({}, name));
  await world.start((deps) => new HorizontalPodAutoscalerController(deps));
  await world.advance(16_000);
  assert.ok(conditions(world, "a").includes("ScalingActive=False AmbiguousSelector"));
  assert.ok(
    world.events.includes(
      "Warning AmbiguousSelector pods by selector app=web are controlled by multiple HPAs: [{a default} {b default}]",
    ),
    world.events.join("\n"),
  );
  world.api.drop(refs.horizontalpodautoscalers, "default", "b");
  await world.advance(16_000);
  assert.ok(conditions(world, "a").includes("ScalingActive=True ValidMetricFound"));
  await world.stop();
});

test("a target that is missing, or cannot be scaled, is told", async () => {
  const world = createWorld(served());
  world.api.put(refs.horizontalpodautoscalers, autoscaler());
  await world.start((deps) => new HorizontalPodAutoscalerController(deps));
  assert.deepEqual(conditions(world), ["AbleToScale=False FailedGetScale"]);
  await world.stop();
  const texts: readonly (readonly [string, RegExp])[] = [
    ["DaemonSet", /does not implement the scale subresource$/],
    ["Nothing", /no matches for kind "Nothing" in group "apps"$/],
  ];
  for (const [kind, text] of texts) {
    const other = createWorld({
      ...served(),
      "/apis/apps": { preferredVersion: { version: "v1" } },
    });
    const scaleTargetRef = { apiVersion: "apps/v1", kind, name: "web" };
    other.api.put(refs.horizontalpodautoscalers, autoscaler({ scaleTargetRef }));
    await other.start((deps) => new HorizontalPodAutoscalerController(deps));
    assert.match(other.events[0] ?? "", text);
    await other.stop();
  }
});

test("another's write of the target at the same time is no failure", async () => {
  const world = createWorld({ ...served(), [podMetrics]: usage(2, "100m") });
  put(world, 2);
  world.api.put(refs.horizontalpodautoscalers, autoscaler());
  world.api.fail(
    ({ verb, subresource }) => verb === "update" && subresource === "scale",
    conflict(refs.deployments, "web", "it changed"),
    2,
  );
  await world.start((deps) => new HorizontalPodAutoscalerController(deps));
  assert.equal(replicas(world), 4);
  await world.stop();
});

test("what an autoscaler brought to zero comes back by a metric from outside; what a user did stays", async () => {
  const queue: MetricSpec = {
    type: "External",
    external: { metric: { name: "queue" }, target: { type: "AverageValue", averageValue: "5" } },
  };
  const documents: Documents = { ...served(), [`${external}/queue`]: { items: [{ value: "0" }] } };
  const world = await started(2, documents, { minReplicas: 0, metrics: [queue] });
  await world.advance(330_000);
  assert.equal(replicas(world), 0);
  assert.ok(conditions(world).includes("ScaledToZero=True ScaledToZero"));
  for (const name of names(world.api, refs.pods)) world.api.drop(refs.pods, "default", name);
  documents[`${external}/queue`] = { items: [{ value: "20" }] };
  await world.advance(16_000);
  assert.equal(replicas(world), 4);
  assert.ok(conditions(world).includes("ScaledToZero=False NotScaledToZero"));
  put(world, 0);
  await world.advance(16_000);
  assert.equal(replicas(world), 0);
  assert.ok(conditions(world).includes("ScalingActive=False ScalingDisabled"));
  await world.stop();
});
