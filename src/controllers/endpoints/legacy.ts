/** The v1 Endpoints object of a Service, pure: old clients still read it. At most 1,000 addresses. */
import type { EndpointAddress, EndpointSubset } from "#api/gen/types.ts";
import type { PortGroup } from "./desired.ts";

/** Upstream's bound; beyond it the annotation says `truncated`. */
export const addressesMax = 1000;
export const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

export interface LegacyEndpoints {
  readonly subsets: readonly EndpointSubset[];
  readonly truncated: boolean;
}

export function legacyEndpoints(groups: readonly PortGroup[]): LegacyEndpoints {
  let room = addressesMax;
  let truncated = false;
  const subsets = groups.flatMap((group) => {
    const ready: EndpointAddress[] = [];
    const notReady: EndpointAddress[] = [];
    for (const endpoint of group.endpoints.values()) {
      // A pod on its way out is in neither list: v1 Endpoints cannot say "terminating".
      if (endpoint.conditions?.terminating === true && endpoint.conditions.ready !== true) continue;
      if (room-- <= 0) truncated = true;
      else (endpoint.conditions?.ready === true ? ready : notReady).push(addressOf(endpoint));
    }
    if (ready.length + notReady.length === 0) return [];
    return [
      {
        ...(ready.length === 0 ? {} : { addresses: ready.toSorted(byIp) }),
        ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady.toSorted(byIp) }),
        ...(group.ports.length === 0 ? {} : { ports: group.ports.map(portOf) }),
      },
    ];
  });
  return { subsets, truncated };
}

function addressOf(endpoint: {
  readonly addresses: readonly string[];
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef?: object;
}): EndpointAddress {
  const { addresses, hostname, nodeName, targetRef } = endpoint;
  return {
    ip: addresses[0] ?? "",
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

function portOf(port: {
  readonly name?: string;
  readonly port?: number;
  readonly protocol?: string;
}) {
  const { name = "", port: number = 0, protocol = "TCP" } = port;
  return { ...(name === "" ? {} : { name }), port: number, protocol };
}

function byIp(a: EndpointAddress, b: EndpointAddress): number {
  return a.ip < b.ip ? -1 : 1;
}
