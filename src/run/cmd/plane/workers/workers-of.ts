/** `--serving-workers` of a role: the plan of its workers, and the flags that exclude workers. */
import { given } from "#base/given.ts";
import type { EtcdFlags } from "../../shared/etcd-cluster.ts";
import { UsageError } from "../../shared/usage-error.ts";
import { canSharePort } from "#platform/node/http/http.ts";
import type { ApiServerFlags } from "../flags.ts";
import type { AuditTexts, WorkersPlan } from "./plan.ts";

type Flags = ApiServerFlags & Partial<EtcdFlags>;

/** Returns the plan. Undefined: one thread does all the work. @throws UsageError for options that several threads cannot serve. */
export function workersOf(flags: Flags, program: URL): WorkersPlan | undefined {
  const { servingWorkers: count } = flags;
  if (count <= 1) return undefined;
  const refused = refusedWith(flags);
  if (refused !== undefined)
    throw new UsageError(`${refused}; leave --serving-workers at 1 with it`);
  return { count, program, flags: plainFlags(flags), ...given({ audit: auditTexts(flags) }) };
}

function refusedWith(flags: Flags): string | undefined {
  if (!canSharePort) return `${process.platform} does not spread a port over threads`;
  if ((flags.etcdServers ?? []).length > 0)
    return "--etcd-servers is read by one thread: start one apiserver for each core instead";
  if (flags.encryptionProviderConfig !== undefined)
    return "--encryption-provider-config is read by one thread";
  if (flags.corsAllowedOrigins.length > 0)
    return "--cors-allowed-origins is answered by one thread";
  if (flags.enableAdmissionPlugins.includes("EventRateLimit"))
    return "the admission plugin EventRateLimit counts in one thread";
  return undefined;
}

/** Flags of `up` that only the first thread needs. Some are not plain data. */
const firstThreads = ["imagePullError", "hollowStages", "hollowEnableCrds"];

function plainFlags(flags: Flags): object {
  const kept = Object.entries(flags).filter(([name]) => !firstThreads.includes(name));
  return structuredClone(Object.fromEntries(kept));
}

/** Returns the texts that the sinks need. Undefined: requests are not audited. */
function auditTexts(flags: Flags): AuditTexts | undefined {
  const { auditLog, auditLogPath, auditWebhookConfigFile: webhook } = flags;
  const log = auditLogPath ?? auditLog;
  if ((log ?? webhook) === undefined) return undefined;
  const awaitsLog = log !== undefined && flags.auditLogMode !== "batch";
  const awaitsWebhook = webhook !== undefined && flags.auditWebhookMode !== "batch";
  return {
    legacy: log !== undefined && flags.auditLogFormat === "legacy",
    truncated: flags.auditLogTruncateEnabled || flags.auditWebhookTruncateEnabled,
    isAwaited: awaitsLog || awaitsWebhook,
  };
}
