/** The resources that controllers use, by name. */
import type { ResourceRef } from "#client/client.ts";

const core = (resource: string): ResourceRef => ({ group: "", version: "v1", resource });
const apps = (resource: string): ResourceRef => ({ group: "apps", version: "v1", resource });
const storage = (resource: string): ResourceRef => ({
  group: "storage.k8s.io",
  version: "v1",
  resource,
});
const resource = (name: string): ResourceRef => ({
  group: "resource.k8s.io",
  version: "v1",
  resource: name,
});
const batch = (resource: string): ResourceRef => ({ group: "batch", version: "v1", resource });

export const refs = {
  pods: core("pods"),
  customresourcedefinitions: {
    group: "apiextensions.k8s.io",
    version: "v1",
    resource: "customresourcedefinitions",
  },
  validatingadmissionpolicies: {
    group: "admissionregistration.k8s.io",
    version: "v1",
    resource: "validatingadmissionpolicies",
  },
  nodes: core("nodes"),
  namespaces: core("namespaces"),
  services: core("services"),
  endpoints: core("endpoints"),
  serviceaccounts: core("serviceaccounts"),
  secrets: core("secrets"),
  configmaps: core("configmaps"),
  resourcequotas: core("resourcequotas"),
  persistentvolumeclaims: core("persistentvolumeclaims"),
  persistentvolumes: core("persistentvolumes"),
  replicationcontrollers: core("replicationcontrollers"),
  deployments: apps("deployments"),
  replicasets: apps("replicasets"),
  statefulsets: apps("statefulsets"),
  daemonsets: apps("daemonsets"),
  controllerrevisions: apps("controllerrevisions"),
  jobs: batch("jobs"),
  cronjobs: batch("cronjobs"),
  endpointslices: { group: "discovery.k8s.io", version: "v1", resource: "endpointslices" },
  leases: { group: "coordination.k8s.io", version: "v1", resource: "leases" },
  poddisruptionbudgets: { group: "policy", version: "v1", resource: "poddisruptionbudgets" },
  horizontalpodautoscalers: {
    group: "autoscaling",
    version: "v2",
    resource: "horizontalpodautoscalers",
  },
  certificatesigningrequests: {
    group: "certificates.k8s.io",
    version: "v1",
    resource: "certificatesigningrequests",
  },
  subjectaccessreviews: {
    group: "authorization.k8s.io",
    version: "v1",
    resource: "subjectaccessreviews",
  },
  storageclasses: storage("storageclasses"),
  volumeattributesclasses: storage("volumeattributesclasses"),
  volumeattachments: storage("volumeattachments"),
  csidrivers: storage("csidrivers"),
  csinodes: storage("csinodes"),
  resourceclaims: resource("resourceclaims"),
  resourceclaimtemplates: resource("resourceclaimtemplates"),
  resourceslices: resource("resourceslices"),
  ipaddresses: { group: "networking.k8s.io", version: "v1", resource: "ipaddresses" },
  servicecidrs: { group: "networking.k8s.io", version: "v1", resource: "servicecidrs" },
  clusterroles: { group: "rbac.authorization.k8s.io", version: "v1", resource: "clusterroles" },
} as const satisfies Record<string, ResourceRef>;
