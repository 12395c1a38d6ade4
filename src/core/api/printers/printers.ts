/** Which printer a resource has. Everything else shows Name and Created At. */
import { ownEntry } from "#base/own.ts";
import { horizontalPodAutoscalers, scales } from "./autoscaling.ts";
import * as cluster from "./cluster.ts";
import * as config from "./config.ts";
import { nameAndAge, resourceClaims, resourceSlices } from "./devices.ts";
import { events } from "./events.ts";
import * as network from "./network.ts";
import { podTemplates, pods } from "./pods.ts";
import * as policy from "./policy.ts";
import { column, nameColumn, nameOf } from "./printer.ts";
import type { Printer } from "./printer.ts";
import * as storage from "./storage.ts";
import * as workloads from "./workloads.ts";

const printers: Readonly<Record<string, Printer>> = {
  componentstatuses: cluster.componentStatuses,
  configmaps: config.configMaps,
  endpoints: network.endpoints,
  events,
  namespaces: cluster.namespaces,
  nodes: cluster.nodes,
  persistentvolumeclaims: storage.persistentVolumeClaims,
  persistentvolumes: storage.persistentVolumes,
  pods,
  podtemplates: podTemplates,
  replicationcontrollers: workloads.replicationControllers,
  resourcequotas: config.resourceQuotas,
  secrets: config.secrets,
  serviceaccounts: nameAndAge,
  services: network.services,
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": policy.webhookConfigurations,
  "validatingwebhookconfigurations.admissionregistration.k8s.io": policy.webhookConfigurations,
  "validatingadmissionpolicies.admissionregistration.k8s.io": policy.validatingAdmissionPolicies,
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": policy.admissionPolicyBindings,
  "mutatingadmissionpolicies.admissionregistration.k8s.io": policy.mutatingAdmissionPolicies,
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io": policy.admissionPolicyBindings,
  "apiservices.apiregistration.k8s.io": cluster.apiServices,
  "controllerrevisions.apps": workloads.controllerRevisions,
  "daemonsets.apps": workloads.daemonSets,
  "deployments.apps": workloads.deployments,
  "replicasets.apps": workloads.replicaSets,
  "statefulsets.apps": workloads.statefulSets,
  "horizontalpodautoscalers.autoscaling": horizontalPodAutoscalers,
  "scales.autoscaling": scales,
  "cronjobs.batch": workloads.cronJobs,
  "jobs.batch": workloads.jobs,
  "certificatesigningrequests.certificates.k8s.io": config.certificateSigningRequests,
  "leases.coordination.k8s.io": cluster.leases,
  "endpointslices.discovery.k8s.io": network.endpointSlices,
  "events.events.k8s.io": events,
  "flowschemas.flowcontrol.apiserver.k8s.io": policy.flowSchemas,
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": policy.priorityLevelConfigurations,
  "ingressclasses.networking.k8s.io": network.ingressClasses,
  "ingresses.networking.k8s.io": network.ingresses,
  "ipaddresses.networking.k8s.io": network.ipAddresses,
  "networkpolicies.networking.k8s.io": network.networkPolicies,
  "servicecidrs.networking.k8s.io": network.serviceCidrs,
  "runtimeclasses.node.k8s.io": cluster.runtimeClasses,
  "poddisruptionbudgets.policy": policy.podDisruptionBudgets,
  "clusterrolebindings.rbac.authorization.k8s.io": config.clusterRoleBindings,
  "rolebindings.rbac.authorization.k8s.io": config.roleBindings,
  "deviceclasses.resource.k8s.io": nameAndAge,
  "resourceclaims.resource.k8s.io": resourceClaims,
  "resourceclaimtemplates.resource.k8s.io": nameAndAge,
  "resourceslices.resource.k8s.io": resourceSlices,
  "priorityclasses.scheduling.k8s.io": cluster.priorityClasses,
  "podgroups.scheduling.k8s.io": cluster.podGroups,
  "workloads.scheduling.k8s.io": cluster.workloads,
  "csidrivers.storage.k8s.io": storage.csiDrivers,
  "csinodes.storage.k8s.io": storage.csiNodes,
  "storageclasses.storage.k8s.io": storage.storageClasses,
  "volumeattachments.storage.k8s.io": storage.volumeAttachments,
  "volumeattributesclasses.storage.k8s.io": storage.volumeAttributesClasses,
};

const zeroTime = "0001-01-01T00:00:00Z";

/** For resources without a printer of their own, custom ones without columns among them. */
export const defaultPrinter: Printer = {
  columns: [nameColumn, column("Created At", "date", "When the server created the object.")],
  row: (object) => [nameOf(object), object.metadata?.creationTimestamp ?? zeroTime],
};

export function printerFor(group: string, resource: string): Printer {
  return ownEntry(printers, group === "" ? resource : `${resource}.${group}`) ?? defaultPrinter;
}
