/** `pilothouse sink`: writes changes of objects into streams while it holds its lease. */
import { productVersion } from "../shared/product.ts";
import type { RoleFlags } from "../shared/role-flags.ts";
import { openRole, runRole, type WorkOf } from "../shared/role-process.ts";
import { declareSinks, runSinks, whyAway } from "./sinks.ts";

export function sinkRole(path: string, flags: RoleFlags): Promise<void> {
  return runRole(flags, (host, _, parts, stopping) => {
    const workOf: WorkOf = ({ connection, metrics, readiness }) => {
      const declared = declareSinks(host, path, metrics);
      readiness.why = () => whyAway(declared);
      return (signal) => runSinks({ ...host, client: connection.client() }, declared, signal);
    };
    const userAgent = `sink/pilothouse-${productVersion}`;
    return openRole("sink", { userAgent, host, flags, workOf }, parts, stopping);
  });
}
