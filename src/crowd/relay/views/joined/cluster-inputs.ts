/** Services and their endpoints as inputs of plans: their projected fields and their lookup keys. */
import type { CachedObject } from "#forms/cached-object.ts";
import { textOfKey } from "#forms/shared-object.ts";
import {
  type Service,
  serviceOf,
  type Slice,
  sliceOf,
  subsetsOf,
} from "#skipper/service-targets.ts";
import type { Endpoints } from "#skipper/service-targets.ts";
import { type JoinInput, type Lookup, objectKey } from "./join-plan.ts";

/** Input numbers of Services and endpoints, which come first in every plan. */
const [services, endpoints] = [0, 1];
const serviceLabel = "kubernetes.io/service-name";

export const clusterResources = {
  services: "v1/services",
  slices: "discovery.k8s.io/v1/endpointslices",
  endpoints: "v1/endpoints",
} as const;

export const serviceInput: JoinInput = {
  indexes: 1,
  project(object) {
    const { namespace, name } = placeOf(object);
    const value = serviceOf(namespace, name, object.object);
    return { value, keys: [[objectKey(namespace, name)]], weight: 1 };
  },
};

export function endpointsInput(isLegacy: boolean): JoinInput {
  return isLegacy ? legacyInput : sliceInput;
}

const sliceInput: JoinInput = {
  indexes: 1,
  project(object) {
    const { namespace, name } = placeOf(object);
    const service = object.labels[serviceLabel] ?? "";
    const value = service === "" ? undefined : sliceOf(name, object.object);
    if (value === undefined) return undefined;
    return { value, keys: [[objectKey(namespace, service)]], weight: 1 + value.endpoints.length };
  },
};

const legacyInput: JoinInput = {
  indexes: 1,
  project(object) {
    const { namespace, name } = placeOf(object);
    const value = subsetsOf(object.object);
    const addresses = value.reduce((sum, subset) => sum + subset.addresses.length, 0);
    return { value, keys: [[objectKey(namespace, name)]], weight: 1 + addresses };
  },
};

/** Returns the Services and endpoints that the rows of one maker look up. */
export function clusterOf(lookup: Lookup): {
  service(namespace: string, name: string): Service | undefined;
  endpoints(namespace: string, name: string): Endpoints;
} {
  return {
    service(namespace, name) {
      const [found] = lookup.find(services, 0, objectKey(namespace, name));
      return found as Service | undefined;
    },
    endpoints(namespace, name) {
      const found = lookup.find(endpoints, 0, objectKey(namespace, name));
      const slices = found.filter((one): one is Slice => !Array.isArray(one));
      return { slices, subsets: found.filter(Array.isArray).flat() as Endpoints["subsets"] };
    },
  };
}

function placeOf(object: CachedObject): { readonly namespace: string; readonly name: string } {
  return { namespace: textOfKey(object.namespace), name: textOfKey(object.name) };
}
