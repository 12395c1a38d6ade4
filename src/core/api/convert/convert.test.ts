/** Conversions and scales at the door: shapes in, shapes out, and the way back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { convert, partialObjectMetadata } from "./convert.ts";
import type { AnyObject } from "../object.ts";
import { applyScale, applyScaleToPath, scaleFromObject, scaleFromPaths } from "./scale.ts";

const meta = { name: "h", namespace: "n" };
const targetRef = { kind: "Deployment", name: "d", apiVersion: "apps/v1" };

const v2: AnyObject = {
  kind: "HorizontalPodAutoscaler",
  apiVersion: "autoscaling/v2",
  metadata: { ...meta, annotations: { own: "x" } },
  spec: {
    scaleTargetRef: targetRef,
    maxReplicas: 5,
    metrics: [
      {
        type: "Pods",
        pods: { metric: { name: "qps" }, target: { type: "AverageValue", averageValue: "10" } },
      },
      {
        type: "Object",
        object: {
          describedObject: targetRef,
          metric: { name: "m", selector: { matchLabels: { a: "b" } } },
          target: { type: "Value", value: "3" },
        },
      },
      {
        type: "External",
        external: {
          metric: { name: "e", selector: { matchLabels: { a: "b" } } },
          target: { type: "AverageValue", averageValue: "2" },
        },
      },
      {
        type: "ContainerResource",
        containerResource: {
          name: "cpu",
          container: "c",
          target: { type: "Utilization", averageUtilization: 50 },
        },
      },
      {
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
      },
    ],
    behavior: {
      scaleUp: {
        stabilizationWindowSeconds: 3,
        policies: [{ type: "Pods", value: 1, periodSeconds: 2 }],
      },
    },
  },
  status: {
    currentReplicas: 1,
    desiredReplicas: 2,
    currentMetrics: [
      { type: "Pods", pods: { metric: { name: "qps" }, current: { averageValue: "7" } } },
      {
        type: "Resource",
        resource: { name: "cpu", current: { averageUtilization: 30, averageValue: "100m" } },
      },
    ],
    conditions: [{ type: "AbleToScale", status: "True", reason: "r" }],
  },
};

test("an autoscaler in v1 has the CPU target as a field and the rest in annotations", () => {
  const v1 = convert(v2, "autoscaling/v1");
  assert.deepEqual(v1["spec"], {
    scaleTargetRef: targetRef,
    maxReplicas: 5,
    targetCPUUtilizationPercentage: 80,
  });
  assert.deepEqual(v1["status"], {
    currentReplicas: 1,
    desiredReplicas: 2,
    currentCPUUtilizationPercentage: 30,
  });
  const annotations = v1.metadata?.annotations ?? {};
  assert.deepEqual(
    Object.keys(annotations).map((name) => name.split("/").at(-1)),
    ["own", "metrics", "current-metrics", "conditions", "behavior"],
  );
  assert.match(annotations["autoscaling.alpha.kubernetes.io/metrics"] ?? "", /"metricName":"qps"/);
  assert.match(annotations["autoscaling.alpha.kubernetes.io/behavior"] ?? "", /"ScaleUp":/);
});

test("an autoscaler comes back from v1 as it was in v2", () => {
  assert.deepEqual(convert(convert(v2, "autoscaling/v1"), "autoscaling/v2"), v2);
});

test("an autoscaler of v1 comes back from v2 as it was", () => {
  const v1: AnyObject = {
    kind: "HorizontalPodAutoscaler",
    apiVersion: "autoscaling/v1",
    metadata: meta,
    spec: { scaleTargetRef: targetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 70 },
    status: { currentReplicas: 1, desiredReplicas: 1 },
  };
  assert.deepEqual(convert(convert(v1, "autoscaling/v2"), "autoscaling/v1"), v1);
});

test("events have other field names in events.k8s.io, and come back as they were", () => {
  const event: AnyObject = {
    kind: "Event",
    apiVersion: "v1",
    metadata: meta,
    involvedObject: { name: "p" },
    message: "m",
    count: 3,
    source: { component: "c" },
    reportingComponent: "r",
  };
  const other = convert(event, "events.k8s.io/v1");
  assert.deepEqual(other["regarding"], { name: "p" });
  assert.equal(other["note"], "m");
  assert.equal(other["deprecatedCount"], 3);
  assert.equal(other["reportingController"], "r");
  assert.deepEqual(convert(other, "v1"), event);
});

test("every other kind only changes its apiVersion, or nothing", () => {
  const pod: AnyObject = { kind: "Pod", apiVersion: "v1", metadata: meta };
  assert.equal(convert(pod, "v1"), pod);
  assert.deepEqual(convert({ ...pod, apiVersion: "a/v1beta1" }, "a/v1"), {
    ...pod,
    apiVersion: "a/v1",
  });
  assert.deepEqual(partialObjectMetadata(pod), {
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: meta,
  });
});

const deployment: AnyObject = {
  kind: "Deployment",
  apiVersion: "apps/v1",
  metadata: { ...meta, uid: "u", resourceVersion: "9", labels: { a: "b" } },
  spec: { replicas: 3, selector: { matchLabels: { x: "y", a: "b" } }, paused: true },
  status: { replicas: 2 },
};

test("a scale is read from an object with its selector as text", () => {
  assert.deepEqual(scaleFromObject("apps", "deployments", deployment), {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { ...meta, uid: "u", resourceVersion: "9" },
    spec: { replicas: 3 },
    status: { replicas: 2, selector: "a=b,x=y" },
  });
  const controller: AnyObject = { metadata: meta, spec: { selector: { x: "y" } } };
  assert.deepEqual(scaleFromObject("", "replicationcontrollers", controller)?.status, {
    replicas: 0,
    selector: "x=y",
  });
  assert.equal(scaleFromObject("apps", "daemonsets", deployment), undefined);
});

test("a scale is written back into the object and nothing else changes", () => {
  const scale = {
    kind: "Scale",
    metadata: { name: "h", resourceVersion: "8" },
    spec: { replicas: 5 },
  };
  const written = applyScale("apps", "deployments", deployment, scale);
  assert.deepEqual(written?.["spec"], { ...(deployment["spec"] as object), replicas: 5 });
  assert.equal(written?.metadata?.resourceVersion, "8");
  assert.throws(
    () => applyScale("apps", "deployments", deployment, { ...scale, spec: { replicas: -1 } }),
    /Scale.autoscaling "h" is invalid: spec.replicas: Invalid value: -1: must be greater/,
  );
});

test("custom resources scale by the paths of their definition", () => {
  const paths = {
    specReplicasPath: ".spec.size",
    statusReplicasPath: ".status.size",
    labelSelectorPath: ".status.selector",
  };
  const object: AnyObject = { metadata: meta, spec: { size: 2 }, status: { selector: "a=b" } };
  assert.deepEqual(scaleFromPaths(object, paths).status, { replicas: 0, selector: "a=b" });
  const written = applyScaleToPath(object, paths, { spec: { replicas: 4 } });
  assert.deepEqual(written["spec"], { size: 4 });
});
