/** `pilothouse region agent`: one of several in a region, the holder of the Lease works. */
import { RegionAgent } from "#regions/agent/region-agent.ts";
import { productVersion } from "../shared/product.ts";
import type { RoleFlags } from "../shared/role-flags.ts";
import { openRole, runRole, type WorkOf } from "../shared/role-process.ts";

export type AgentFlags = RoleFlags;

/** As the coordinator's times (coordinator/run.ts): its `stopMs` has `startMs`, one round and 30 s for pods in it. */
const options = { everyMs: 5_000, leaseMs: 30_000, startMs: 10_000, podsMax: 1_000_000 };

export function agentRole(flags: AgentFlags): Promise<void> {
  return runRole(flags, (host, given, parts, stopping) => {
    const workOf: WorkOf = ({ connection }) => {
      return (signal, term) =>
        new RegionAgent({ ...host, client: connection.client(term) }, options).run(signal);
    };
    const userAgent = `region-agent/pilothouse-${productVersion}`;
    return openRole("region agent", { userAgent, host, flags: given, workOf }, parts, stopping);
  });
}
