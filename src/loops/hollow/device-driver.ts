/**
 * The driver of hollow devices: publishes the slices of each registered node, and prepares claims for Pods as a
 * kubelet asks its drivers to, before it starts their containers.
 *
 * Bounds `publishersMax` writes in flight; a Pod is held until its claims are allocated and reserved for it.
 * After  k/k pkg/kubelet/cm/dra/manager.go, for the texts.
 */
import type { Node, Pod, PodResourceClaim, ResourceClaim, ResourceSlice } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { isAlreadyExists } from "#client/api-errors.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { runWorkers } from "#client/run-workers.ts";
import { WorkQueue } from "#client/workqueue.ts";
import type { HollowDevices } from "./devices.ts";
import { deviceClassOf, slicesOf } from "./devices.ts";
import type { HollowDeps } from "./nodes.ts";

const resource = (name: string): ResourceRef => ({
  group: "resource.k8s.io",
  version: "v1",
  resource: name,
});
const nodesRef = { group: "", version: "v1", resource: "nodes" } as const;
const publishersMax = 16;
const retry = { retryFirstMs: 200, retryMostMs: 10_000 };

/** Publishes until every node's slices are there, then rests until `signal` aborts. */
export async function publishDevices(
  deps: HollowDeps,
  devices: HollowDevices,
  nodes: Iterable<string>,
  signal: AbortSignal,
): Promise<void> {
  const queue = new WorkQueue(deps, { name: "hollow.nodes", ...retry });
  const className = "";
  queue.add(className);
  for (const name of nodes) queue.add(name);
  const publish = (name: string): Promise<void> =>
    name === className
      ? put(deps.client, resource("deviceclasses"), deviceClassOf(devices))
      : publishNode(deps.client, devices, name);
  await runWorkers(queue, publishersMax, publish, signal);
}

async function publishNode(client: Client, devices: HollowDevices, name: string): Promise<void> {
  const node = await client.get<Node>(nodesRef, "", name);
  for (const slice of slicesOf(devices, node)) {
    await put<ResourceSlice>(client, resource("resourceslices"), slice);
  }
}

/** An object of the name, of an earlier run, becomes what it should be. */
async function put<T extends KubeObject>(
  client: Client,
  ref: ResourceRef,
  object: T,
): Promise<void> {
  try {
    await client.create(ref, "", object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const known = await client.get<T>(ref, "", object.metadata?.name ?? "");
    const { resourceVersion } = known.metadata ?? {};
    const metadata = {
      ...object.metadata,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    await client.update(ref, "", { ...object, metadata });
  }
}

export function usesClaims({ spec }: Pod): boolean {
  return (spec?.resourceClaims ?? []).length > 0;
}

/** @returns why the Pod's containers cannot start yet, as a kubelet says it; undefined: all is prepared. */
export async function prepareClaims(
  client: Client,
  pod: Pod,
  devices: HollowDevices | undefined,
): Promise<string | undefined> {
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const refusal = await prepareClaim(client, pod, entry, devices);
    if (refusal !== undefined) return `Failed to prepare dynamic resources: ${refusal}`;
  }
  return undefined;
}

async function prepareClaim(
  client: Client,
  pod: Pod,
  entry: PodResourceClaim,
  devices: HollowDevices | undefined,
): Promise<string | undefined> {
  const { namespace = "", name: podName = "", uid = "" } = pod.metadata ?? {};
  const status = pod.status?.resourceClaimStatuses?.find(({ name }) => name === entry.name);
  const name = entry.resourceClaimName ?? status?.resourceClaimName;
  if (name === undefined) {
    if (status !== undefined) return undefined;
    return `prepare dynamic resources: pod "${namespace}/${podName}": ResourceClaim not created yet`;
  }
  let claim: ResourceClaim;
  try {
    claim = await client.get<ResourceClaim>(resource("resourceclaims"), namespace, name);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `prepare dynamic resources: fetch ResourceClaim ${name}: ${why}`;
  }
  const isReserved = (claim.status?.reservedFor ?? []).some((one) => one.uid === uid);
  if (claim.status?.allocation === undefined || !isReserved) {
    const what = `ResourceClaim ${name} (${claim.metadata?.uid ?? ""})`;
    return `prepare dynamic resources: pod ${podName} (${uid}) is not allowed to use ${what}`;
  }
  const results = claim.status.allocation.devices?.results ?? [];
  const isOurs = results.some(({ driver }) => driver === devices?.driver);
  if (!isOurs || devices?.prepareError === undefined) return undefined;
  return `NodePrepareResources failed for ResourceClaim ${name}: ${devices.prepareError}`;
}
