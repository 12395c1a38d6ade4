/**
 * In-place resize: a container is given what its spec asks for once the node has room; until then it
 * keeps what its status says it was given.
 *
 *   asked for ─► [pending, until there is room] ─► in progress ─(resizeMs)─► done
 */
import type {
  Container,
  ContainerStatus,
  Pod,
  PodSpec,
  ResourceRequirements,
} from "#api/gen/types.ts";
import { goJson } from "#api/go/go-json.ts";
import { tryParseQuantity } from "#api/values/quantity.ts";
import { podAmounts } from "./pod-amounts.ts";
import { byName } from "./pod-run.ts";
import type { PodRun } from "./pod-run.ts";

/** Approximate time that a kubelet needs to see that the runtime has applied a resize. */
export const resizeMs = 1_000;

type Amounts = Readonly<Record<string, string>> | undefined;

/** Returns the spec with the resources that the running containers have. */
export function allocatedSpec(pod: Pod): PodSpec | undefined {
  const { spec } = pod;
  if (spec === undefined || !wantsResize(pod)) return spec;
  const main = byName(pod.status?.containerStatuses);
  const init = byName(pod.status?.initContainerStatuses);
  const given = (known: ReadonlyMap<string, ContainerStatus>, container: Container): Container => {
    const resources = givenTo(known.get(container.name));
    return resources === undefined ? container : { ...container, resources };
  };
  return {
    ...spec,
    ...(hasOtherAmounts(pod) ? ownAmounts(pod) : {}),
    containers: spec.containers.map((container) => given(main, container)),
    ...(spec.initContainers === undefined
      ? {}
      : { initContainers: spec.initContainers.map((container) => given(init, container)) }),
  };
}

/** Whether a running container, or the pod, has other resources than the spec requests. */
export function wantsResize(pod: Pod): boolean {
  return (
    hasOtherAmounts(pod) ||
    anyDiffers(pod.spec?.containers, pod.status?.containerStatuses) ||
    anyDiffers(pod.spec?.initContainers, pod.status?.initContainerStatuses)
  );
}

/** Whether a running pod with pod-level resources has other amounts than its spec requests. */
function hasOtherAmounts({ spec, status }: Pod): boolean {
  if (spec?.resources === undefined || status?.resources === undefined) return false;
  if (status.phase !== "Running") return false;
  return changedNames(status.resources, podAmounts(spec)).length > 0;
}

/** The amounts in the status already include the overhead. */
function ownAmounts({ status }: Pod): Partial<PodSpec> {
  return {
    overhead: {},
    ...(status?.resources === undefined ? {} : { resources: status.resources }),
  };
}

function anyDiffers(
  containers: readonly Container[] | undefined,
  statuses: readonly ContainerStatus[] | undefined,
): boolean {
  if (containers === undefined || statuses === undefined) return false;
  const known = byName(statuses);
  return containers.some((container) => {
    const given = givenTo(known.get(container.name));
    return given !== undefined && changedNames(given, container.resources).length > 0;
  });
}

/** Returns the container's resources. Undefined: it does not run, and will get the resources of the spec. */
function givenTo(status: ContainerStatus | undefined): ResourceRequirements | undefined {
  return status?.state?.running === undefined ? undefined : status.resources;
}

/** Whether a changed resource has a resizePolicy that requires a restart; CPU and memory only. */
export function mustRestartToResize(
  container: Container,
  status: ContainerStatus,
  run: PodRun,
): boolean {
  const restarting = (container.resizePolicy ?? []).filter(
    ({ restartPolicy }) => restartPolicy === "RestartContainer",
  );
  if (restarting.length === 0 || run.resize !== undefined || run.resizing !== undefined)
    return false;
  const given = givenTo(status);
  if (given === undefined) return false;
  const changed = changedNames(given, container.resources);
  return restarting.some(({ resourceName }) => changed.includes(resourceName));
}

function changedNames(a: ResourceRequirements, b: ResourceRequirements | undefined): string[] {
  return [...changedAmounts(a.requests, b?.requests), ...changedAmounts(a.limits, b?.limits)];
}

function changedAmounts(a: Amounts, b: Amounts): string[] {
  const names = new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})]);
  return [...names].filter((name) => !isSameAmount(a?.[name], b?.[name]));
}

function isSameAmount(a: string | undefined, b: string | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return tryParseQuantity(a)?.nanos === tryParseQuantity(b)?.nanos;
}

/** Returns the kubelet's event message: `Pod resize started: {"containers":[...],"generation":2}`. */
export function resizeEvent(
  pod: Pod,
  what: "started" | "completed" | "Deferred",
  { generation, error }: { readonly generation: number; readonly error?: string },
): string {
  const amounts = (containers: readonly Container[] | undefined) =>
    containers?.map(({ name, resources: { limits, requests } = {} }) => ({
      name,
      resources: { limits, requests },
    }));
  const { initContainers, containers } = pod.spec ?? {};
  const summary = {
    initContainers: initContainers?.length === 0 ? undefined : amounts(initContainers),
    containers: amounts(containers),
    generation,
    error,
  };
  return `Pod resize ${what}: ${goJson(summary)}`;
}
