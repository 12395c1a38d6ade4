/**
 * The row of a bookmark in a watch of tables. Upstream prints an object of the kind without content, so
 * each cell is made from the zero of its type; printers rely on fields that objects of the kind always have.
 */
import type { AnyObject } from "../object.ts";

/** By `resource.group`: the zero values that the printer of a resource reads without checking. */
const zeros: Readonly<Record<string, object>> = {
  events: { involvedObject: {} },
  "events.events.k8s.io": { involvedObject: {} },
  "controllerrevisions.apps": { revision: 0 },
  "certificatesigningrequests.certificates.k8s.io": { spec: {} },
  "endpointslices.discovery.k8s.io": { addressType: "" },
  "podgroups.scheduling.k8s.io": { spec: { schedulingPolicy: {} } },
  "runtimeclasses.node.k8s.io": { handler: "" },
  "clusterrolebindings.rbac.authorization.k8s.io": { roleRef: { kind: "", name: "" } },
  "rolebindings.rbac.authorization.k8s.io": { roleRef: { kind: "", name: "" } },
  "resourceslices.resource.k8s.io": { spec: { driver: "", pool: { name: "" } } },
  "csidrivers.storage.k8s.io": { spec: {} },
  "csinodes.storage.k8s.io": { spec: { drivers: [] } },
  "storageclasses.storage.k8s.io": { provisioner: "" },
  "volumeattachments.storage.k8s.io": { spec: { attacher: "", nodeName: "", source: {} } },
  "volumeattributesclasses.storage.k8s.io": { driverName: "" },
};

export function printBookmark(group: string, resource: string, bookmark: AnyObject): AnyObject {
  return { ...bookmark, ...zeros[group === "" ? resource : `${resource}.${group}`] };
}
