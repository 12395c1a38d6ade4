/**
 * The address in Endpoints and EndpointSlice `kubernetes`, through which pods reach the API server: the one
 * given, else the one listened on, else the host's own where that is loopback or every address.
 */
import { isIP } from "node:net";
import { isReachable } from "#apiserver/bootstrap-objects.ts";
import type { Log } from "#platform/log.ts";
import { hostAddress } from "#platform/node/host-address.ts";

interface Advertised {
  /** Address for other hosts. Absent: this host has none that they can reach. */
  readonly advertiseAddress?: string;
}

export function advertisedAddress(
  log: Log,
  flags: { readonly host: string; readonly advertiseAddress?: string },
): Advertised {
  const { host, advertiseAddress } = flags;
  if (advertiseAddress !== undefined) return { advertiseAddress };
  if (isIP(host) !== 0 && isReachable(host)) return { advertiseAddress: host };
  const found = hostAddress();
  if (found !== undefined) return { advertiseAddress: found };
  log.warn("this host has no address but loopback: Endpoints kubernetes is not made", {
    remedy: "--advertise-address",
  });
  return {};
}
