/** The audit trail from its flags: policy, log file, webhook. Faults end the start before anything is opened. */
import { parse } from "yaml";
import { ownEntry } from "#base/own.ts";
import { DiskError } from "#platform/disk.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { type LineFile, openLineFile, openLineStream } from "#platform/node/line-file.ts";
import { loadKubeconfig } from "#platform/node/kubeconfig.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { LogBackend } from "#server/audit/log-backend.ts";
import { type AuditPolicy, metadataPolicy } from "#server/audit/policy.ts";
import { readPolicy } from "#server/audit/policy-document.ts";
import type { Audit, AuditBackend } from "#server/audit/trail.ts";
import type { TruncateLimits } from "#server/audit/truncate.ts";
import { WebhookBackend } from "#server/audit/webhook-backend.ts";
import type { AuditFlags } from "./audit-flags.ts";
import type { Host } from "./host.ts";
import { auditBufferBytesMax } from "./limits.ts";
import { readOperatorFile } from "./operator-file.ts";
import type { Parts } from "./parts.ts";
import { UsageError } from "./usage-error.ts";

type AuditHost = Pick<Host, "clock" | "log">;

const version = "audit.k8s.io/v1";
const dayMs = 24 * 60 * 60 * 1000;
const megabyte = 1024 * 1024;

/** Opens the audit trail and adds its sinks to `parts`. Undefined: requests are not audited. @throws UsageError */
export async function openAudit(
  host: AuditHost,
  flags: AuditFlags,
  parts: Parts,
): Promise<Audit | undefined> {
  checkFlags(flags);
  const path = flags.auditLogPath ?? flags.auditLog;
  if (path === undefined && flags.auditWebhookConfigFile === undefined) return undefined;
  const policy = policyOf(host, flags);
  if (policy === undefined) {
    host.log.warn("no audit policy file provided, no events will be recorded");
    return undefined;
  }
  const webhook = await openWebhook(host, flags, parts);
  const log = path === undefined ? undefined : await openLog(host, flags, path, parts);
  return { policy, backends: [log, webhook].filter((one) => one !== undefined) };
}

/**
 * Returns the policy of audited requests, for sinks in another thread. Undefined: requests are not audited.
 * @throws UsageError
 */
export function auditPolicyOf(host: AuditHost, flags: AuditFlags): AuditPolicy | undefined {
  return hasSinks(flags) ? policyOf(host, flags) : undefined;
}

function hasSinks({ auditLog, auditLogPath, auditWebhookConfigFile }: AuditFlags): boolean {
  return (auditLogPath ?? auditLog ?? auditWebhookConfigFile) !== undefined;
}

/** Checks the flags, with upstream's error texts. @throws UsageError */
function checkFlags(flags: AuditFlags): void {
  const { auditLog, auditLogPath } = flags;
  if (auditLog !== undefined && auditLogPath !== undefined && auditLog !== auditLogPath)
    throw new UsageError("--audit-log and --audit-log-path name two files: give one of them");
  for (const backend of ["Log", "Webhook"] as const) {
    const given = flags[`audit${backend}Version`];
    if (given !== version)
      throw new UsageError(
        `invalid group version, allowed versions are ["${version}"], not "${given}"`,
      );
    const event = flags[`audit${backend}TruncateMaxEventSize`];
    const batch = flags[`audit${backend}TruncateMaxBatchSize`];
    if (batch < event)
      throw new UsageError(
        `invalid audit truncate ${backend.toLowerCase()} max batch size ${batch}, must be greater than max event size (${event})`,
      );
  }
}

/** Reads the policy. `--audit-log` has a default policy, so that it works without a policy file. */
function policyOf({ log }: AuditHost, flags: AuditFlags): AuditPolicy | undefined {
  const { auditPolicyFile: path, auditLog } = flags;
  if (path === undefined) return auditLog === undefined ? undefined : metadataPolicy;
  const read = readPolicy(parsed(path));
  if (read.kind === "refused")
    throw new UsageError(`loading audit policy file: ${read.why}: from file ${path}`);
  if (read.unknown.length > 0)
    log.warn("audit policy has unknown fields, which are left out", { path, fields: read.unknown });
  return read.policy;
}

function parsed(path: string): unknown {
  const text = readOperatorFile(path);
  try {
    return parse(text);
  } catch (error) {
    const why = `failed decoding: ${(error as Error).message}`;
    throw new UsageError(`loading audit policy file: ${why}: from file ${path}`, { cause: error });
  }
}

