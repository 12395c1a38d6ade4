/** What pods ask for of a resource, which a utilization is a share of (upstream's calculateRequests). */
import { ownEntry } from "#base/own.ts";
import { aggregateContainers, isPodLevelResource } from "#api/defaults/pod-resources.ts";
import type { Container, Pod } from "#api/gen/types.ts";
import type { Fields } from "#api/validation/fields.ts";
import { formatQuantity } from "#api/values/quantity.ts";
import { addMilli, milliOf } from "./amounts.ts";
import { MetricError } from "./readings.ts";

/** Thousandths by name of the pod. @throws MetricError naming the first pod that does not say. */
export function requestsOf(
  pods: readonly Pod[],
  resource: string,
  container: string,
): ReadonlyMap<string, bigint> {
  return new Map(
    pods.map((pod) => [pod.metadata?.name ?? "", requestOf(pod, resource, container)]),
  );
}

function requestOf(pod: Pod, resource: string, container: string): bigint {
  if (container !== "") return requestOfContainer(pod, resource, container);
  if (hasPodRequests(pod)) return requestOfPod(pod, resource);
  return sumOf(pod, resource);
}

function hasPodRequests(pod: Pod): boolean {
  return Object.keys(pod.spec?.resources?.requests ?? {}).some(isPodLevelResource);
}

/** What the pod does not say for itself, its containers say together; the overhead of the runtime is added. */
function requestOfPod(pod: Pod, resource: string): bigint {
  const { spec } = pod;
  // A spec read as a bag of fields, which is what the aggregation takes.
  const together = aggregateContainers((spec ?? {}) as unknown as Fields, "requests");
  const own = isPodLevelResource(resource) ? spec?.resources?.requests?.[resource] : undefined;
  const sum = ownEntry(together, resource);
  const request = milliOf(own ?? (sum && formatQuantity(sum)));
  const overhead = milliOf(spec?.overhead?.[resource]);
  if (request !== undefined || overhead !== undefined)
    return addMilli(request ?? 0n, overhead ?? 0n);
  const what = `missing pod-level request for ${resource}`;
  throw new MetricError(`${what} in Pod ${pod.metadata?.name ?? ""}`);
}

function sumOf(pod: Pod, resource: string): bigint {
  let sum = 0n;
  for (const container of runningContainers(pod))
    sum = addMilli(sum, requestIn(pod, container, resource));
  return sum;
}

function requestOfContainer(pod: Pod, resource: string, name: string): bigint {
  const container = runningContainers(pod).find((one) => one.name === name);
  if (container !== undefined) return requestIn(pod, container, resource);
  throw new MetricError(`container ${name} not found in Pod ${pod.metadata?.name ?? ""}`);
}

/** Those that run at once: sidecars are init containers that are restarted. */
function runningContainers({ spec }: Pod): readonly Container[] {
  const sidecars = (spec?.initContainers ?? []).filter((one) => one.restartPolicy === "Always");
  return [...(spec?.containers ?? []), ...sidecars];
}

function requestIn(pod: Pod, container: Container, resource: string): bigint {
  const request = asked(container, resource);
  if (request !== undefined) return request;
  const where = `container ${container.name} of Pod ${pod.metadata?.name ?? ""}`;
  throw new MetricError(`missing request for ${resource} in ${where}`);
}

function asked(container: Container, resource: string): bigint | undefined {
  return milliOf(container.resources?.requests?.[resource]);
}
