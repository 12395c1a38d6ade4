/** `pilothouse sink`: writes changes of objects into streams, for as long as it holds its lease. */
import type { RoleFlags } from "../roles/flags.ts";
import { runRole } from "../roles/role-process.ts";
import { declareSinks, runSinks, whyAway } from "./sinks.ts";

export function sinkRole(path: string, flags: RoleFlags): Promise<void> {
  return runRole("sink", flags, ({ host, connection, metrics, readiness }) => {
    const declared = declareSinks(host, path, metrics);
    readiness.why = () => whyAway(declared);
    return async (signal) => {
      const client = connection.client();
      await runSinks({ ...host, client }, declared, signal);
    };
  });
}
