/** What the parts of a plane write is owned under upstream's names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { startControlPlane } from "../embed.ts";
import { componentUserAgent } from "./user-agent.ts";

const pods = { group: "", version: "v1", resource: "pods" };
const nodes = { group: "", version: "v1", resource: "nodes" };
const events = { group: "", version: "v1", resource: "events" };
const deployments = { group: "apps", version: "v1", resource: "deployments" };
const replicaSets = { group: "apps", version: "v1", resource: "replicasets" };

test("user agents have client-go's form", () => {
  assert.match(
    componentUserAgent(
      "kube-controller-manager",
      "system:serviceaccount:kube-system:job-controller",
    ),
    /^kube-controller-manager\/v1\.36\.\S+ \(\S+\/\S+\) kubernetes\/\S+\/system:serviceaccount:kube-system:job-controller$/,
  );
  assert.match(
    componentUserAgent("kubelet"),
    /^kubelet\/v1\.36\.\S+ \(\S+\/\S+\) kubernetes\/[^/]+$/,
  );
});

test("the platform has Go's names, whatever Node calls it", () => {
  assert.match(componentUserAgent("kubelet"), /\((linux|darwin|windows|freebsd)\/[a-z0-9]+\)/);
  assert.doesNotMatch(componentUserAgent("kubelet"), /x64/);
});

test("controllers, scheduler and kubelets own fields under the names of upstream's programs", async () => {
  const plane = await startControlPlane({ nodes: 1 });
  const { client } = plane;
  const running = new AbortController();
  const watching = client.watch(deployments, { signal: running.signal }, (batch) => {
    const isThere = batch.some(({ object }) => (object as Deployment).status?.availableReplicas);
    if (isThere) running.abort();
  });
  const labels = { app: "a" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "nginx" }] } };
  await client.create(deployments, "default", {
    metadata: { name: "a" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  } as AnyObject);
  await watching;
  const managersOf = async (ref: typeof pods): Promise<readonly string[]> => {
    const { items } = await client.list(ref, {});
    const entries = items.flatMap((one) => one.metadata?.managedFields ?? []);
    return [...new Set(entries.map((entry) => entry.manager ?? ""))].sort();
  };
  const [controllers, kubelet] = ["kube-controller-manager", "kubelet"];
  // The scheduler writes a condition where its first look finds no node that is ready.
  const ofPods = (await managersOf(pods)).filter((one) => one !== "kube-scheduler");
  assert.deepEqual(ofPods, [controllers, kubelet]);
  assert.deepEqual(await managersOf(replicaSets), [controllers]);
  assert.deepEqual(await managersOf(deployments), [controllers, "kubernetes-admin"]);
  assert.ok((await managersOf(nodes)).every((one) => one === controllers || one === kubelet));
  const known = [controllers, "kube-scheduler", kubelet];
  for (const manager of await managersOf(events)) assert.ok(known.includes(manager), manager);
  await plane.stop();
});
