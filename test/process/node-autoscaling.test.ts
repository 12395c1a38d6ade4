/** `up` with hollow node groups and `pilothouse autoscaler`: pods without a place get nodes, and the nodes go again. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { ConfigMap, Deployment, Event, Node, Pod } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import {
  type Asking,
  clientOf,
  podsRef,
  type RunningRole,
  startRole,
  until,
} from "./role-harness.ts";

const nodesRef = { group: "", version: "v1", resource: "nodes" };
const eventsRef = { group: "", version: "v1", resource: "events" };
const configMapsRef = { group: "", version: "v1", resource: "configmaps" };
const deploymentsRef = { group: "apps", version: "v1", resource: "deployments" };
const replicas = 200;

const groups = `groups:
- {name: small, min: 0, max: 40, shape: {cpu: 4, memory: 16Gi, pods: 110}}
- {name: large, min: 0, max: 10, shape: {cpu: 16, memory: 64Gi, pods: 110}, zones: [z1]}
`;
const quick = [
  "--scan-interval",
  "500ms",
  "--scale-down-delay-after-add",
  "1s",
  "--scale-down-unneeded-time",
  "2s",
  "--max-drain-parallelism",
  "5",
  "--leader-elect=false",
  "--secure-port",
  "0",
];

void describe("nodes that come and go with the pods", { timeout: 180_000 }, () => {
  const directory = temporaryDirectory("node-autoscaling");
  let plane: Running | undefined;
  let autoscaler: RunningRole | undefined;
  let asking: Asking | undefined;
  let client: Client;

  before(async () => {
    const file = join(directory, "groups.yaml");
    writeFileSync(file, groups);
    plane = await startUp([
      "--data-dir",
      join(directory, "data"),
      "--port",
      "0",
      "--nodes",
      "0",
      "--hollow-node-groups",
      file,
      "--node-groups-address",
      "127.0.0.1:0",
    ]);
    const address = /node groups (\S+)/.exec(plane.output())?.[1] ?? "";
    const cloud = join(directory, "cloud.yaml");
    writeFileSync(cloud, `address: ${address}\n`);
    const { kubeconfig } = plane;
    autoscaler = await startRole([
      "autoscaler",
      "--kubeconfig",
      kubeconfig,
      "--cloud-config",
      cloud,
      ...quick,
    ]);
    asking = await clientOf(kubeconfig);
    ({ client } = asking);
  });
  after(async () => {
    asking?.close();
    await autoscaler?.kill();
    await plane?.kill();
    removeDirectory(directory);
  });

  const nodes = async (): Promise<readonly Node[]> => (await client.list<Node>(nodesRef, {})).items;
  const eventsOf = async (reason: string): Promise<readonly Event[]> =>
    (await client.list<Event>(eventsRef, { fieldSelector: `reason=${reason}` })).items;

  it("200 pending pods get nodes, and run", async () => {
    const labels = { app: "web" };
    const resources = { requests: { cpu: "500m" } };
    await client.create<Deployment>(deploymentsRef, "default", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "web", image: "nginx", resources }] },
        },
      },
    });
    await until("200 running pods", async () => {
      const { items } = await client.list<Pod>(podsRef, { labelSelector: "app=web" });
      const running = items.filter(({ status }) => status?.phase === "Running");
      return running.length === replicas ? running : undefined;
    });
    const count = (await nodes()).length;
    // 100 cores: 7 large nodes, or up to 25 small ones.
    assert.ok(count >= 7 && count <= 25, `${count} nodes for 100 cores`);
    await until("events", async () => {
      const both = [await eventsOf("TriggeredScaleUp"), await eventsOf("ScaledUpGroup")];
      return both.every(({ length }) => length > 0) ? both : undefined;
    });
  });

  it("the status says what there is", async () => {
    const status = await until("a status without nodes on their way", async () => {
      const map = await client.get<ConfigMap>(
        configMapsRef,
        "kube-system",
        "cluster-autoscaler-status",
      );
      const text = map.data?.["status"] ?? "";
      return text.includes("status: InProgress") ? undefined : text;
    });
    assert.match(status, /^autoscalerStatus: Running$/m);
    assert.match(status, /^- name: small$/m);
    assert.match(status, /^- name: large$/m);
    assert.match(status, /cloudProviderTarget: [1-9]/);
  });

  it("a pod that nothing helps is told why", async () => {
    const resources = { requests: { cpu: "99" } };
    await client.create<Pod>(podsRef, "default", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "huge" },
      spec: { containers: [{ name: "huge", image: "nginx", resources }] },
    });
    const [event] = await until("an event", async () => {
      const found = await eventsOf("NotTriggerScaleUp");
      return found.length > 0 ? found : undefined;
    });
    assert.equal(event?.message, "pod didn't trigger scale-up: 2 Insufficient cpu");
    await client.delete(podsRef, "default", "huge");
  });

  it("without pods the nodes go", async () => {
    await client.patch(deploymentsRef, "default", "web", "merge", { spec: { replicas: 3 } });
    const left = await until("at most two nodes", async () => {
      const found = await nodes();
      return found.length <= 2 ? found : undefined;
    });
    assert.ok(left.length > 0);
    const { items } = await client.list<Pod>(podsRef, { labelSelector: "app=web" });
    assert.ok(items.length >= 3);
  });
});