async function openLog(
  host: AuditHost,
  flags: AuditFlags,
  path: string,
  parts: Parts,
): Promise<AuditBackend> {
  const file = await parts.open("audit", () => openFile(host, flags, path), {
    close: (one) => one.close(),
  });
  const reopen = (): void => file.reopen();
  await parts.open("audit-rotation", () => process.on("SIGHUP", reopen), {
    close: () => process.off("SIGHUP", reopen),
  });
  return logBackend(host, flags, path, file);
}

function logBackend(
  { log }: AuditHost,
  flags: AuditFlags,
  path: string,
  file: LineFile,
): LogBackend {
  const { auditLogMode: mode, auditLogFormat: format } = flags;
  const truncate = truncateLimits(
    flags.auditLogTruncateEnabled,
    flags.auditLogTruncateMaxEventSize,
  );
  return new LogBackend({ file, log }, { mode, format, path, ...truncate });
}

function truncateLimits(
  isEnabled: boolean,
  eventBytesMax: number,
): { readonly truncate?: TruncateLimits } {
  return isEnabled ? { truncate: { eventBytesMax } } : {};
}

function openFile({ clock }: AuditHost, flags: AuditFlags, path: string): Promise<LineFile> {
  const isBatch = flags.auditLogMode === "batch";
  const lines = isBatch ? { bufferLinesMax: flags.auditLogBatchBufferSize } : {};
  const timer = "server.audit";
  const shared = { bufferBytesMax: auditBufferBytesMax, timer, ...lines } as const;
  if (path === "-") return Promise.resolve(openLineStream(clock, shared, process.stdout));
  const size = flags.auditLogMaxsize;
  const rotation = {
    bytesMax: size * megabyte,
    backupsMax: flags.auditLogMaxbackup,
    ageMsMax: flags.auditLogMaxage * dayMs,
    isPacked: flags.auditLogCompress,
  };
  const options = { path, mode: 0o600, ...shared, ...(size === 0 ? {} : { rotation }) };
  return openOrRefuse(path, openLineFile(clock, options));
}

/** @throws UsageError when the file cannot be written. */
async function openOrRefuse(path: string, opening: Promise<LineFile>): Promise<LineFile> {
  try {
    return await opening;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    const why = ownEntry(whyNot, error.code) ?? error.message;
    throw new UsageError(
      `cannot write the audit log ${path}: ${why}; give another file with --audit-log-path`,
      { cause: error },
    );
  }
}

const whyNot: Readonly<Record<string, string>> = {
  ENOENT: "its folder is not there",
  ENOTDIR: "its folder is not a folder",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EROFS: "read-only file system",
  ENOSPC: "no space left",
};

async function openWebhook(
  { clock, log }: AuditHost,
  flags: AuditFlags,
  parts: Parts,
): Promise<AuditBackend | undefined> {
  const { auditWebhookConfigFile: path } = flags;
  if (path === undefined) return undefined;
  const access = await loadKubeconfig(path).catch((error: unknown) => {
    throw new UsageError(`initializing audit webhook: ${(error as Error).message}`, {
      cause: error,
    });
  });
  const { server, bearerToken, namespace: _namespace, ...credentials } = access;
  const transport = httpClient({ server, ...credentials, limits: httpClientLimits });
  const { pathname, search } = new URL(server);
  const backend = new WebhookBackend(
    { transport, clock, random: new NodeRandom(), log },
    {
      mode: flags.auditWebhookMode,
      target: `${pathname}${search}`,
      headers: () =>
        bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken()}` },
      bufferBytesMax: auditBufferBytesMax,
      bufferLinesMax: flags.auditWebhookBatchBufferSize,
      batchLinesMax: flags.auditWebhookBatchMaxSize,
      batchBytesMax: flags.auditWebhookTruncateMaxBatchSize,
      waitMs: flags.auditWebhookBatchMaxWait,
      ...throttleOf(flags),
      backoffMs: flags.auditWebhookInitialBackoff,
      ...truncateLimits(flags.auditWebhookTruncateEnabled, flags.auditWebhookTruncateMaxEventSize),
    },
  );
  return parts.open("audit-webhook", () => backend, { close: (one) => one.close() });
}

type Throttle = { readonly throttle?: { readonly qps: number; readonly burst: number } };

function throttleOf(flags: AuditFlags): Throttle {
  if (!flags.auditWebhookBatchThrottleEnable) return {};
  const { auditWebhookBatchThrottleQps: qps, auditWebhookBatchThrottleBurst: burst } = flags;
  return { throttle: { qps, burst } };
}
