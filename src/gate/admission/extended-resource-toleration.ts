/** ExtendedResourceToleration: a pod that requests a device tolerates the taint that reserves its nodes. */
import type { Pod, Toleration } from "#api/gen/types.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { isCore, withSpec } from "./request.ts";

export const extendedResourceToleration: AdmissionPlugin = {
  name: "ExtendedResourceToleration",
  mutate(request) {
    const object = request.object ?? {};
    const writes = request.operation === "CREATE" || request.operation === "UPDATE";
    if (!isCore(request, "pods") || !writes) return object;
    const { spec } = object as Pod;
    const tolerations = spec?.tolerations ?? [];
    const missing = requested(spec).filter((key) => !tolerates(tolerations, key));
    if (missing.length === 0) return object;
    const added = missing.map((key) => ({ key, operator: "Exists", effect: "NoSchedule" }));
    return withSpec(object, { tolerations: [...tolerations, ...added] });
  },
};

/** Sorted. */
function requested(spec: Pod["spec"]): readonly string[] {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const names = containers.flatMap(({ resources }) => Object.keys(resources?.requests ?? {}));
  return [...new Set(names.filter(isExtended))].sort();
}

/** Whether the name has a domain other than Kubernetes' own. */
function isExtended(name: string): boolean {
  return name.includes("/") && !name.includes("kubernetes.io/") && !name.startsWith("requests.");
}

function tolerates(tolerations: readonly Toleration[], wanted: string): boolean {
  return tolerations.some(
    ({ key, operator, effect, value = "" }) =>
      key === wanted && operator === "Exists" && effect === "NoSchedule" && value === "",
  );
}
