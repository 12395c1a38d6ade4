/**
 * Metrics of the requests and limits of each Pod, as in kube-scheduler's /metrics/resources. There is a series per Pod
 * and resource, so this large output is a separate page.
 *
 * In     Pods from their informer. Finished Pods are left out; Pods without a node have an empty `node`.
 */
import type { Pod } from "#api/gen/types.ts";
import { podAmounts } from "#api/quota-usage.ts";
import { ownEntry } from "#base/own.ts";
import { MetricSet } from "#metrics/metric-set.ts";

const labels = ["namespace", "node", "pod", "priority", "resource", "scheduler", "unit"];
const units: Readonly<Record<string, string>> = {
  cpu: "cores",
  memory: "bytes",
  storage: "bytes",
  "ephemeral-storage": "bytes",
};

/** `pods` is called at each scrape. */
export function podResourceMetrics(pods: () => Iterable<Pod>): MetricSet {
  const set = new MetricSet();
  const of = "of a Pod as a whole, with its overhead, in the unit of the resource.";
  set.gaugeOf("kube_pod_resource_limit", `[STABLE] Limit ${of}`, labels, () =>
    rowsOf(pods(), "limits"),
  );
  set.gaugeOf("kube_pod_resource_request", `[STABLE] Request ${of}`, labels, () =>
    rowsOf(pods(), "requests"),
  );
  return set;
}

function* rowsOf(
  pods: Iterable<Pod>,
  list: "requests" | "limits",
): Generator<readonly [values: readonly string[], value: number]> {
  for (const pod of pods) {
    if (hasEnded(pod)) continue;
    const { namespace = "", name = "" } = pod.metadata ?? {};
    const { nodeName = "", priority = "", schedulerName = "" } = pod.spec ?? {};
    for (const [resource, { nanos }] of Object.entries(podAmounts(pod, list))) {
      if (nanos === 0n) continue;
      const unit = unitText(resource);
      const row = [namespace, nodeName, name, String(priority), resource, schedulerName, unit];
      yield [row, Number(nanos) / 1e9];
    }
  }
}

/** Whether the Pod has finished. A Pod without a node cannot have finished, whatever its status says. */
function hasEnded({ spec, status }: Pod): boolean {
  const isPlaced = (spec?.nodeName ?? "") !== "";
  return isPlaced && (status?.phase === "Succeeded" || status?.phase === "Failed");
}

function unitText(resource: string): string {
  if (resource.startsWith("hugepages-")) return "bytes";
  if (resource.startsWith("attachable-volumes-")) return "integer";
  return ownEntry(units, resource) ?? "";
}
