/**
 * EndpointSlices and Endpoints of Services with a selector: which pods answer, and whether they are
 * ready. One loop for both, over one look at the pods; two service accounts, as upstream has two.
 *
 * In    Services, Pods, Nodes (for zones), and the slices and Endpoints it writes.
 * Safe  slices that others manage are not touched; a reconcile waits until the cache shows what it
 *       wrote last (shared/expectations.ts), so it never makes a second set.
 */
import type { Endpoints, EndpointSlice, Node, Pod, Service } from "#api/gen/types.ts";
import { labelsMatch, selectorFromMap } from "#api/selectors/label-selector.ts";
import { keyOf } from "#client/indexer.ts";
import { isAlreadyExists, isNotFound } from "#client/api-errors.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { Expectations, unfulfilled } from "../framework/expectations.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { addGathered } from "../framework/gather.ts";
import { jsonEqual } from "../framework/equal.ts";
import { controllerReference } from "../ownership/owner.ts";
import { isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import { memoSelector } from "../ownership/selectors.ts";
import { planGroups, familiesOf, type Desired, type Family, type PortGroup } from "./desired.ts";
import {
  isElection,
  labelsFrom,
  managedLabel,
  serviceIndex,
  serviceKeys,
  serviceLabel,
} from "./labels.ts";
import { legacyEndpoints, overCapacityAnnotation } from "./legacy.ts";
import { planSlices, type SliceContent } from "./slices.ts";

const gvk = { group: "", version: "v1", kind: "Service" };
const workers = 10;
const manager = "endpointslice-controller.k8s.io";
const legacyManagedLabel = "endpoints.kubernetes.io/managed-by";
const legacyManager = "endpoint-controller";
/** Retry delay for a pod on an unknown node: the node will appear, or the pod will be collected. */
const incompleteMs = 1_000;

// long: one closure holds the informers and the barriers that the small functions below share
export function endpointsController(deps: ControllerDeps): Controller {
  const { client, informers, clock } = deps;
  const legacyClient = deps.clientFor("endpoint-controller");
  const services = informers.informer<Service>(refs.services);
  const pods = informers.informer<Pod>(refs.pods);
  const nodes = informers.informer<Node>(refs.nodes);
  const slices = informers.informer<EndpointSlice>(refs.endpointslices);
  const legacy = informers.informer<Endpoints>(refs.endpoints);
  slices.addIndex(serviceIndex, serviceKeys);
  const expectations = new Expectations(slices, clock);
  const legacyExpectations = new Expectations(legacy, clock);
  /** Pods of each Service, as last counted. */
  const sizes = new Map<string, number>();
  const controller = queueController(
    deps,
    { name: "endpointslice-controller", workers },
    reconcile,
  );
  const { queue } = controller;
  services.addHandler({
    add: (service) => queue.add(keyOf(service)),
    update: (_old, service) => queue.add(keyOf(service)),
    delete: (service) => queue.add(keyOf(service)),
  });
  pods.addHandler({ add: wake, delete: wake, update: wakeChanged });
  slices.addHandler({
    add: wakeSlice,
    update: (_old, slice) => wakeSlice(slice),
    delete: wakeSlice,
  });
  legacy.addHandler({
    add: wakeLegacy,
    update: (_old, object) => wakeLegacy(object),
    delete: (object) => queue.add(keyOf(object)),
  });
  return controller;

  function wake(pod: Pod): void {
    for (const service of services.list(pod.metadata?.namespace)) {
      const key = keyOf(service);
      if (selects(service, pod)) addGathered(queue, key, sizes.get(key) ?? 0);
    }
  }

  /** Most updates of a pod say nothing to a Service; only what `desired.ts` looks at counts. */
  function wakeChanged(old: Pod, pod: Pod): void {
    const relevant = (p: Pod): unknown => [
      p.metadata?.labels,
      p.metadata?.deletionTimestamp,
      p.status?.podIP,
      p.status?.podIPs,
      p.status?.phase,
      p.spec?.nodeName,
      p.status?.conditions?.find((c) => c.type === "Ready")?.status,
    ];
    if (jsonEqual(relevant(old), relevant(pod))) return;
    wake(old);
    wake(pod);
  }

  function wakeSlice(slice: EndpointSlice): void {
    if (!isOurs(slice)) return;
    for (const key of serviceKeys(slice)) addGathered(queue, key, sizes.get(key) ?? 0);
  }

  /** Also finds, at the start, what a Service that went while we were away has left. */
  function wakeLegacy(object: Endpoints): void {
    if (object.metadata?.labels?.[legacyManagedLabel] === legacyManager) queue.add(keyOf(object));
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const service = services.getByKey(key);
    if (service === undefined) {
      sizes.delete(key);
      return removeLegacy(key);
    }
    const { selector = {}, type } = service.spec ?? {};
    if (Object.keys(selector).length === 0 || type === "ExternalName") return;
    if (service.metadata?.deletionTimestamp !== undefined) return;
    if (!expectations.passed(key) || !legacyExpectations.passed(key)) return unfulfilled;
    const matched = pods.list(service.metadata?.namespace).filter((pod) => selects(service, pod));
    sizes.set(key, matched.length);
    const families = familiesOf(service);
    const desired = new Map(
      families.map((family) => [family, desiredOf(service, family, matched)]),
    );
    try {
      await writeAll(key, service, desired);
    } catch (error) {
      if (isNamespaceGoing(error)) return;
      const text = `Error updating Endpoint Slices for Service ${key}: ${textOf(error)}`;
      deps.recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", text);
      throw error;
    }
    const incomplete = [...desired.values()].some((one) => one.incomplete);
    return incomplete ? { requeueAfterMs: incompleteMs } : undefined;
  }

  function desiredOf(service: Service, family: Family, matched: readonly Pod[]): Desired {
    const nodeOf = (name: string): Node | undefined => nodes.get("", name);
    return planGroups({ service, family, pods: matched, nodeOf });
  }

  async function writeAll(
    key: string,
    service: Service,
    desired: ReadonlyMap<Family, Desired>,
  ): Promise<void> {
    const existing = slices.byIndex(serviceIndex, key).filter(isOurs);
    const mine = existing.filter((slice) => isOwnedBy(slice, service));
    const strangers = existing.filter(
      (slice) => !mine.includes(slice) || !desired.has(slice.addressType as Family),
    );
    for (const [family, { groups }] of desired) {
      const same = mine.filter((slice) => slice.addressType === family);
      await writeSlices(key, service, family, groups, same);
    }
    // Of an earlier Service of this name, or of a family it no longer has.
    for (const slice of strangers) await removeSlice(key, slice);
    const [primary] = familiesOf(service);
    const groups = (primary === undefined ? undefined : desired.get(primary))?.groups ?? [];
    await writeLegacy(key, service, groups);
  }

  async function writeSlices(
    key: string,
    service: Service,
    family: Family,
    groups: readonly PortGroup[],
    existing: readonly EndpointSlice[],
  ): Promise<void> {
    const labels = labelsOf(service);
    const plan = planSlices({ groups, existing, labels });
    const namespace = service.metadata?.namespace ?? "";
    for (const content of plan.create) {
      const object = sliceOf(service, family, content);
      expectations.wrote(key, await client.create(refs.endpointslices, namespace, object));
    }
    for (const { slice, content } of plan.update) {
      const next = { ...slice, ...content, metadata: { ...slice.metadata, labels } };
      expectations.wrote(key, await client.update(refs.endpointslices, namespace, next));
    }
    for (const slice of plan.remove) await removeSlice(key, slice);
  }

  async function removeSlice(key: string, slice: EndpointSlice): Promise<void> {
    const { namespace = "", name = "", uid = "" } = slice.metadata ?? {};
    expectations.deleting(key, slice);
    try {
      await client.delete(refs.endpointslices, namespace, name, { preconditions: { uid } });
    } catch (error) {
      expectations.notDeleted(key, slice);
      if (!isNotFound(error)) throw error;
    }
  }

  async function writeLegacy(
    key: string,
    service: Service,
    groups: readonly PortGroup[],
  ): Promise<void> {
    const { namespace = "", name = "" } = service.metadata ?? {};
    const { subsets, truncated } = legacyEndpoints(groups);
    const labels = { ...labelsFrom(service), [legacyManagedLabel]: legacyManager };
    const current = legacy.get(namespace, name);
    const { [overCapacityAnnotation]: _over, ...kept } = current?.metadata?.annotations ?? {};
    const annotations = truncated ? { ...kept, [overCapacityAnnotation]: "truncated" } : kept;
    const wanted = { subsets, labels, annotations };
    if (current === undefined) {
      const metadata = { name, namespace, labels, annotations };
      const object: Endpoints = { apiVersion: "v1", kind: "Endpoints", metadata, subsets };
      return createLegacy(key, namespace, object);
    }
    const { metadata } = current;
    const has = { subsets: current.subsets ?? [], labels: metadata?.labels ?? {} };
    if (jsonEqual(wanted, { ...has, annotations: metadata?.annotations ?? {} })) return;
    const next = { ...current, metadata: { ...metadata, labels, annotations }, subsets };
    legacyExpectations.wrote(key, await legacyClient.update(refs.endpoints, namespace, next));
  }

  async function createLegacy(key: string, namespace: string, object: Endpoints): Promise<void> {
    try {
      legacyExpectations.wrote(key, await legacyClient.create(refs.endpoints, namespace, object));
    } catch (error) {
      // Made by hand a moment ago: its event brings us back.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async function removeLegacy(key: string): Promise<undefined> {
    expectations.forget(key);
    legacyExpectations.forget(key);
    const object = legacy.getByKey(key);
    if (object === undefined || isElection(object)) return;
    const { namespace = "", name = "", uid = "" } = object.metadata ?? {};
    try {
      await legacyClient.delete(refs.endpoints, namespace, name, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function sliceOf(service: Service, addressType: Family, content: SliceContent): EndpointSlice {
  const { name = "", namespace = "" } = service.metadata ?? {};
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: labelsOf(service),
      ownerReferences: [controllerReference(gvk, service)],
    },
    addressType,
    ...content,
  };
}

function labelsOf(service: Service): Readonly<Record<string, string>> {
  const name = service.metadata?.name ?? "";
  return { ...labelsFrom(service), [serviceLabel]: name, [managedLabel]: manager };
}

function isOurs(slice: EndpointSlice): boolean {
  return slice.metadata?.labels?.[managedLabel] === manager;
}

function isOwnedBy(slice: EndpointSlice, service: Service): boolean {
  const owners = slice.metadata?.ownerReferences ?? [];
  return owners.some(({ kind, uid }) => kind === "Service" && uid === service.metadata?.uid);
}

function selects(service: Service, pod: Pod): boolean {
  const selector = service.spec?.selector ?? {};
  if (Object.keys(selector).length === 0) return false;
  const parsed = memoSelector(service, () => selectorFromMap(selector));
  return labelsMatch(parsed, pod.metadata?.labels ?? {});
}
