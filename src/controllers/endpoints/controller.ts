/**
 * EndpointSlices and Endpoints of Services with a selector: which pods answer, and whether they are
 * ready. One loop for both, over one look at the pods.
 *
 * In    Services, Pods, Nodes (for zones), and the slices and Endpoints it writes.
 * Safe  slices that others manage are not touched; a reconcile waits until the cache shows the
 *       slices it wrote last (shared/barrier.ts), so it never makes a second set.
 */
import type { Endpoints, EndpointSlice, Node, Pod, Service } from "#api/gen/types.ts";
import { labelsMatch, selectorFromMap } from "#api/label-selector.ts";
import { ApiError } from "#api/status.ts";
import { keyOf } from "#client/local-store.ts";
import { Barrier } from "../shared/barrier.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { jsonEqual } from "../shared/equal.ts";
import { controllerReference } from "../shared/owner.ts";
import { refs } from "../shared/refs.ts";
import { desiredGroups, type PortGroup } from "./desired.ts";
import { legacyEndpoints, overCapacityAnnotation } from "./legacy.ts";
import { planSlices, type SliceContent } from "./slices.ts";

const gvk = { group: "", version: "v1", kind: "Service" };
const workers = 10;
const serviceLabel = "kubernetes.io/service-name";
const managedLabel = "endpointslice.kubernetes.io/managed-by";
const manager = "endpointslice-controller.k8s.io";
const legacyManagedLabel = "endpoints.kubernetes.io/managed-by";
const legacyManager = "endpoint-controller";
const headlessLabel = "service.kubernetes.io/headless";

