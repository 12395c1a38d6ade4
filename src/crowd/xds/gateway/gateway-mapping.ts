/**
 * The Gateway API as resources: one listener of Envoy for each port that Gateways listen at, with its routes;
 * and the routes of Services that HTTPRoutes and GRPCRoutes name as their parent, for clients without a proxy
 * (GAMMA).
 *
 * Holds  a function of the objects. Nothing is made anew while what is read of them is as before, such as
 *        when only a status changes; of hosts those are whose routes changed.
 * Not    TLS: keys are Secrets, which are not mirrored. Routes of other namespaces than the Service's, which
 *        GAMMA has for the clients of their namespace alone: a client does not say where it is.
 */
import type { AnyObject } from "#api/object.ts";
import { clusterMessage, loadAssignment, socketListener } from "../envoy-messages.ts";
import { gatewayListenerName, nowhereName } from "../resource-names.ts";
import { contentOf, type Digest } from "../resource.ts";
import { routeConfiguration, virtualHost } from "../route-messages.ts";
import { allNamespaces } from "../scope-rights.ts";
import type { TypedResource } from "../service-resources.ts";
import { clusterType, endpointsType, listenerType, routesType } from "../type-urls.ts";
import { attach, type HostEntries, hostsOf, type Labels } from "./attachments.ts";
import { Backends, type FindImport, type FindService } from "./backends.ts";
import { type Gateway, type ReferenceGrant, readGateway, readGrant } from "./gateway-objects.ts";
import { type MeshRoutes, meshRoutes } from "./mesh-routes.ts";
import { readRoute, type RouteObject } from "./route-objects.ts";
import { ageOf, routesForEnvoy } from "./rule-routes.ts";

export type GatewayKind = "Gateway" | "HTTPRoute" | "GRPCRoute" | "ReferenceGrant" | "Namespace";

export interface GatewayMade {
  readonly resources: readonly TypedResource[];
  /** Route configurations by name of a Service's port. */
  readonly mesh: ReadonlyMap<string, MeshRoutes>;
  /** Names of ports that speak HTTP/2 because a GRPCRoute leads to them. */
  readonly http2: ReadonlySet<string>;
  readonly problems: readonly string[];
}

/** Maximum number of matches of one port, each counted once per host. */
const entriesMax = 20_000;
const problemsMax = 64;

export class GatewayMapping {
  readonly #digest: Digest;
  readonly #gateways = new Map<string, Kept<Gateway>>();
  readonly #routes = new Map<string, Kept<RouteObject>>();
  readonly #grants = new Map<string, Kept<ReferenceGrant>>();
  readonly #namespaces = new Map<string, Kept<Labels>>();
  /** Virtual hosts and the routes they were made of. By key: name and port. */
  #made: ReadonlyMap<string, { readonly of: string; readonly bytes: Uint8Array }> = new Map();
  #mesh: ReadonlyMap<string, MeshRoutes> = new Map();
  #services: ReadonlySet<string> = new Set();
  #isChanged = false;

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Sets an object. `key` is `namespace/name`; `object` is undefined when it was deleted. */
  set(kind: GatewayKind, key: string, object: AnyObject | undefined): void {
    switch (kind) {
      case "Gateway":
        return this.#keep(this.#gateways, key, object && readGateway(object));
      case "ReferenceGrant":
        return this.#keep(this.#grants, key, object && readGrant(object));
      case "Namespace":
        return this.#keep(this.#namespaces, key, object && (object.metadata?.labels ?? {}));
      case "HTTPRoute":
      case "GRPCRoute":
        return this.#keep(this.#routes, `${kind} ${key}`, object && readRoute(kind, object));
      default:
        return kind satisfies never;
    }
  }

  /** Call when a Service or a ServiceImport was set or deleted. */
  serviceChanged(key: string): void {
    if (this.#services.has(key)) this.#isChanged = true;
  }

  #keep<T>(map: Map<string, Kept<T>>, key: string, value: T | undefined): void {
    if (value === undefined) {
      if (map.delete(key)) this.#isChanged = true;
      return;
    }
    const text = JSON.stringify(value);
    if (map.get(key)?.text === text) return;
    map.set(key, { text, value });
    this.#isChanged = true;
  }

