/**
 * Keeps the tables what the mapping says of the mirrored objects: Services, EndpointSlices, Ingresses, and
 * those of the Gateway API.
 *
 * In     each object as it is set or deleted, then `settle`.
 * Holds  after `settle` the tables are a function of the objects held, however they came to be. A changed
 *        slice costs the endpoints of its service; an Ingress, or a Service that one names, costs the
 *        resources of all Ingresses; the same of routes and Gateways.
 */
import type { EndpointSlice, Ingress, Service } from "#api/gen/types.ts";
import type { AnyObject, KubeObject, ObjectMeta } from "#api/object.ts";
import { type GatewayKind, GatewayMapping, type GatewayMade } from "./gateway/gateway-mapping.ts";
import type { FindService } from "./gateway/backends.ts";
import { IngressMapping } from "./ingress-resources.ts";
import type { Digest } from "./resource.ts";
import type { TableLimits } from "./limits.ts";
import { serviceKeyOfName } from "./resource-names.ts";
import { ResourceTable } from "./resource-table.ts";
import { endpointResources, serviceResources, type TypedResource } from "./service-resources.ts";
import { clusterType, endpointsType, listenerType, routesType } from "./type-urls.ts";

const serviceLabel = "kubernetes.io/service-name";
/** What is made of a Service alone. */
const serviceTypes = [clusterType, listenerType, routesType];

/** What one source of resources has put into a table: type and name. */
type Made = readonly (readonly [typeUrl: string, name: string])[];

export class ResourceMaker {
  readonly #digest: Digest;
  readonly #limits: TableLimits;
  readonly #tables: ReadonlyMap<string, ResourceTable>;
  readonly #services = new Map<string, Service>();
  readonly #slices = new Map<string, EndpointSlice>();
  /** Keys of slices by key of service. */
  readonly #slicesOf = new Map<string, Set<string>>();
  readonly #ingresses = new Map<string, Ingress>();
  readonly #changedServices = new Set<string>();
  readonly #changedEndpoints = new Set<string>();
  readonly #ingressMapping: IngressMapping;
  readonly #gatewayMapping: GatewayMapping;
  #gateways: GatewayMade = { resources: [], mesh: new Map(), http2: new Set(), problems: [] };
  #ingressesChanged = false;
  /** Services that Ingresses name. */
  #ingressServices: ReadonlySet<string> = new Set();
  readonly #made = new Map<string, Made>();

