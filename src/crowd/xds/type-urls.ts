/** The types of resources, and the order in which clients get them. */

const prefix = "type.googleapis.com/";
export const clusterType = `${prefix}envoy.config.cluster.v3.Cluster`;
export const endpointsType = `${prefix}envoy.config.endpoint.v3.ClusterLoadAssignment`;
export const listenerType = `${prefix}envoy.config.listener.v3.Listener`;
export const routesType = `${prefix}envoy.config.route.v3.RouteConfiguration`;

/** Order of additions: a resource is sent before the resources that refer to it. Other types come last. */
export const servedTypes: readonly string[] = [
  clusterType,
  endpointsType,
  listenerType,
  routesType,
];
/** Order of removals: a resource is removed after the resources that refer to it. Other types come first. */
const breakOrder: readonly string[] = [listenerType, routesType, endpointsType, clusterType];

export function makeRank(typeUrl: string): number {
  const rank = servedTypes.indexOf(typeUrl);
  return rank < 0 ? servedTypes.length : rank;
}

export function breakRank(typeUrl: string): number {
  return breakOrder.indexOf(typeUrl);
}

/** Whether others refer to this type: listeners and routes wait until the client has acknowledged all of it. */
export function isReferredTo(typeUrl: string): boolean {
  return typeUrl === clusterType || typeUrl === endpointsType;
}

export function refersToOthers(typeUrl: string): boolean {
  return typeUrl === listenerType || typeUrl === routesType;
}

/**
 * Types whose state of the world is one whole set: what a response does not hold is gone. Of other types a
 * response holds what changed (xDS protocol, "How the client specifies what resources to return").
 */
export function isWholeSet(typeUrl: string): boolean {
  return typeUrl === clusterType || typeUrl === listenerType;
}

const structSuffix = "/google.protobuf.Struct";
const collectionName = /^(?:[a-z0-9.-]+\/)?v[a-z0-9]+\/[a-z0-9.-]+$/;

/** Collection of a type of plain objects, such as `v1/configmaps`; "" for any other type. */
export function collectionOf(typeUrl: string): string {
  if (!typeUrl.endsWith(structSuffix)) return "";
  const collection = typeUrl.slice(0, -structSuffix.length);
  return collectionName.test(collection) ? collection : "";
}
