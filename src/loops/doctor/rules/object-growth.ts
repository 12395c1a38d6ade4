/** Finds kinds with more objects than a cluster can use: a controller creates them and never deletes them. */
import { seriesOf } from "../evidence.ts";
import { kindOf, quoted, type Rule } from "../rule.ts";

const objectsMax = 25_000;

/** Kinds that are not checked: their number follows the size of the cluster, or their objects expire. */
const growWithCluster = new Set([
  "pods",
  "nodes",
  "leases.coordination.k8s.io",
  "endpointslices.discovery.k8s.io",
  "endpoints",
  "events",
  "events.events.k8s.io",
]);

export const objectGrowth: Rule = {
  id: "object-growth",
  title: "A kind has very many objects",
  reads: ["apiserver_storage_objects", "apiserver_resource_objects"],
  threshold: "more than 25,000 objects of a kind whose number does not follow the cluster's size",
  source: "OpenAI and EKS reports of leaked Secrets, Jobs and ReplicaSets; upstream's thresholds",
  alerts: [
    {
      query: `max by (group, resource) (apiserver_resource_objects{resource!~"${[...growWithCluster].map((kind) => kind.split(".")[0]).join("|")}"})`,
      above: objectsMax,
      severity: "warn",
    },
  ],
  judge: (evidence) => {
    const counts = new Map<string, number>();
    for (const name of ["apiserver_storage_objects", "apiserver_resource_objects"]) {
      for (const { labels, value } of seriesOf(evidence, name)) {
        const group = labels.get("group") ?? "";
        const resource = labels.get("resource") ?? "";
        counts.set(kindOf(group, resource), value);
      }
    }
    return [...counts]
      .filter(([kind, count]) => count > objectsMax && !growWithCluster.has(kind))
      .map(([kind, count]) => ({
        sentence: `there are ${count} ${kind}: lists of them are slow and fill memory and store`,
        culprit: `whoever makes ${kind}`,
        severity: "warn" as const,
        figures: { objects: count },
        remedy: `kubectl get ${quoted(kind)} -A --chunk-size=500 -o custom-columns=OWNER:.metadata.ownerReferences[*].name,MANAGER:.metadata.managedFields[*].manager --no-headers | sort | uniq -c | sort -rn | head; then give what makes them a limit or a time to live`,
        certainty: 0.6,
        unseen: "the owner of these objects",
      }));
  },
};
