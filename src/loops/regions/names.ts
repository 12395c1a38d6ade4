/** Names that the coordinator writes into objects, its own API group, and the kinds that it reads and writes. */
import type { ResourceRef } from "#client/client.ts";

export const group = "regions.pilothouse.dev";
const multicluster = "multicluster.x-k8s.io";

/** `spec.clusterManager.name` of Pilothouse's ClusterProfiles, and the field manager of the coordinator's writes. */
export const managerName = "pilothouse-coordinator";

export const labels = {
  /** On every placed object: the uid of its placement. */
  placement: `${group}/placement`,
  /** On the Secret with a region's kubeconfig: the region's name. */
  region: `${group}/region`,
  /** On a Namespace: its objects go only to regions with the same value. */
  residency: `${group}/residency`,
  /** On an imported EndpointSlice: its endpoints are in the same cluster as the slice. Read by the relay's discovery (#xds). */
  local: `${group}/local`,
  /** Standard label on a ClusterProfile. */
  clusterManager: "x-k8s.io/cluster-manager",
} as const;

export const annotations = {
  /** On a placed object: the uid of the object that it was made from. */
  source: `${group}/source-uid`,
  /** On a placed object: hash of the applied object, so that the same object is not written twice. */
  applied: `${group}/applied`,
  /** On a placed object: the generation of the source object that was applied. */
  generation: `${group}/source-generation`,
  /** On a ClusterProfile: an operator's order, `drain` or `lost`. */
  order: `${group}/order`,
  /** On a placed object, `true`: the region's agent stops it when its fence is not held. */
  fenced: `${group}/fenced`,
  /** On a Deployment: it must run in one region at a time. */
  singleton: `${group}/singleton`,
  /** On a ClusterProfile, `true`: the region's agent makes its summary and holds its fence. */
  agent: `${group}/agent`,
  /** On a ClusterProfile, `true`: the region takes part in global services. */
  services: `${group}/services`,
  /** On a ClusterProfile, `true`: the region's agent dials in, and requests to the region use that connection. */
  pull: `${group}/pull`,
  /** On a ClusterProfile: the cost of one replica in the region, a number. */
  cost: `${group}/cost`,
  /** On the fence Lease: the region's challenge, and the coordinator's grant. */
  challenge: `${group}/challenge`,
  granted: `${group}/granted`,
} as const;

/** Standard labels on imported EndpointSlices (KEP-1645). */
export const mcsLabels = {
  service: "multicluster.kubernetes.io/service-name",
  cluster: "multicluster.kubernetes.io/source-cluster",
} as const;

/** Finalizer of a Placement whose objects are in regions. */
export const placedFinalizer = `${group}/placed`;

/** Namespace in every region for the summary, the fence and the coordinator's account. */
export const regionNamespace = "pilothouse-regions";
export const summaryName = "region-summary";
export const fenceName = "region-fence";

export const refs = {
  placements: { group, version: "v1alpha1", resource: "placements" },
  profiles: { group: multicluster, version: "v1alpha1", resource: "clusterprofiles" },
  secrets: { group: "", version: "v1", resource: "secrets" },
  configMaps: { group: "", version: "v1", resource: "configmaps" },
  serviceAccounts: { group: "", version: "v1", resource: "serviceaccounts" },
  namespaces: { group: "", version: "v1", resource: "namespaces" },
  nodes: { group: "", version: "v1", resource: "nodes" },
  pods: { group: "", version: "v1", resource: "pods" },
  services: { group: "", version: "v1", resource: "services" },
  endpointSlices: { group: "discovery.k8s.io", version: "v1", resource: "endpointslices" },
  leases: { group: "coordination.k8s.io", version: "v1", resource: "leases" },
} as const satisfies Readonly<Record<string, ResourceRef>>;

/** The multi-cluster services API. Its version v1beta1 has the same fields. */
export const mcsRefs = {
  exports: { group: multicluster, version: "v1alpha1", resource: "serviceexports" },
  imports: { group: multicluster, version: "v1alpha1", resource: "serviceimports" },
} as const satisfies Readonly<Record<string, ResourceRef>>;

/** Whether the namespace belongs to the region's own control plane. A pod there could use the accounts of that plane. */
export function isReservedNamespace(namespace: string): boolean {
  return namespace.startsWith("kube-") || namespace === regionNamespace;
}