  make(find: FindService, findImport: FindImport): GatewayMade {
    this.#isChanged = false;
    const backends = new Backends(valuesOf(this.#grants), find, findImport);
    const routes = valuesOf(this.#routes).sort((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
    const problems = routes.flatMap((route) =>
      route.problems.map((one) => `${route.kind} ${route.namespace}/${route.name}: ${one}`),
    );
    const resources = this.#listeners(routes, backends, problems);
    const looked = new Set<string>();
    const findParent: FindService = (namespace, name) => {
      looked.add(`${namespace}/${name}`);
      return find(namespace, name);
    };
    const mesh = meshRoutes(routes, { backends, find: findParent, before: this.#mesh });
    this.#mesh = mesh;
    this.#services = new Set([...backends.looked, ...looked]);
    const nowhere = [
      ...new Set([...mesh.values()].map(({ serviceKey }) => serviceKey.split("/")[0])),
    ];
    resources.push(...nowhere.flatMap((namespace = "") => this.#nowhere(namespace)));
    return { resources, mesh, http2: backends.http2, problems: problems.slice(0, problemsMax) };
  }

  #listeners(
    routes: readonly RouteObject[],
    backends: Backends,
    problems: string[],
  ): TypedResource[] {
    const labelsOf = (namespace: string): Labels | undefined =>
      this.#namespaces.get(`/${namespace}`)?.value;
    const ports = attach(valuesOf(this.#gateways), routes, labelsOf);
    const made = new Map<string, { readonly of: string; readonly bytes: Uint8Array }>();
    const resources = [...ports].flatMap(([port, listeners]) => {
      const { hosts, isCut } = hostsOf(listeners, entriesMax);
      if (isCut) problems.unshift(`port ${port}: more than ${entriesMax} matches of all hosts`);
      return this.#listener(
        port,
        hosts.map((host) => this.#host(port, host, { backends, made })),
      );
    });
    this.#made = made;
    return resources;
  }

  #listener(port: number, hosts: readonly Uint8Array[]): readonly TypedResource[] {
    const name = gatewayListenerName(port);
    const make = (typeUrl: string, value: Uint8Array): TypedResource => {
      const content = contentOf(this.#digest, name, typeUrl, value);
      return { typeUrl, name, scope: allNamespaces, isListed: true, content };
    };
    return [
      make(listenerType, socketListener(name, name, port)),
      make(routesType, routeConfiguration(name, hosts)),
    ];
  }

  #nowhere(namespace: string): readonly TypedResource[] {
    const name = nowhereName(namespace);
    const make = (typeUrl: string, value: Uint8Array): TypedResource => {
      const content = contentOf(this.#digest, name, typeUrl, value);
      return { typeUrl, name, scope: namespace, isListed: false, content };
    };
    return [
      make(clusterType, clusterMessage(name, false)),
      make(endpointsType, loadAssignment(name, [])),
    ];
  }

  #host(
    port: number,
    { hostname, entries }: HostEntries,
    {
      backends,
      made,
    }: { backends: Backends; made: Map<string, { of: string; bytes: Uint8Array }> },
  ): Uint8Array {
    const routes = entries.flatMap((entry) => routesForEnvoy(entry, backends));
    const [key, of] = [`${port} ${hostname}`, JSON.stringify(routes)];
    const before = this.#made.get(key);
    const now =
      before?.of === of
        ? before
        : { of, bytes: virtualHost({ name: hostname, domains: [hostname], routes }) };
    made.set(key, now);
    return now.bytes;
  }
}

interface Kept<T> {
  /** JSON of the value, for comparison. */
  readonly text: string;
  readonly value: T;
}

function valuesOf<T>(map: ReadonlyMap<string, Kept<T>>): T[] {
  return [...map.values()].map(({ value }) => value);
}
