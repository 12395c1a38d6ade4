/**
 * Where a rule's backends lead: a Service's port, a ServiceImport's of the route's own namespace, or nowhere.
 *
 * Holds  a Service of another namespace is not looked at, and so not told from one that is not there, unless
 *        a ReferenceGrant of that namespace lets this kind of route of that namespace in.
 */
import type { Service } from "#api/gen/types.ts";
import type { ImportedService } from "../import-resources.ts";
import { importPortName, servicePortName } from "../resource-names.ts";
import { servicePorts } from "../service-resources.ts";
import type { ReferenceGrant } from "./gateway-objects.ts";
import type { BackendRef, RouteObject } from "./route-objects.ts";

export type FindService = (namespace: string, name: string) => Service | undefined;

export type FindImport = (namespace: string, name: string) => ImportedService | undefined;

export class Backends {
  readonly #grants: ReadonlyMap<string, readonly ReferenceGrant[]>;
  readonly #find: FindService;
  readonly #findImport: FindImport;
  /** Keys of the Services and ServiceImports that have been looked up. */
  readonly looked = new Set<string>();
  /** Ports that GRPCRoutes lead to and that therefore speak HTTP/2 (GEP-1911). */
  readonly http2 = new Set<string>();

  constructor(grants: Iterable<ReferenceGrant>, find: FindService, findImport: FindImport) {
    this.#grants = Map.groupBy(grants, ({ namespace }) => namespace);
    this.#find = find;
    this.#findImport = findImport;
  }

  /** Returns the cluster and its namespace. Undefined: the backend cannot be used. */
  resolve(
    route: RouteObject,
    { service, port }: BackendRef,
  ): { readonly cluster: string; readonly namespace: string } | undefined {
    if (service === undefined || port === undefined) return undefined;
    const { namespace, name, isImport } = service;
    if (isImport) return this.#resolveImport(route, name, port);
    if (namespace !== route.namespace && !this.#isGranted(route, namespace, name)) return undefined;
    this.looked.add(`${namespace}/${name}`);
    const found = this.#find(namespace, name);
    const isThere = found !== undefined && servicePorts(found).some((one) => one.port === port);
    if (!isThere) return undefined;
    const cluster = servicePortName(name, namespace, port);
    if (route.kind === "GRPCRoute") this.http2.add(cluster);
    return { cluster, namespace };
  }

  /** Resolves a ServiceImport as in GEP-1748. */
  #resolveImport(
    { kind, namespace }: RouteObject,
    name: string,
    port: number,
  ): { readonly cluster: string; readonly namespace: string } | undefined {
    this.looked.add(`${namespace}/${name}`);
    const found = this.#findImport(namespace, name);
    if (found === undefined || !found.ports.some((one) => one.port === port)) return undefined;
    const cluster = importPortName(name, namespace, port);
    if (kind === "GRPCRoute") this.http2.add(cluster);
    return { cluster, namespace };
  }

  #isGranted(route: RouteObject, namespace: string, name: string): boolean {
    const isFrom = (from: { kind: string; namespace: string }): boolean =>
      from.kind === route.kind && from.namespace === route.namespace;
    return (this.#grants.get(namespace) ?? []).some(
      ({ from, to }) => from.some(isFrom) && to.some((one) => one === undefined || one === name),
    );
  }
}
