/** `pilothouse coordinator`: the coordinator, while it holds its lease in the home cluster. */
import type { LeaderTerm } from "#client/election.ts";
import { createCoordinator, type CoordinatorOptions } from "#regions/coordinator/coordinator.ts";
import type { OpenRegion } from "#regions/coordinator/region-set.ts";
import { installAtHome } from "#regions/definitions/install.ts";
import { socketClient, socketClientLimits } from "#client/rest-client.ts";
import { ApiConnection, fenced } from "../shared/api-access.ts";
import { productVersion } from "../shared/product.ts";
import type { RoleFlags } from "../shared/role-flags.ts";
import { openRole, runRole, type WorkOf } from "../shared/role-process.ts";
import { ForwardedReads } from "./forwarded-reads.ts";
import { RegionTunnels } from "./region-tunnels.ts";
import { regionAccess } from "./region-access.ts";

export interface CoordinatorFlags extends RoleFlags {
  readonly namespace: string;
  readonly regionUnknownAfter: number;
  readonly recoveryPodsPerSecond: number;
  readonly recoveryBurst: number;
  readonly recoveryRoomPercent: number;
  readonly summaryPodsMax: number;
}

const userAgent = `coordinator/pilothouse-${productVersion}`;

export function coordinatorRole(flags: CoordinatorFlags): Promise<void> {
  return runRole(flags, (host, given, parts, stopping) => {
    const { namespace } = given;
    const reads = new ForwardedReads({ log: host.log, namespace, userAgent });
    const tunnels = new RegionTunnels({ log: host.log, namespace });
    const workOf: WorkOf = ({ connection }) => {
      return async (signal, term) => {
        const client = connection.client(term);
        await installAtHome(client);
        const openRegion = regionOpener(term, tunnels);
        const made = createCoordinator({ ...host, client, openRegion }, coordinatorOptions(given));
        const more = [reads, tunnels];
        for (const one of more) one.regions = made.regions;
        await made.run(signal).finally(() => more.forEach((one) => one.close()));
      };
    };
    const role = { userAgent, host, flags: given, workOf, more: [reads, tunnels] };
    return openRole("coordinator", role, parts, stopping);
  });
}

/** Only the leader writes into a region. */
function regionOpener(term: LeaderTerm | undefined, tunnels: RegionTunnels): OpenRegion {
  return (way) => {
    if (way.kind === "pull") {
      const http = fenced(tunnels.transportOf(way.region), term);
      const client = socketClient({ http }, { userAgent, ...socketClientLimits });
      return { client, close: () => {} };
    }
    const { kubeconfig } = way;
    const connection = new ApiConnection(regionAccess(kubeconfig), userAgent);
    return { client: connection.client(term), close: () => connection.close() };
  };
}

export function coordinatorOptions(flags: CoordinatorFlags): CoordinatorOptions {
  return {
    namespace: flags.namespace,
    regionsMax: 256,
    summaryPodsMax: flags.summaryPodsMax,
    times: {
      probeEveryMs: Math.min(5_000, Math.ceil(flags.regionUnknownAfter / 4)),
      probeTimeoutMs: Math.min(10_000, Math.ceil(flags.regionUnknownAfter / 2)),
      unknownAfterMs: flags.regionUnknownAfter,
      leaseMs: 30_000,
      driftShare: 0.05,
      stopMs: 45_000,
    },
    recovery: {
      podsPerSecond: flags.recoveryPodsPerSecond,
      burst: flags.recoveryBurst,
      shareOfRoom: flags.recoveryRoomPercent / 100,
    },
    summaryEveryMs: 5_000,
    stuckAfterMs: 60_000,
    forgetStuckAfterMs: 600_000,
  };
}
