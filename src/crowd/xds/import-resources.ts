/**
 * A ServiceImport and the endpoints of its clusters as resources: a pure function of them.
 *
 * Order  the own cluster's endpoints have priority 0, those of other clusters 1: a client goes there while too few of its own
 *        are healthy. Without own ones, the others are first.
 * Own    slices that say so by a label. What counts of them is the Service beside the import, where it has the same port: its
 *        endpoints come without a way over whatever imports. Another implementation's slices have no such label: they are
 *        all alike.
 * After  KEP-1645 (multi-cluster services); names as DNS has them.
 */
import type { EndpointSlice, Service } from "#api/gen/types.ts";
import type { AnyObject, KubeObject } from "#api/object.ts";
import { byZone, compareText, endpointsOfPort, type PlacedEndpoint } from "./endpoint-groups.ts";
import { loadAssignment, type Locality } from "./envoy-messages.ts";
import { fields, list, text, whole } from "./gateway/fields.ts";
import { contentOf, type Digest } from "./resource.ts";
import { importPortName } from "./resource-names.ts";
import {
  portResources,
  servicePorts,
  speaksHttp2,
  type TypedResource,
} from "./service-resources.ts";
import { endpointsType } from "./type-urls.ts";

export const importLabels = {
  service: "multicluster.kubernetes.io/service-name",
  cluster: "multicluster.kubernetes.io/source-cluster",
  /** Label of Pilothouse (`pilothouse coordinator`): the slice is from the cluster that it is in. */
  local: "regions.pilothouse.dev/local",
} as const;

/** The fields of a ServiceImport that are read. */
export interface ImportedService {
  readonly namespace: string;
  readonly name: string;
  readonly ports: readonly ImportedPort[];
}

interface ImportedPort {
  readonly name: string;
  readonly port: number;
  readonly isHttp2: boolean;
}

const portsMax = 100;

export function readImport({ metadata = {}, ...object }: AnyObject): ImportedService {
  const ports = list(fields(object["spec"])["ports"])
    .slice(0, portsMax)
    .flatMap((one): readonly ImportedPort[] => {
      const port = whole(one["port"]);
      if (port === undefined || port > 65_535 || text(one["protocol"], "TCP") !== "TCP") return [];
      return [{ name: text(one["name"]), port, isHttp2: speaksHttp2(text(one["appProtocol"])) }];
    });
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "", ports };
}

/** Resources without endpoints: a listener, routes and a cluster for each port. */
export function importResources(
  digest: Digest,
  { namespace, name, ports }: ImportedService,
  http2: ReadonlySet<string>,
): readonly TypedResource[] {
  return ports.flatMap(({ port, isHttp2: speaks }) => {
    const portName = importPortName(name, namespace, port);
    const isHttp2 = speaks || http2.has(portName);
    return portResources(digest, { portName, scope: namespace, isHttp2 });
  });
}

interface ImportSources {
  /** EndpointSlices of all clusters. */
  readonly imported: readonly EndpointSlice[];
  /** The Service of the same name in this cluster, and its own slices. */
  readonly service: Service | undefined;
  readonly own: readonly EndpointSlice[];
}

/** Endpoint resources, one for each port. */
export function importEndpoints(
  digest: Digest,
  { namespace: scope, name, ports }: ImportedService,
  sources: ImportSources,
): readonly TypedResource[] {
  return ports.map((port) => {
    const portName = importPortName(name, scope, port.port);
    const value = loadAssignment(portName, localities(port, sources));
    const content = contentOf(digest, portName, endpointsType, value);
    return { typeUrl: endpointsType, name: portName, scope, isListed: true, content };
  });
}

function localities(port: ImportedPort, sources: ImportSources): readonly Locality[] {
  const byCluster = Map.groupBy(sources.imported, clusterOf);
  const clusters = [...byCluster].toSorted(([a], [b]) => compareText(a, b));
  const near: Locality[] = [];
  const far: Locality[] = [];
  // A client refuses duplicate addresses, and the networks of two clusters may overlap.
  const taken = new Set<string>();
  for (const isLocal of [true, false]) {
    for (const [region, slices] of clusters) {
      if (slices.some(isOwn) !== isLocal) continue;
      const found = isLocal
        ? ownEndpoints(port, slices, sources)
        : endpointsOfPort(slices, port.name);
      const endpoints = found.filter((one) => isNew(one, taken));
      const zones = byZone(endpoints, 0).map((zone) => ({ ...zone, region }));
      (isLocal ? near : far).push(...zones);
    }
  }
  // Priorities must not have a gap.
  const priority = near.length === 0 ? 0 : 1;
  return [...near, ...far.map((one) => ({ ...one, priority }))];
}

function ownEndpoints(
  { name, port }: ImportedPort,
  slices: readonly EndpointSlice[],
  { service, own }: ImportSources,
): readonly PlacedEndpoint[] {
  const isServed =
    service !== undefined &&
    servicePorts(service).some((one) => (one.name ?? "") === name && one.port === port);
  return endpointsOfPort(isServed ? own : slices, name);
}

function isNew({ address, port }: PlacedEndpoint, taken: Set<string>): boolean {
  const key = `${address} ${port}`;
  if (taken.has(key)) return false;
  taken.add(key);
  return true;
}

function clusterOf({ metadata }: KubeObject): string {
  return metadata?.labels?.[importLabels.cluster] ?? "";
}

function isOwn({ metadata }: KubeObject): boolean {
  return metadata?.labels?.[importLabels.local] === "true";
}
