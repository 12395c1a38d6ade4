/** A serving thread of `pilothouse up`. */
import { auditPolicyOf } from "../shared/audit.ts";
import { signingOf } from "../shared/signing.ts";
import { serverOptions } from "../plane/server-options.ts";
import { runWorker } from "../plane/workers/run-worker.ts";
import type { UpFlags } from "./flags.ts";

await runWorker<UpFlags>(
  async (host, flags, parts) => ({
    ...(await serverOptions(host, flags, parts, async () => undefined)),
    ...signingOf(flags),
  }),
  auditPolicyOf,
);
