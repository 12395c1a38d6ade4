/**
 * Keeps the tables what the mapping says of the mirrored objects: Services, EndpointSlices, ServiceImports, Ingresses,
 * and those of the Gateway API.
 *
 * In     each object as it is set or deleted, then `settle`.
 * Holds  after `settle` the tables are a function of the objects held, however they came to be. A changed
 *        slice costs the endpoints of its service; an Ingress, or a Service that one names, costs the
 *        resources of all Ingresses; the same of routes and Gateways.
 */
import type { EndpointSlice, Ingress, Service } from "#api/gen/types.ts";
import type { AnyObject, KubeObject, ObjectMeta } from "#api/object.ts";
import { type GatewayKind, GatewayMapping, type GatewayMade } from "./gateway/gateway-mapping.ts";
import type { FindImport, FindService } from "./gateway/backends.ts";
import {
  importEndpoints,
  importLabels,
  importResources,
  readImport,
  type ImportedService,
} from "./import-resources.ts";
import { IngressMapping } from "./ingress-resources.ts";
import type { Digest } from "./resource.ts";
import type { TableLimits } from "./limits.ts";
import { serviceKeyOfName } from "./resource-names.ts";
import { ResourceTable } from "./resource-table.ts";
import { SliceIndex } from "./slice-index.ts";
import { endpointResources, serviceResources, type TypedResource } from "./service-resources.ts";
import { clusterType, endpointsType, listenerType, routesType } from "./type-urls.ts";

const serviceLabel = "kubernetes.io/service-name";
/** Labels that the mapping reads. */
const readLabels = [serviceLabel, ...Object.values(importLabels)];
/** Types of the resources that are made of a Service alone. */
const serviceTypes = [clusterType, listenerType, routesType];

/** Type and name of each resource that one source has put into a table. */
type Made = readonly (readonly [typeUrl: string, name: string])[];

export class ResourceMaker {
  readonly #digest: Digest;
  readonly #limits: TableLimits;
  readonly #tables: ReadonlyMap<string, ResourceTable>;
  readonly #services = new Map<string, Service>();
  readonly #slices = new SliceIndex(serviceLabel);
  readonly #imports = new Map<string, ImportedService>();
  readonly #importedSlices = new SliceIndex(importLabels.service);
  readonly #ingresses = new Map<string, Ingress>();
  readonly #changedServices = new Set<string>();
  readonly #changedEndpoints = new Set<string>();
  readonly #ingressMapping: IngressMapping;
  readonly #gatewayMapping: GatewayMapping;
  #gateways: GatewayMade = { resources: [], mesh: new Map(), http2: new Set(), problems: [] };
  #ingressesChanged = false;
  /** Keys of the Services that Ingresses name. */
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

  /** Returns the table of a type. A type that is not served gets a new, empty table. */
  table(typeUrl: string): ResourceTable {
    return this.#tables.get(typeUrl) ?? new ResourceTable(typeUrl, this.#limits);
  }

  get tables(): readonly ResourceTable[] {
    return [...this.#tables.values()];
  }

  /** Parts of routes that are not served, with the reasons. */
  get problems(): readonly string[] {
    return this.#gateways.problems;
  }

  /** Sets a Service. `key` is `namespace/name`; `service` is undefined when it was deleted. */
  service(key: string, service: Service | undefined): void {
    put(this.#services, key, service);
    this.#changedServices.add(key);
    this.#changedEndpoints.add(key);
    if (this.#ingressServices.has(key)) this.#ingressesChanged = true;
    this.#gatewayMapping.serviceChanged(key);
  }

  /** Sets a ServiceImport; `object` is undefined when it was deleted. */
  serviceImport(key: string, object: AnyObject | undefined): void {
    if (object === undefined) this.#imports.delete(key);
    else this.#imports.set(key, readImport(object));
    this.#changedServices.add(key);
    this.#changedEndpoints.add(key);
    this.#gatewayMapping.serviceChanged(key);
  }

  slice(key: string, slice: EndpointSlice | undefined): void {
    const kept = slice && { ...slice, metadata: keptMetadata(slice) };
    for (const index of [this.#slices, this.#importedSlices]) {
      for (const changed of index.set(key, kept)) this.#changedEndpoints.add(changed);
    }
  }

  ingress(key: string, ingress: Ingress | undefined): void {
    put(this.#ingresses, key, ingress);
    this.#ingressesChanged = true;
  }

  gatewayObject(kind: GatewayKind, key: string, object: AnyObject | undefined): void {
    this.#gatewayMapping.set(kind, key, object);
  }

  /** Whether all routes of Gateways and Services must be remade: about 20 ms for a thousand of them. */
  get areRoutesChanged(): boolean {
    return this.#gatewayMapping.isChanged;
  }

  /** Brings the tables up to date. */
  settle(): void {
    if (this.areRoutesChanged) this.#settleGateways();
    this.settleObjects();
  }

  /** Updates all resources except the routes of Gateways and Services. */
  settleObjects(): void {
    for (const key of this.#changedServices) {
      const service = this.#services.get(key);
      const made =
        service === undefined ? [] : serviceResources(this.#digest, service, this.#gateways);
      this.#replace(`service ${key}`, made);
      const imported = this.#imports.get(key);
      const { http2 } = this.#gateways;
      this.#replace(
        `import ${key}`,
        imported === undefined ? [] : importResources(this.#digest, imported, http2),
      );
    }
    for (const key of this.#changedEndpoints) {
      this.#replace(`endpoints ${key}`, this.#endpoints(key));
      this.#replace(`imported endpoints ${key}`, this.#importedEndpoints(key));
    }
    this.#changedServices.clear();
    this.#changedEndpoints.clear();
    if (this.#ingressesChanged) this.#settleIngresses();
  }

  #endpoints(key: string): readonly TypedResource[] {
    const service = this.#services.get(key);
    if (service === undefined) return [];
    return endpointResources(this.#digest, service, this.#slices.of(key));
  }

  #importedEndpoints(key: string): readonly TypedResource[] {
    const imported = this.#imports.get(key);
    if (imported === undefined) return [];
    return importEndpoints(this.#digest, imported, {
      imported: this.#importedSlices.of(key),
      service: this.#services.get(key),
      own: this.#slices.of(key),
    });
  }

  /** Remakes the routes, and marks the Services whose routes or protocol changed. */
  #settleGateways(): void {
    const before = this.#gateways;
    const find: FindService = (namespace, name) => this.#services.get(`${namespace}/${name}`);
    const findImport: FindImport = (namespace, name) => this.#imports.get(`${namespace}/${name}`);
    const made = this.#gatewayMapping.make(find, findImport);
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

  /** Sets the resources of `source`, and deletes those that it no longer makes. */
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

function put<T extends KubeObject>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, { ...value, metadata: keptMetadata(value) });
}

/** Metadata that the mapping reads. Managed fields and annotations, often most of an object, are dropped. */
function keptMetadata({ metadata = {} }: KubeObject): ObjectMeta {
  const { name = "", namespace = "", labels, creationTimestamp = "" } = metadata;
  const kept = readLabels.flatMap((label) => {
    const value = labels?.[label];
    return value === undefined ? [] : [[label, value] as const];
  });
  return {
    name,
    namespace,
    creationTimestamp,
    ...(kept.length === 0 ? {} : { labels: Object.fromEntries(kept) }),
  };
}
