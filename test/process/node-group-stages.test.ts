/** Nodes of node groups play the stages of the file, as the process's other hollow nodes do, and each once. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { ConfigMap, Node, Pod } from "#api/gen/types.ts";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { type Asking, clientOf, podsRef, until } from "./role-harness.ts";

const nodesRef = { group: "", version: "v1", resource: "nodes" };
const configMapsRef = { group: "", version: "v1", resource: "configmaps" };
const directory = temporaryDirectory("node-group-stages");
let plane: Running | undefined;
let asking: Asking | undefined;

const file = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

const stages = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-staged}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]
  next:
    statusTemplate: |
      phase: Running
      message: staged on {{ .spec.nodeName }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: map-counted}
spec:
  resourceRef: {apiGroup: v1, kind: ConfigMap}
  selector:
    matchLabels: {counted: "no"}
  next:
    patches:
    - type: merge
      root: metadata
      template: 'labels: {counted: "yes"}'
`;

before(async () => {
  const groups = "groups: [{name: g, min: 1, max: 2, shape: {cpu: 4, pods: 10}}]";
  plane = await startUp([
    "--data-dir",
    join(directory, "data"),
    "--port",
    "0",
    "--nodes",
    "1",
    "--node-groups-address",
    "127.0.0.1:0",
    "--hollow-node-groups",
    file("groups.yaml", groups),
    "--hollow-stages",
    file("stages.yaml", stages),
  ]);
  asking = await clientOf(plane.kubeconfig);
});
after(async () => {
  asking?.close();
  await plane?.kill();
  removeDirectory(directory);
});

void test("a pod on a node of a group is played by the stage, and a ConfigMap is changed once", async () => {
  assert.ok(asking !== undefined);
  const { client } = asking;
  const ofGroup = await until("a node of the group", async () => {
    const { items } = await client.list<Node>(nodesRef, {
      labelSelector: "pilothouse.dev/node-group",
    });
    return items[0]?.metadata?.name;
  });
  const nodes = [ofGroup, "hollow-0"];
  for (const nodeName of nodes) {
    const containers = [{ name: "main", image: "nginx" }];
    await client.create<Pod>(podsRef, "default", {
      metadata: { name: `on-${nodeName}`, namespace: "default" },
      spec: { nodeName, containers },
    });
  }
  for (const nodeName of nodes) {
    const message = await until(`the stage of a pod on ${nodeName}`, async () => {
      const pod = await client.get<Pod>(podsRef, "default", `on-${nodeName}`);
      return pod.status?.message;
    });
    assert.equal(message, `staged on ${nodeName}`);
  }
  const made = await client.create<ConfigMap>(configMapsRef, "default", {
    metadata: { name: "m", namespace: "default", labels: { counted: "no" } },
  });
  const counted = await until("the stage of a ConfigMap", async () => {
    const map = await client.get<ConfigMap>(configMapsRef, "default", "m");
    return map.metadata?.labels?.["counted"] === "yes" ? map : undefined;
  });
  assert.equal(made.metadata?.uid, counted.metadata?.uid);
});
