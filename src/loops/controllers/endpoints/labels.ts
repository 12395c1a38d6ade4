/** The labels and annotations by which slices and Endpoints find their Service and their writer. */
import type { EndpointSlice, Service } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";

export const serviceLabel = "kubernetes.io/service-name";
export const managedLabel = "endpointslice.kubernetes.io/managed-by";
export const skipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";
const headlessLabel = "service.kubernetes.io/headless";
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";

export const serviceIndex = "controllers.service";

/** The index function of `serviceIndex`: `namespace/name` of the slice's Service. */
export function serviceKeys(slice: EndpointSlice): readonly string[] {
  const service = slice.metadata?.labels?.[serviceLabel];
  return service === undefined ? [] : [`${slice.metadata?.namespace ?? ""}/${service}`];
}

/** The Service's labels but for those that say what a slice is, and whether it has no address. */
export function labelsFrom(service: Service): Readonly<Record<string, string>> {
  const own = Object.entries(service.metadata?.labels ?? {}).filter(
    ([key]) => ![serviceLabel, managedLabel, headlessLabel].includes(key),
  );
  const { clusterIP = "" } = service.spec ?? {};
  const headless = clusterIP === "" || clusterIP === "None";
  return { ...Object.fromEntries(own), ...(headless ? { [headlessLabel]: "" } : {}) };
}

/** An Endpoints object that old leader elections use as a lock: not about endpoints at all. */
export function isElection(object: KubeObject): boolean {
  return object.metadata?.annotations?.[leaderAnnotation] !== undefined;
}
