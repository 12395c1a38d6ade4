/** `pilothouse coordinator`: the coordinator, while it holds its lease at home. */
import type { LeaderTerm } from "#client/election.ts";
import { createCoordinator, type CoordinatorOptions } from "#regions/coordinator/coordinator.ts";
import type { OpenRegion } from "#regions/coordinator/region-set.ts";
import { installAtHome } from "#regions/definitions/install.ts";
import { ApiConnection } from "../shared/api-access.ts";
import { productVersion } from "../shared/product.ts";
import type { RoleFlags } from "../shared/role-flags.ts";
import { openRole, runRole, type WorkOf } from "../shared/role-process.ts";
import { ForwardedReads } from "./forwarded-reads.ts";
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
    const more = new ForwardedReads({ log: host.log, namespace: given.namespace, userAgent });
    const workOf: WorkOf = ({ connection }) => {
      return async (signal, term) => {
        const client = connection.client(term);
        await installAtHome(client);
        const openRegion = regionOpener(term);
        const made = createCoordinator({ ...host, client, openRegion }, coordinatorOptions(given));
        more.regions = made.regions;
        await made.run(signal).finally(() => more.close());
      };
    };
    const role = { userAgent, host, flags: given, workOf, more };
    return openRole("coordinator", role, parts, stopping);
  });
}

/** What is written into a region is written by the leader, or not at all. */
function regionOpener(term: LeaderTerm | undefined): OpenRegion {
  return (kubeconfig) => {
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
