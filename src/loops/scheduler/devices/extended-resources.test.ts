/** Extended resources that a DeviceClass stands behind: requests made of them, and Pods that ask for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, DeviceClass, Pod, ResourceClaim } from "#api/gen/types.ts";
import { internalError } from "#api/status.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "../testing.ts";
import { ExtendedResources, requestsOf } from "./extended-resources.ts";
import { deviceClass, gpus, slice } from "./testing.ts";

const resource = (name: string) => ({ group: "resource.k8s.io", version: "v1", resource: name });
const claimsRef = resource("resourceclaims");
const name = "example.com/gpu";
const behind = (className: string): DeviceClass =>
  deviceClass(className, { extendedResourceName: name });

function container(count: number, more: Partial<Container> = {}): Container {
  const requests = { cpu: "1m", ...(count === 0 ? {} : { [name]: String(count) }) };
  return { name: `c${count}`, image: "i", resources: { requests }, ...more };
}

function asking(
  podName: string,
  containers: readonly Container[],
  init: readonly Container[] = [],
) {
  const pod: Pod = makePod(podName, { spec: { containers, initContainers: init } });
  return { ...pod, metadata: { ...pod.metadata, uid: `uid-${podName}` } };
}

function counts(pod: Pod): readonly string[] {
  const asked = requestsOf(pod, [name], () => behind("gpu"));
  const requests = asked.requests.map((one) => `${one.name}=${Number(one.exactly?.count)}`);
  const mappings = asked.mappings.map((one) => `${one.containerName}>${one.requestName}`);
  return [...requests, ...mappings];
}

test("containers that run together have a request each, init containers share the most that one lacks", () => {
  assert.deepEqual(counts(asking("p", [container(2), container(0), container(1)])), [
    "container-0-request-1=2",
    "container-2-request-1=1",
    "c2>container-0-request-1",
    "c1>container-2-request-1",
  ]);
  const init = [
    container(4),
    container(3),
    container(1, { name: "side", restartPolicy: "Always" }),
  ];
  assert.deepEqual(counts(asking("p", [container(1)], init)), [
    "container-0-request-1=2",
    "container-2-request-1=1",
    "container-3-request-1=1",
    "side>container-2-request-1",
    "c1>container-3-request-1",
    "c4>container-2-request-1",
    "c4>container-3-request-1",
    "c4>container-0-request-1",
    "c3>container-2-request-1",
    "c3>container-3-request-1",
    "c3>container-0-request-1",
  ]);
});

test("of several classes that name a resource the newest counts, and every class has one of its own", () => {
  const classes = new ExtendedResources();
  const made = (className: string, creationTimestamp: string): DeviceClass => {
    const one = behind(className);
    return { ...one, metadata: { ...one.metadata, creationTimestamp } };
  };
  for (const one of [made("old", "2026-01-01T00:00:00Z"), made("new", "2026-02-01T00:00:00Z")]) {
    classes.set(one);
  }
  const classOf = (text: string) => classes.classOf(text)?.metadata?.name;
  assert.equal(classOf(name), "new");
  assert.equal(classOf("deviceclass.resource.kubernetes.io/old"), "old");
  classes.delete("new");
  assert.equal(classOf(name), "old");
  classes.set(deviceClass("old"));
  assert.equal(classOf(name), undefined);
});

const claims = (api: FakeApi) => api.peekAll<ResourceClaim>(claimsRef);

function seed(api: FakeApi): void {
  api.put(resource("deviceclasses"), behind("gpu"));
  api.put(nodesRef, makeNode("n1"));
  api.put(resource("resourceslices"), slice("n1", gpus(2)));
}

test("a pod that asks for an extended resource gets devices of the class behind it", async () => {
  const rig = await startRig((api) => {
    seed(api);
    api.put(podsRef, asking("p", [container(2)]));
  });
  assert.equal(rig.nodeOf("p"), "n1");
  const [claim] = claims(rig.api);
  assert.equal(claim?.metadata?.ownerReferences?.[0]?.uid, "uid-p");
  assert.equal(
    claim?.metadata?.annotations?.["resource.kubernetes.io/extended-resource-claim"],
    "true",
  );
  assert.equal(claim?.status?.allocation?.devices?.results?.length, 2);
  assert.equal(claim?.status?.reservedFor?.[0]?.uid, "uid-p");
  assert.deepEqual(rig.api.peek<Pod>(podsRef, "a", "p")?.status?.extendedResourceClaimStatus, {
    requestMappings: [
      { containerName: "c2", requestName: "container-0-request-1", resourceName: name },
    ],
    resourceClaimName: claim?.metadata?.name,
  });
  // Both devices are given away.
  rig.api.put(podsRef, asking("late", [container(1)]));
  await rig.clock.advance(50);
  assert.match(rig.verdictOn("late"), /0\/1 nodes are available: 1 cannot allocate all claims\./);
  await rig.end();
});

test("a node with a device plugin for the resource gives it without a claim", async () => {
  const rig = await startRig((api) => {
    seed(api);
    const node = makeNode("n1");
    const allocatable = { ...node.status?.allocatable, [name]: "1" };
    api.put(nodesRef, { ...node, status: { ...node.status, allocatable } });
    api.put(podsRef, asking("p", [container(1)]));
    api.put(podsRef, asking("q", [container(1)]));
  });
  assert.deepEqual([rig.nodeOf("p"), rig.nodeOf("q")].toSorted(), ["", "n1"]);
  assert.equal(claims(rig.api).length, 0);
  const waiting = rig.nodeOf("p") === "" ? "p" : "q";
  assert.match(rig.verdictOn(waiting), /1 Insufficient example.com\/gpu/);
  await rig.end();
});

test("a pod waits for a class that comes to stand behind its resource", async () => {
  const rig = await startRig((api) => {
    api.put(nodesRef, makeNode("n1"));
    api.put(resource("resourceslices"), slice("n1", gpus(1)));
    api.put(podsRef, asking("p", [container(1)]));
  });
  assert.match(rig.verdictOn("p"), /1 Insufficient example.com\/gpu/);
  rig.api.put(resource("deviceclasses"), behind("gpu"));
  await rig.clock.advance(10_000);
  assert.equal(rig.nodeOf("p"), "n1");
  await rig.end();
});

test("a claim whose pod could not be bound is removed, and the pod is tried again", async () => {
  const rig = await startRig((api) => {
    seed(api);
    api.put(podsRef, asking("p", [container(1)]));
    api.fail(({ subresource }) => subresource === "binding", internalError("down"));
  });
  await rig.clock.advance(10_000);
  assert.equal(rig.nodeOf("p"), "n1");
  assert.equal(claims(rig.api).length, 1);
  assert.equal(claims(rig.api)[0]?.status?.allocation?.devices?.results?.length, 1);
  await rig.end();
});
