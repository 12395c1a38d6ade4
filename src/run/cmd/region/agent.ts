/** `pilothouse region agent`: one of several in a region. The holder of the Lease does the work. */
import { RegionAgent } from "#regions/agent/region-agent.ts";
import { productVersion } from "../shared/product.ts";
import type { RoleFlags } from "../shared/role-flags.ts";
import { accessOf } from "../shared/upstream-access.ts";
import { runTunnel } from "./tunnel.ts";
import { openRole, runRole, type WorkOf } from "../shared/role-process.ts";

export interface AgentFlags extends RoleFlags {
  readonly tunnel?: string;
}

/** These match the coordinator's times (coordinator/run.ts): its `stopMs` includes `startMs`, one round and 30 s for pods. */
const options = { everyMs: 5_000, leaseMs: 30_000, startMs: 10_000, podsMax: 1_000_000 };

export function agentRole(flags: AgentFlags): Promise<void> {
  return runRole(flags, (host, given, parts, stopping) => {
    const userAgent = `region-agent/pilothouse-${productVersion}`;
    const workOf: WorkOf = ({ connection }) => {
      return async (signal, term) => {
        const agent = new RegionAgent({ ...host, client: connection.client(term) }, options);
        const { tunnel } = given;
        const dialing = async (file: string): Promise<void> => {
          const coordinator = await accessOf({ upstream: file }, process.env, "--tunnel");
          await runTunnel({ ...host, region: connection, coordinator, userAgent }, signal);
        };
        await Promise.all([agent.run(signal), ...(tunnel === undefined ? [] : [dialing(tunnel)])]);
      };
    };
    return openRole("region agent", { userAgent, host, flags: given, workOf }, parts, stopping);
  });
}
