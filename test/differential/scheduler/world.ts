/** What a lockstep's pods need beside nodes: controllers' objects, volumes, devices; written to the API. */
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  ResourceClaim,
} from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { Random } from "#platform/random.ts";
import { deviceClass, exactly, gpus, slice } from "#scheduler/devices/testing.ts";
import { nodeOf, type PodClass, zone } from "./cases.ts";

const core = (resource: string): ResourceRef => ({ group: "", version: "v1", resource });
const device = (resource: string): ResourceRef => ({
  group: "resource.k8s.io",
  version: "v1",
  resource,
});
export const podsRef = core("pods");
const nodesRef = core("nodes");
const replicaSets: ResourceRef = { group: "apps", version: "v1", resource: "replicasets" };

/** Every fourth node has devices. */
const nodesPerPool = 4;
const devicesPerPool = 4;

export interface World {
  /** The pod with its controller, where its class has one. */
  owned(podClass: PodClass, pod: Pod): Pod;
}

export async function makeWorld(client: Client, nodes: number): Promise<World> {
  // Nobody else makes it: no controllers run.
  await client.create(core("serviceaccounts"), "default", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default" },
  });
  await client.create(device("deviceclasses"), "", {
    ...deviceClass("gpu", { extendedResourceName: "example.com/gpu" }),
  });
  for (let at = 0; at < nodes; at++) {
    await makeNode(client, nodeOf(at));
    if (at % nodesPerPool !== 0) continue;
    await client.create(device("resourceslices"), "", slice(`n${at}`, gpus(devicesPerPool)));
  }
  const owners = new Map<string, ReplicaSet>();
  for (let group = 0; group < 6; group++) {
    const labels = { app: `spread-by-default-g${group}` };
    const containers = [{ name: "c", image: "none" }];
    const spec = {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    };
    const set = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: labels.app }, spec };
    owners.set(labels.app, await client.create<ReplicaSet>(replicaSets, "default", set));
  }
  return {
    owned(podClass, pod) {
      const owner = owners.get(pod.metadata?.labels?.["app"] ?? "");
      if (podClass !== "spread by default" || owner === undefined) return pod;
      const { name = "", uid = "" } = owner.metadata ?? {};
      const reference = { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid, controller: true };
      return { ...pod, metadata: { ...pod.metadata, ownerReferences: [reference] } };
    },
  };
}

/** A new node is not ready yet: that taint goes. */
async function makeNode(client: Client, node: Node): Promise<void> {
  const made = await client.create<Node>(nodesRef, "", node);
  const status = { ...made, status: node.status };
  const shown = await client.update<Node>(nodesRef, "", status as Node, { subresource: "status" });
  if (jsonEqual(shown.spec?.taints ?? [], node.spec?.taints ?? [])) return;
  await client.update<Node>(nodesRef, "", { ...shown, spec: { ...shown.spec, ...node.spec } });
}

/** Before the pod, so that its scheduler finds them. */
export async function makeObjectsOf(
  client: Client,
  podClass: PodClass,
  at: number,
  random: Random,
): Promise<void> {
  if (podClass === "volumes") await makeVolume(client, at, random);
  if (podClass !== "devices") return;
  const requests = [exactly("r", { count: 1 + random.below(2) })];
  const claim: ResourceClaim = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: `d${at}`, namespace: "default" },
    spec: { devices: { requests } },
  };
  await client.create(device("resourceclaims"), "default", claim);
}

/** A bound claim; its volume is in one zone. */
async function makeVolume(client: Client, at: number, random: Random): Promise<void> {
  const name = `v${at}`;
  const values = [["a", "b", "c"][random.below(3)] ?? "a"];
  const terms = [{ matchExpressions: [{ key: zone, operator: "In", values }] }];
  const common = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
  const claim = await client.create<PersistentVolumeClaim>(
    core("persistentvolumeclaims"),
    "default",
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name,
        annotations: { "pv.kubernetes.io/bind-completed": "yes" },
      },
      spec: { ...common, volumeName: name, resources: { requests: { storage: "1Gi" } } },
    },
  );
  const volume: PersistentVolume = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      ...common,
      capacity: { storage: "1Gi" },
      csi: { driver: "csi.example.com", volumeHandle: name },
      claimRef: { namespace: "default", name, uid: claim.metadata?.uid ?? "" },
      nodeAffinity: { required: { nodeSelectorTerms: terms } },
    },
  };
  await client.create(core("persistentvolumes"), "", volume);
  const options = { subresource: "status" };
  const boundClaim = { ...claim, status: { ...claim.status, phase: "Bound" } };
  await client.update(core("persistentvolumeclaims"), "default", boundClaim, options);
}
