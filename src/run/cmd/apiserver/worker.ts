/** A serving thread of `pilothouse apiserver`. */
import { given } from "#base/given.ts";
import { auditPolicyOf } from "../shared/audit.ts";
import { serverOptions } from "../plane/server-options.ts";
import { runWorker } from "../plane/workers/run-worker.ts";
import type { ApiServerRoleFlags } from "./flags.ts";
import { identityOf, servingFilesOf } from "./identity.ts";

await runWorker<ApiServerRoleFlags>(async (host, flags, parts) => {
  const identity = identityOf(flags);
  const servingFiles = servingFilesOf(flags, identity, flags.requestheaderClientCaFile);
  return {
    ...(await serverOptions(host, flags, parts, async () => undefined)),
    ...identity.options,
    ...given({ servingFiles }),
  };
}, auditPolicyOf);
