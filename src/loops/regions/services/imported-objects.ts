/**
 * What an imported service is in one region: a ServiceImport, a Service without selector for its address, and the
 * EndpointSlices of all clusters. A pure function of what is exported.
 *
 * Locality  the own cluster's slices are marked, so that the relay's discovery puts them first. For kube-proxy, endpoints that
 *           have zones get hints: own ones the zones of all own ones, others a zone that no node has. So it sends to its own
 *           while one of them is ready, and else to all.
 * Holds     names of pods and nodes of another cluster are left out; zones stay.
 * After     KEP-1645: labels of slices; a derived Service, as its reference implementation makes.
 */
import type { Endpoint, EndpointSlice, Service } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { sha256Hex } from "#base/sha256.ts";
import type { ResourceRef } from "#client/client.ts";
import { annotations, labels, managerName, mcsLabels, mcsRefs, refs } from "../names.ts";
import { canonicalJson } from "../plan/canonical-json.ts";
import type { ExportedService } from "./exported-service.ts";
import { sharedPortNames, type MergedService } from "./merge-exports.ts";

interface Imported {
  readonly ref: ResourceRef;
  readonly object: AnyObject;
}

interface ImportOptions {
  readonly namespace: string;
  readonly name: string;
  /** Region that imports the service. */
  readonly region: string;
  /** Exports of the clusters whose endpoints are imported. */
  readonly sources: readonly ExportedService[];
  /** The Service that provides the address, as stored in the region. Undefined: it does not exist yet. */
  readonly derived: Service | undefined;
}

/** Maximum number of imported slices per export; further ones are left out. */
const slicesMax = 100;

/** Returns the objects in the order of their creation. */
export function importedObjects(
  merged: MergedService,
  options: ImportOptions,
): readonly Imported[] {
  const isHeadless = merged.type === "Headless";
  const slices = options.sources.flatMap((source) => importedSlices(merged, source, options));
  return [
    ...(isHeadless ? [] : [{ ref: refs.services, object: derivedService(merged, options) }]),
    { ref: mcsRefs.imports, object: serviceImport(merged, options) },
    ...slices.map((object) => ({ ref: refs.endpointSlices, object })),
  ].map(({ ref, object }) => ({ ref, object: withMarks(object, options) }));
}

type Named = Pick<ImportOptions, "namespace" | "name">;

/** Value of the placement label on all objects of one import, valid as a label value. */
export function importUid({ namespace, name }: Named): string {
  return `import.${sha256Hex(`${namespace}/${name}`).slice(0, 32)}`;
}

/** Name of the Service whose address the import uses. */
export function derivedName({ namespace, name }: Named): string {
  return `derived-${sha256Hex(`${namespace}/${name}`).slice(0, 10)}`;
}

function withMarks(object: AnyObject, { namespace, name }: Named): AnyObject {
  const marked = {
    ...object,
    metadata: {
      ...object.metadata,
      namespace,
      labels: { ...object.metadata?.labels, [labels.placement]: importUid({ namespace, name }) },
      annotations: {
        ...object.metadata?.annotations,
        [annotations.source]: `${namespace}/${name}`,
      },
    },
  };
  const applied = sha256Hex(canonicalJson(marked)).slice(0, 16);
  const notes = { ...marked.metadata.annotations, [annotations.applied]: applied };
  return { ...marked, metadata: { ...marked.metadata, annotations: notes } };
}

function derivedService({ ports, traffic }: MergedService, named: Named): AnyObject {
  const served = ports.map((port) => ({ ...port, targetPort: port.port }));
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: derivedName(named) },
    spec: { type: "ClusterIP", ...traffic, ports: served },
  };
}

function serviceImport(merged: MergedService, { name, derived }: ImportOptions): AnyObject {
  const { clusterIP, clusterIPs, ipFamilies } = derived?.spec ?? {};
  const ips = clusterIPs ?? (clusterIP === undefined ? [] : [clusterIP]);
  const address =
    merged.type === "Headless"
      ? {}
      : { ...(ips.length > 0 ? { ips } : {}), ...(ipFamilies === undefined ? {} : { ipFamilies }) };
  const families = merged.type === "Headless" ? { ipFamilies: ["IPv4"] } : {};
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ServiceImport",
    metadata: { name, labels: merged.labels, annotations: merged.annotations },
    spec: { type: merged.type, ports: merged.ports, ...merged.traffic, ...address, ...families },
  };
}

function importedSlices(
  merged: MergedService,
  { region, service, slices }: ExportedService,
  options: ImportOptions,
): readonly AnyObject[] {
  const names = sharedPortNames(merged, service);
  const isLocal = region === options.region;
  const hints = hintsOf(slices, isLocal ? undefined : region);
  return slices.slice(0, slicesMax).map((slice) => {
    const source = slice.metadata?.name ?? "";
    const id = sha256Hex(`${region}/${source}`).slice(0, 16);
    return {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: `${options.name.slice(0, 40)}-${id}`,
        labels: sliceLabels(merged, region, options),
      },
      addressType: slice.addressType,
      ports: (slice.ports ?? []).filter(({ name = "" }) => names.has(name)),
      endpoints: (slice.endpoints ?? []).map((one) => importedEndpoint(one, isLocal, hints)),
    };
  });
}

function sliceLabels(
  { type }: MergedService,
  region: string,
  options: ImportOptions,
): Readonly<Record<string, string>> {
  return {
    "endpointslice.kubernetes.io/managed-by": managerName,
    [mcsLabels.service]: options.name,
    [mcsLabels.cluster]: region,
    ...(type === "Headless" ? {} : { "kubernetes.io/service-name": derivedName(options) }),
    ...(region === options.region ? { [labels.local]: "true" } : {}),
  };
}

function importedEndpoint(
  { addresses, conditions, hostname, zone, nodeName }: Endpoint,
  isLocal: boolean,
  hints: Endpoint["hints"],
): Endpoint {
  return {
    addresses,
    ...(conditions === undefined ? {} : { conditions }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(zone === undefined ? {} : { zone }),
    ...(isLocal && nodeName !== undefined ? { nodeName } : {}),
    ...(zone === undefined || hints === undefined ? {} : { hints }),
  };
}

/** `foreign`: the cluster that the slices come from. Its name is a label value and can serve as a zone name. */
function hintsOf(slices: readonly EndpointSlice[], foreign: string | undefined): Endpoint["hints"] {
  if (foreign !== undefined) return { forZones: [{ name: foreign }] };
  const zones = new Set<string>();
  for (const { endpoints } of slices) {
    for (const { zone } of endpoints ?? []) if (zone !== undefined) zones.add(zone);
  }
  // The API accepts at most eight zones.
  const forZones = [...zones].toSorted().slice(0, 8);
  return forZones.length === 0 ? undefined : { forZones: forZones.map((name) => ({ name })) };
}