// long: one closure holds the informers that the small functions below share
export function endpointsController(deps: ControllerDeps): Controller {
  const { client, informers } = deps;
  const legacyClient = deps.clientFor("endpoint-controller");
  const services = informers.informer<Service>(refs.services);
  const pods = informers.informer<Pod>(refs.pods);
  const nodes = informers.informer<Node>(refs.nodes);
  const slices = informers.informer<EndpointSlice>(refs.endpointslices);
  const legacy = informers.informer<Endpoints>(refs.endpoints);
  slices.addIndex("controllers.service", (slice) => {
    const service = slice.metadata?.labels?.[serviceLabel];
    return service === undefined ? [] : [`${slice.metadata?.namespace ?? ""}/${service}`];
  });
  const barrier = new Barrier(slices, deps.clock);
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
  slices.addHandler({ update: (_old, slice) => wakeSlice(slice), delete: wakeSlice });
  legacy.addHandler({ delete: (object) => queue.add(keyOf(object)) });
  return controller;

  function wake(pod: Pod): void {
    for (const service of services.list(pod.metadata?.namespace)) {
      if (selects(service, pod)) queue.add(keyOf(service));
    }
  }

  /** Most updates of a pod say nothing to a Service; only what `desired.ts` looks at counts. */
  function wakeChanged(old: Pod, pod: Pod): void {
    const relevant = (p: Pod): unknown => [
      p.metadata?.labels,
      p.metadata?.deletionTimestamp,
      p.status?.podIP,
      p.status?.phase,
      p.spec?.nodeName,
      p.status?.conditions?.find((c) => c.type === "Ready")?.status,
    ];
    if (jsonEqual(relevant(old), relevant(pod))) return;
    wake(old);
    wake(pod);
  }

  function wakeSlice(slice: EndpointSlice): void {
    const service = slice.metadata?.labels?.[serviceLabel];
    if (service !== undefined && isOurs(slice))
      queue.add(`${slice.metadata?.namespace ?? ""}/${service}`);
  }

  async function reconcile(key: string): Promise<void> {
    const service = services.getByKey(key);
    if (service === undefined) return removeLegacy(key);
    const selector = service.spec?.selector ?? {};
    const isManaged = Object.keys(selector).length > 0 && service.spec?.type !== "ExternalName";
    if (!isManaged || service.metadata?.deletionTimestamp !== undefined || !barrier.passed(key))
      return;
    const matched = pods.list(service.metadata?.namespace).filter((pod) => selects(service, pod));
    const byName = new Map(nodes.list().map((node) => [node.metadata?.name ?? "", node]));
    const groups = desiredGroups({ service, pods: matched, nodes: byName });
    await writeSlices(key, service, groups);
    await writeLegacy(service, groups);
  }

  async function writeSlices(
    key: string,
    service: Service,
    groups: readonly PortGroup[],
  ): Promise<void> {
    const existing = slices.byIndex("controllers.service", key).filter(isOurs);
    const plan = planSlices(groups.length === 0 ? [emptyGroup] : groups, existing);
    const hasAny = existing.length - plan.remove.length + plan.create.length > 0;
    // A Service without endpoints has one empty slice, as upstream's placeholder.
    const create = hasAny ? plan.create : [{ ports: [], endpoints: [] }];
    const keep = hasAny ? undefined : plan.remove[0];
    const namespace = service.metadata?.namespace ?? "";
    for (const content of keep === undefined ? create : []) {
      barrier.wrote(
        key,
        await client.create(refs.endpointslices, namespace, sliceOf(service, content)),
      );
    }
    const updates =
      keep === undefined ? plan.update : [{ slice: keep, content: { ports: [], endpoints: [] } }];
    for (const { slice, content } of updates) {
      if (
        jsonEqual(slice.endpoints ?? [], content.endpoints) &&
        jsonEqual(slice.ports ?? [], content.ports)
      )
        continue;
      const next = {
        ...slice,
        ...content,
        metadata: { ...slice.metadata, labels: labelsOf(service) },
      };
      barrier.wrote(key, await client.update(refs.endpointslices, namespace, next));
    }
    for (const slice of plan.remove) {
      if (slice === keep) continue;
      barrier.deleting(key, slice);
      await client
        .delete(refs.endpointslices, namespace, slice.metadata?.name ?? "")
        .catch(ignoreGone);
    }
  }

  async function writeLegacy(service: Service, groups: readonly PortGroup[]): Promise<void> {
    const { namespace = "", name = "" } = service.metadata ?? {};
    const { subsets, truncated } = legacyEndpoints(groups);
    const current = legacy.get(namespace, name);
    const headless = service.spec?.clusterIP === "None" ? { [headlessLabel]: "" } : {};
    const labels = {
      ...service.metadata?.labels,
      ...headless,
      [legacyManagedLabel]: legacyManager,
    };
    const annotations = truncated ? { [overCapacityAnnotation]: "truncated" } : undefined;
    const metadata = {
      ...current?.metadata,
      name,
      namespace,
      labels,
      ...(annotations === undefined ? {} : { annotations }),
    };
    if (current === undefined) {
      const object = { apiVersion: "v1", kind: "Endpoints", metadata, subsets };
      return void (await legacyClient
        .create<Endpoints>(refs.endpoints, namespace, object)
        .catch(ignoreGone));
    }
    if (jsonEqual(current.subsets ?? [], subsets) && jsonEqual(current.metadata?.labels, labels))
      return;
    await legacyClient.update<Endpoints>(refs.endpoints, namespace, {
      ...current,
      metadata,
      subsets,
    });
  }

  async function removeLegacy(key: string): Promise<void> {
    barrier.forget(key);
    const object = legacy.getByKey(key);
    if (object === undefined || object.metadata?.labels?.[legacyManagedLabel] !== legacyManager)
      return;
    const { namespace = "", name = "" } = object.metadata;
    await legacyClient.delete(refs.endpoints, namespace, name).catch(ignoreGone);
  }
}

const emptyGroup: PortGroup = { ports: [], endpoints: new Map() };

function sliceOf(service: Service, content: SliceContent): EndpointSlice {
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
    addressType: service.spec?.ipFamilies?.[0] === "IPv6" ? "IPv6" : "IPv4",
    ...content,
  };
}

function labelsOf(service: Service): Readonly<Record<string, string>> {
  const headless = service.spec?.clusterIP === "None" ? { [headlessLabel]: "" } : {};
  return {
    ...service.metadata?.labels,
    ...headless,
    [serviceLabel]: service.metadata?.name ?? "",
    [managedLabel]: manager,
  };
}

function isOurs(slice: EndpointSlice): boolean {
  return slice.metadata?.labels?.[managedLabel] === manager;
}

function selects(service: Service, pod: Pod): boolean {
  const selector = service.spec?.selector ?? {};
  return (
    Object.keys(selector).length > 0 &&
    labelsMatch(selectorFromMap(selector), pod.metadata?.labels ?? {})
  );
}

function ignoreGone(error: unknown): undefined {
  if (error instanceof ApiError && [403, 404, 409].includes(error.code)) return undefined;
  throw error;
}
