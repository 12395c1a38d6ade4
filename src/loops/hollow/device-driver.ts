/**
 * The driver of hollow devices: publishes the slices of each registered node, and prepares claims for Pods as a
 * kubelet asks its drivers to, before it starts their containers.
 *
 * Bounds `publishersMax` writes in flight; a Pod is held until its claims are allocated and reserved for it.
 * After  k/k pkg/kubelet/cm/dra/manager.go, for the texts.
 */
import type { Node, Pod, PodResourceClaim, ResourceClaim, ResourceSlice } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { KubeObject } from "#api/object.ts";
import { claimOf, isReservedFor } from "#api/pods/resource-claims.ts";
import { given } from "#base/given.ts";
import { isAlreadyExists, isNotFound } from "#client/api-errors.ts";
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

/** Publishes the slices of every node, then waits until `signal` aborts. */
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

/** Publishes slices of a new generation and deletes those of earlier runs; only the newest generation counts. */
async function publishNode(client: Client, devices: HollowDevices, name: string): Promise<void> {
  const node = await client.get<Node>(nodesRef, "", name);
  const ref = resource("resourceslices");
  const fieldSelector = `spec.nodeName=${name},spec.driver=${devices.driver}`;
  const { items: known } = await client.list<ResourceSlice>(ref, { fieldSelector });
  const newest = Math.max(0, ...known.map(({ spec }) => Number(spec.pool.generation)));
  if (isPublished(known, slicesOf(devices, node, newest))) return;
  const slices = slicesOf(devices, node, newest + 1);
  for (const slice of slices) await put<ResourceSlice>(client, ref, slice);
  const kept = new Set(slices.map(({ metadata }) => metadata?.name));
  for (const { metadata } of known) {
    const old = metadata?.name ?? "";
    if (!kept.has(old)) await deleteSlice(client, old);
  }
}

function isPublished(known: readonly ResourceSlice[], wanted: readonly ResourceSlice[]): boolean {
  const specs = new Map(known.map(({ metadata, spec }) => [metadata?.name, spec]));
  return (
    known.length === wanted.length &&
    wanted.every(({ metadata, spec }) => jsonEqual(specs.get(metadata?.name), spec))
  );
}

async function deleteSlice(client: Client, name: string): Promise<void> {
  try {
    await client.delete(resource("resourceslices"), "", name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Creates the object, or replaces an object of that name from an earlier run. */
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
    await client.update(ref, "", {
      ...object,
      metadata: { ...object.metadata, ...given({ resourceVersion }) },
    });
  }
}

/** Result of a kubelet's attempt to prepare the claims of a Pod. */
interface Preparing {
  /** Why the containers cannot start yet, in the kubelet's words. */
  readonly refusal?: string;
  /** Time that the drivers need, in milliseconds; 0: all claims are prepared. */
  readonly takesMs: number;
}

export async function prepareClaims(
  client: Client,
  pod: Pod,
  devices: HollowDevices | undefined,
): Promise<Preparing> {
  let takesMs = 0;
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  for (const claim of [
    ...(pod.spec?.resourceClaims ?? []),
    ...(extended === undefined ? [] : [extended]),
  ]) {
    const { refusal, takesMs: ownMs } = await prepareClaim(client, pod, claim, devices);
    if (refusal !== undefined) {
      const message = `Failed to prepare dynamic resources: prepare dynamic resources: ${refusal}`;
      return { refusal: message, takesMs };
    }
    takesMs = Math.max(takesMs, ownMs);
  }
  return { takesMs };
}

const refused = (refusal: string): Preparing => ({ refusal, takesMs: 0 });

async function prepareClaim(
  client: Client,
  pod: Pod,
  claim: PodResourceClaim | string,
  devices: HollowDevices | undefined,
): Promise<Preparing> {
  if (typeof claim === "string") return prepareNamed(client, pod, claim, devices);
  const { namespace = "", name = "" } = pod.metadata ?? {};
  const named = claimOf(pod, claim);
  if (named.kind === "unneeded") return { takesMs: 0 };
  if (named.kind === "unsupported") return refused(named.message);
  if (named.kind === "unmade")
    return refused(`pod "${namespace}/${name}": ResourceClaim not created yet`);
  return prepareNamed(client, pod, named.name, devices);
}

async function prepareNamed(
  client: Client,
  pod: Pod,
  name: string,
  devices: HollowDevices | undefined,
): Promise<Preparing> {
  const { namespace = "", name: podName = "", uid = "" } = pod.metadata ?? {};
  let claim: ResourceClaim;
  try {
    claim = await client.get<ResourceClaim>(resource("resourceclaims"), namespace, name);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return refused(`fetch ResourceClaim ${name}: ${why}`);
  }
  if (claim.status?.allocation === undefined || !isReservedFor(pod, claim)) {
    const what = `ResourceClaim ${name} (${claim.metadata?.uid ?? ""})`;
    return refused(`pod ${podName} (${uid}) is not allowed to use ${what}`);
  }
  return askDriver(claim, devices);
}

/** Asks the driver to prepare a claim. Other drivers are assumed to have prepared their devices at once. */
function askDriver(claim: ResourceClaim, devices: HollowDevices | undefined): Preparing {
  const results = claim.status?.allocation?.devices?.results ?? [];
  const isOurs = results.some(({ driver }) => driver === devices?.driver);
  if (!isOurs || devices === undefined) return { takesMs: 0 };
  const { prepareMs: takesMs, prepareError } = devices;
  if (prepareError === undefined) return { takesMs };
  const name = claim.metadata?.name ?? "";
  return {
    refusal: `NodePrepareResources failed for ResourceClaim ${name}: ${prepareError}`,
    takesMs,
  };
}
