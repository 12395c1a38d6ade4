/**
 * Extended resources that a DeviceClass implements: finds the class, and converts the requests of a Pod's containers
 * into requests of one claim that the scheduler creates for the Pod.
 *
 * Holds  among several classes that name one resource, the newest is used; among equally old ones, the first by name.
 * After  k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache; k/k pkg/scheduler/framework/plugins/
 *        dynamicresources/extendeddynamicresources.go. Gate DRAExtendedResource, on in 1.36.
 */
import type {
  Container,
  ContainerExtendedResourceRequest,
  DeviceClass,
  DeviceRequest,
  Pod,
  ResourceClaim,
} from "#api/gen/types.ts";
import { amountOf } from "../amounts.ts";

/** Annotation of the claims that the scheduler makes for the extended resources of Pods. */
const annotation = "resource.kubernetes.io/extended-resource-claim";
/** Every class provides the resource whose name is this prefix and the class name. */
const implicitPrefix = "deviceclass.resource.kubernetes.io/";
/** Name of a claim that is not created yet; not a valid object name. */
export const unwrittenName = "<extended-resources>";

export class ExtendedResources {
  /** By resource: the classes that name the resource explicitly. */
  readonly #explicit = new Map<string, DeviceClass[]>();
  readonly #byName = new Map<string, DeviceClass>();

  set(deviceClass: DeviceClass): void {
    const name = deviceClass.metadata?.name ?? "";
    this.delete(name);
    this.#byName.set(name, deviceClass);
    const resource = deviceClass.spec.extendedResourceName;
    if (resource === undefined) return;
    const siblings = [...(this.#explicit.get(resource) ?? []), deviceClass];
    this.#explicit.set(resource, siblings.toSorted(newestFirst));
  }

  delete(name: string): void {
    const resource = this.#byName.get(name)?.spec.extendedResourceName;
    this.#byName.delete(name);
    if (resource === undefined) return;
    const left = (this.#explicit.get(resource) ?? []).filter((one) => one.metadata?.name !== name);
    if (left.length > 0) this.#explicit.set(resource, left);
    else this.#explicit.delete(resource);
  }

  classOf(resource: string): DeviceClass | undefined {
    if (!resource.startsWith(implicitPrefix)) return this.#explicit.get(resource)?.[0];
    return this.#byName.get(resource.slice(implicitPrefix.length));
  }
}

function newestFirst({ metadata: a = {} }: DeviceClass, { metadata: b = {} }: DeviceClass): number {
  const [made, madeB] = [a.creationTimestamp ?? "", b.creationTimestamp ?? ""];
  if (made !== madeB) return made > madeB ? -1 : 1;
  return (a.name ?? "") < (b.name ?? "") ? -1 : 1;
}

/** Returns the uid of the Pod whose extended resources the claim represents. Undefined: any other claim. */
export function extendedClaimOwner({ metadata }: ResourceClaim): string | undefined {
  if (metadata?.annotations?.[annotation] !== "true") return undefined;
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

/** Returns the claim to create, with the name and uid that identify it until its creation. */
export function newExtendedClaim(
  { metadata: { name = "", namespace = "", uid: podUid = "" } = {} }: Pod,
  uid: string,
  requests: readonly DeviceRequest[],
): ResourceClaim {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      name: unwrittenName,
      namespace,
      uid,
      generateName: `${name}-extended-resources-`,
      annotations: { [annotation]: "true" },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid: podUid, controller: true }],
    },
    spec: { devices: { requests } },
  };
}

interface Asked {
  readonly requests: readonly DeviceRequest[];
  /** Assigns a request of the claim to each extended resource of a container. */
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

type ClassOf = (resource: string) => DeviceClass | undefined;

/** Returns the requests for `resources`: the resources that the node provides by devices. */
export function requestsOf(pod: Pod, resources: readonly string[], classOf: ClassOf): Asked {
  const requests: DeviceRequest[] = [];
  const mappings: ContainerExtendedResourceRequest[] = [];
  for (const resource of resources.toSorted()) {
    const className = classOf(resource)?.metadata?.name;
    if (className === undefined) continue;
    const asked = requestsOfOne(pod, resource, className);
    requests.push(...asked.requests);
    mappings.push(...asked.mappings);
  }
  return { requests: requests.toSorted((a, b) => (a.name < b.name ? -1 : 1)), mappings };
}

interface Wanted {
  readonly name: string;
  readonly count: number;
}

/**
 * Containers that run at the same time have one request each. An init container that ends first uses the requests of
 * the later containers, plus one more request for the largest amount that any init container lacks.
 */
function requestsOfOne({ spec }: Pod, resource: string, className: string): Asked {
  const init = spec?.initContainers ?? [];
  const all = [...init, ...(spec?.containers ?? [])];
  const endsFirst = (at: number): boolean =>
    at < init.length && all[at]?.restartPolicy !== "Always";
  const mappingOf = ({ name }: Container, requestName: string) => ({
    containerName: name,
    resourceName: resource,
    requestName,
  });
  const lasting = all.map((container, at) =>
    endsFirst(at) ? undefined : wantedOf(container, at, resource, 0),
  );
  const mappings = all.flatMap((container, at) => {
    const own = lasting[at];
    return own === undefined ? [] : [mappingOf(container, own.name)];
  });
  const shortLived: { readonly container: Container; readonly used: readonly Wanted[] }[] = [];
  let most: Wanted | undefined;
  all.forEach((container, at) => {
    const count = endsFirst(at) ? countOf(container, resource) : 0;
    if (count === 0) return;
    const { used, sum } = reusable(lasting.slice(at), count);
    const own = sum < count ? wantedOf(container, at, resource, sum) : undefined;
    if (own !== undefined && (most === undefined || most.count < own.count)) most = own;
    shortLived.push({ container, used: own === undefined ? used : [...used, own] });
  });
  const longLived = new Set(lasting);
  for (const { container, used } of shortLived) {
    for (const one of used) {
      const request = longLived.has(one) ? one : (most ?? one);
      mappings.push(mappingOf(container, request.name));
    }
  }
  const wanted = [most, ...lasting].flatMap((one) => one ?? []);
  return { requests: wanted.map((one) => requestOf(one, className)), mappings };
}

/** Returns as many requests of later containers as are enough for `count`. */
function reusable(later: readonly (Wanted | undefined)[], count: number) {
  const used: Wanted[] = [];
  let sum = 0;
  for (const one of later) {
    if (one === undefined || sum >= count) continue;
    used.push(one);
    sum += one.count;
  }
  return { used, sum };
}

function countOf({ resources }: Container, resource: string): number {
  const text = resources?.requests?.[resource];
  return text === undefined ? 0 : amountOf(resource, text);
}

/** The request's name contains the index of the container and the index of the resource in its sorted resources. */
function wantedOf(
  container: Container,
  at: number,
  resource: string,
  reused: number,
): Wanted | undefined {
  const count = countOf(container, resource);
  if (count === 0) return undefined;
  const index = Object.keys(container.resources?.requests ?? {})
    .toSorted()
    .indexOf(resource);
  return { name: `container-${at}-request-${index}`, count: count - reused };
}

function requestOf({ name, count }: Wanted, deviceClassName: string): DeviceRequest {
  return { name, exactly: { deviceClassName, allocationMode: "ExactCount", count } };
}