  constructor(digest: Digest, limits: TableLimits) {
    this.#digest = digest;
    this.#limits = limits;
    this.#ingressMapping = new IngressMapping(digest);
    this.#gatewayMapping = new GatewayMapping(digest);
    this.#tables = new Map(
      [...serviceTypes, endpointsType].map((type) => [type, new ResourceTable(type, limits)]),
    );
  }

  /** Of a type that is not served: empty, and of its asker alone. */
  table(typeUrl: string): ResourceTable {
    return this.#tables.get(typeUrl) ?? new ResourceTable(typeUrl, this.#limits);
  }

  get tables(): readonly ResourceTable[] {
    return [...this.#tables.values()];
  }

  /** What of routes is not served, and why. */
  get problems(): readonly string[] {
    return this.#gateways.problems;
  }

  /** Keys are `namespace/name`; undefined: deleted. */
  service(key: string, service: Service | undefined): void {
    put(this.#services, key, service);
    this.#changedServices.add(key);
    this.#changedEndpoints.add(key);
    if (this.#ingressServices.has(key)) this.#ingressesChanged = true;
    this.#gatewayMapping.serviceChanged(key);
  }

  slice(key: string, slice: EndpointSlice | undefined): void {
    const before = serviceOf(this.#slices.get(key));
    const after = serviceOf(slice);
    put(this.#slices, key, slice);
    if (before !== after) {
      if (before !== undefined) this.#slicesOf.get(before)?.delete(key);
      if (before !== undefined && this.#slicesOf.get(before)?.size === 0) {
        this.#slicesOf.delete(before);
      }
      if (after !== undefined) {
        this.#slicesOf.set(after, (this.#slicesOf.get(after) ?? new Set()).add(key));
      }
    }
    for (const changed of [before, after]) {
      if (changed !== undefined) this.#changedEndpoints.add(changed);
    }
  }

  ingress(key: string, ingress: Ingress | undefined): void {
    put(this.#ingresses, key, ingress);
    this.#ingressesChanged = true;
  }

  gatewayObject(kind: GatewayKind, key: string, object: AnyObject | undefined): void {
    this.#gatewayMapping.set(kind, key, object);
  }

  /** All routes of Gateways and Services are to be made anew: some 20 ms for a thousand of them. */
  get areRoutesChanged(): boolean {
    return this.#gatewayMapping.isChanged;
  }

  /** Brings the tables up to date. */
  settle(): void {
    if (this.areRoutesChanged) this.#settleGateways();
    this.settleObjects();
  }

  /** All but what routes of Gateways and Services make. */
  settleObjects(): void {
    for (const key of this.#changedServices) {
      const service = this.#services.get(key);
      const made =
        service === undefined ? [] : serviceResources(this.#digest, service, this.#gateways);
      this.#replace(`service ${key}`, made);
    }
    for (const key of this.#changedEndpoints)
      this.#replace(`endpoints ${key}`, this.#endpoints(key));
    this.#changedServices.clear();
    this.#changedEndpoints.clear();
    if (this.#ingressesChanged) this.#settleIngresses();
  }

  #endpoints(key: string): readonly TypedResource[] {
    const service = this.#services.get(key);
    if (service === undefined) return [];
    const keys = [...(this.#slicesOf.get(key) ?? [])].sort();
    const slices = keys.flatMap((one) => this.#slices.get(one) ?? []);
    return endpointResources(this.#digest, service, slices);
  }

  /** Services whose routes or protocol changed with it are made anew after. */
  #settleGateways(): void {
    const before = this.#gateways;
    const find: FindService = (namespace, name) => this.#services.get(`${namespace}/${name}`);
    const made = this.#gatewayMapping.make(find);
    this.#gateways = made;
    for (const [name, { serviceKey }] of [...before.mesh, ...made.mesh]) {
      const [one, other] = [before.mesh.get(name), made.mesh.get(name)];
      const isSame = one?.bytes === other?.bytes;
      if (!isSame || String(one?.namespaces) !== String(other?.namespaces)) {
        this.#changedServices.add(serviceKey);
      }
    }
    for (const port of before.http2.symmetricDifference(made.http2)) {
      this.#changedServices.add(serviceKeyOfName(port));
    }
    this.#replace("gateways", made.resources);
  }

  #settleIngresses(): void {
    this.#ingressesChanged = false;
    const named = new Set<string>();
    const find = (namespace: string, name: string): Service | undefined => {
      named.add(`${namespace}/${name}`);
      return this.#services.get(`${namespace}/${name}`);
    };
    const made = this.#ingressMapping.resources([...this.#ingresses.values()], find);
    this.#ingressServices = named;
    this.#replace("ingresses", made);
  }

  /** What `source` made before and does not make now goes. */
  #replace(source: string, resources: readonly TypedResource[]): void {
    const kept = new Set(resources.map(({ typeUrl, name }) => `${typeUrl} ${name}`));
    for (const resource of resources) this.table(resource.typeUrl).set(resource);
    for (const [typeUrl, name] of this.#made.get(source) ?? []) {
      if (!kept.has(`${typeUrl} ${name}`)) this.table(typeUrl).delete(name);
    }
    if (resources.length === 0) this.#made.delete(source);
    else
      this.#made.set(
        source,
        resources.map(({ typeUrl, name }) => [typeUrl, name]),
      );
  }
}

function serviceOf(slice: EndpointSlice | undefined): string | undefined {
  const name = slice?.metadata?.labels?.[serviceLabel];
  return name === undefined ? undefined : `${slice?.metadata?.namespace ?? ""}/${name}`;
}

function put<T extends KubeObject>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, { ...value, metadata: keptMetadata(value) });
}

/** What the mapping reads: managed fields and annotations are often the larger part of an object. */
function keptMetadata({ metadata = {} }: KubeObject): ObjectMeta {
  const { name = "", namespace = "", labels, creationTimestamp = "" } = metadata;
  const service = labels?.[serviceLabel];
  return {
    name,
    namespace,
    creationTimestamp,
    ...(service === undefined ? {} : { labels: { [serviceLabel]: service } }),
  };
}
