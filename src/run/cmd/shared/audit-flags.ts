/** The audit flags of an API server and of a relay, with upstream's names and defaults. */
import { type Command, Option } from "commander";
import { auditModes, type AuditMode } from "#server/audit/log-backend.ts";
import { boolean, duration, durationOrZero, integer } from "./flag-values.ts";

export interface AuditFlags {
  /** Like `auditLogPath`, with a policy of level Metadata where no policy file is given. */
  readonly auditLog?: string;
  readonly auditPolicyFile?: string;
  readonly auditLogPath?: string;
  readonly auditLogFormat: "json" | "legacy";
  readonly auditLogVersion: string;
  /** Maximum age of a log file, in days. */
  readonly auditLogMaxage: number;
  readonly auditLogMaxbackup: number;
  /** Maximum size of a log file, in megabytes. */
  readonly auditLogMaxsize: number;
  readonly auditLogCompress: boolean;
  readonly auditLogMode: AuditMode;
  readonly auditLogBatchBufferSize: number;
  readonly auditLogTruncateEnabled: boolean;
  readonly auditLogTruncateMaxBatchSize: number;
  readonly auditLogTruncateMaxEventSize: number;
  readonly auditWebhookConfigFile?: string;
  readonly auditWebhookVersion: string;
  readonly auditWebhookMode: AuditMode;
  readonly auditWebhookInitialBackoff: number;
  readonly auditWebhookBatchBufferSize: number;
  readonly auditWebhookBatchMaxSize: number;
  readonly auditWebhookBatchMaxWait: number;
  readonly auditWebhookBatchThrottleEnable: boolean;
  readonly auditWebhookBatchThrottleQps: number;
  readonly auditWebhookBatchThrottleBurst: number;
  readonly auditWebhookTruncateEnabled: boolean;
  readonly auditWebhookTruncateMaxBatchSize: number;
  readonly auditWebhookTruncateMaxEventSize: number;
}

const countMax = 2 ** 31 - 1;
const count = integer("count", 0, countMax);
const positive = integer("count", 1, countMax);
const bufferSize = 10_000;
const batchBytes = 10 * 1024 * 1024;
const eventBytes = 100 * 1024;

export function addAuditFlags(command: Command): void {
  command
    .option(
      "--audit-log <file>",
      "as --audit-log-path; without a policy file it keeps each answered request at level Metadata. SIGHUP opens the file again after a rotation by others",
    )
    .option(
      "--audit-policy-file <file>",
      "which requests are recorded, and at which level: a Policy of audit.k8s.io/v1",
    );
  addLogFlags(command);
  addWebhookFlags(command);
}

function addLogFlags(command: Command): void {
  command
    .option(
      "--audit-log-path <file>",
      "where the events that the policy asks for are appended; - is standard output",
    )
    .addOption(
      new Option("--audit-log-format <format>", "one line an event: json, or legacy text")
        .choices(["json", "legacy"])
        .default("json"),
    )
    .option("--audit-log-version <version>", "API version of the events", "audit.k8s.io/v1")
    .option("--audit-log-maxage <days>", "rotated files are kept so long; 0: for ever", count, 366)
    .option("--audit-log-maxbackup <count>", "so many rotated files are kept; 0: all", count, 100)
    .option(
      "--audit-log-maxsize <megabytes>",
      "the file is rotated when it would grow beyond this; 0: never",
      count,
      100,
    )
    .option("--audit-log-compress [boolean]", "pack rotated files with gzip", boolean, false);
  addMode(command, "log", "blocking");
  command.option(
    "--audit-log-batch-buffer-size <count>",
    "events that wait in mode batch; beyond it they are lost and counted",
    positive,
    bufferSize,
  );
  addIgnoredLogFlags(command);
  addTruncateFlags(command, "log");
}

/** Upstream itself calls these flags useless for a file. Here lines are always written in batches. */
function addIgnoredLogFlags(command: Command): void {
  const ignored = "has nothing to do here: lines that wait are written together";
  command
    .option("--audit-log-batch-max-size <count>", ignored, positive)
    .option("--audit-log-batch-max-wait <duration>", ignored, durationOrZero)
    .option("--audit-log-batch-throttle-enable [boolean]", ignored, boolean)
    .option("--audit-log-batch-throttle-qps <rate>", ignored, rate)
    .option("--audit-log-batch-throttle-burst <count>", ignored, count);
}

function addWebhookFlags(command: Command): void {
  command
    .option(
      "--audit-webhook-config-file <file>",
      "kubeconfig of the server that the events are posted to",
    )
    .option("--audit-webhook-version <version>", "API version of the events", "audit.k8s.io/v1");
  addMode(command, "webhook", "batch");
  command
    .option(
      "--audit-webhook-initial-backoff <duration>",
      "wait before a failed POST is sent again; half as long again each time, five times at most",
      duration,
      10_000,
    )
    .option(
      "--audit-webhook-batch-buffer-size <count>",
      "events that wait in mode batch; beyond it they are lost and counted",
      positive,
      bufferSize,
    )
    .option("--audit-webhook-batch-max-size <count>", "events of one POST", positive, 400)
    .option(
      "--audit-webhook-batch-max-wait <duration>",
      "events of a batch that is not full wait so long",
      durationOrZero,
      30_000,
    )
    .option("--audit-webhook-batch-throttle-enable [boolean]", "limit the POSTs", boolean, true)
    .option("--audit-webhook-batch-throttle-qps <rate>", "POSTs a second", rate, 10)
    .option("--audit-webhook-batch-throttle-burst <count>", "POSTs at once", positive, 15);
  addTruncateFlags(command, "webhook");
}

function addMode(command: Command, backend: string, fallback: AuditMode): void {
  const flag = `--audit-${backend}-mode <mode>`;
  const text =
    "batch: nobody waits; blocking: an answer waits until its event is stored; blocking-strict: and a request whose event cannot be stored is refused";
  command.addOption(new Option(flag, text).choices([...auditModes]).default(fallback));
}

function addTruncateFlags(command: Command, backend: string): void {
  command
    .option(
      `--audit-${backend}-truncate-enabled [boolean]`,
      "leave bodies out of events that are too large, and such events out that still are",
      boolean,
      false,
    )
    .option(
      `--audit-${backend}-truncate-max-batch-size <bytes>`,
      "bytes of a batch",
      positive,
      batchBytes,
    )
    .option(
      `--audit-${backend}-truncate-max-event-size <bytes>`,
      "bytes of an event",
      positive,
      eventBytes,
    );
}

/** Parses a rate like a float32 flag in Go. */
function rate(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : positive(text);
}
