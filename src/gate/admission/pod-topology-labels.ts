/** PodTopologyLabels: a pod gets its node's zone and region as labels when it is bound, or created for a node. */
import type { Pod } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, isSubresource } from "./request.ts";

const copied = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
const nodes = { group: "", resource: "nodes" };

export function podTopologyLabels({ lookup }: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "PodTopologyLabels",
    mutate(request) {
      const object = request.object ?? {};
      const node = nodeOf(request, object);
      if (node === "") return object;
      const labels = lookup.get(nodes, "", node)?.metadata?.labels ?? {};
      const own = object.metadata?.labels ?? {};
      const found = copied.filter((key) => Object.hasOwn(labels, key) && own[key] !== labels[key]);
      if (found.length === 0) return object;
      const added = Object.fromEntries(found.map((key) => [key, labels[key] ?? ""]));
      return { ...object, metadata: { ...object.metadata, labels: { ...own, ...added } } };
    },
  };
}

/** "": the pod has no node. */
function nodeOf(request: AdmissionRequest, object: AnyObject): string {
  if (request.operation !== "CREATE") return "";
  if (isCore(request, "pods")) return (object as Pod).spec?.nodeName ?? "";
  if (!isSubresource(request, "", "pods", "binding")) return "";
  const { kind, name = "" } = (object["target"] ?? {}) as {
    readonly kind?: string;
    readonly name?: string;
  };
  return kind === "Node" ? name : "";
}
