/**
 * `--config`: a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1.
 *
 * Taken  leaderElection, clientConnection.kubeconfig, profiles (profiles.ts), extenders, the backoff of Pods,
 *        percentageOfNodesToScore. Read without effect: parallelism, profiling, delayCacheUntilActive (informers of a
 *        follower do not run), rates and content types of the connection.
 * Refused by path and in upstream's words what its validation refuses, and what cannot be as asked here: a
 *        scheduler that ignores part of its configuration places pods otherwise than its operator thinks.
 * After  k/k pkg/scheduler/apis/config/validation/validation.go.
 */
import { parse } from "yaml";
import { invalidValue } from "#api/validation/errors.ts";
import { isRecord } from "#base/is-record.ts";
import { schedulerDefaults } from "#scheduler/scheduler.ts";
import { milliseconds } from "../shared/flag-values.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";
import { ConfigFields } from "./config-fields.ts";
import type { SchedulerFlags } from "./flags.ts";
import { type ExtenderConfig, ignoredOf, readExtenders } from "./extender-config.ts";
import { readProfiles } from "./profiles.ts";

type SchedulerChoice = Pick<typeof schedulerDefaults, "profiles" | "queue">;

interface ReadConfig {
  readonly flags: SchedulerFlags;
  readonly options: SchedulerChoice;
  readonly extenders: readonly ExtenderConfig[];
  /** The file's document, unchanged, for /configz. Empty without --config. */
  readonly document: Readonly<Record<string, unknown>>;
}

const version = "kubescheduler.config.k8s.io/v1";
/** Fields of `clientConnection`. No client limits its own rate, because the API server's priority and fairness does so. */
const ofConnection = ["kubeconfig", "qps", "burst", "contentType", "acceptContentTypes"];
const known = [
  "apiVersion",
  "kind",
  "clientConnection",
  "delayCacheUntilActive",
  "enableContentionProfiling",
  "enableProfiling",
  "extenders",
  "leaderElection",
  "parallelism",
  "percentageOfNodesToScore",
  "podInitialBackoffSeconds",
  "podMaxBackoffSeconds",
  "profiles",
];

/** Reads the configuration. Throws UsageError that names the file and the field. */
export function readSchedulerConfig(flags: SchedulerFlags): ReadConfig {
  const { profiles, queue } = schedulerDefaults;
  if (flags.config === undefined) {
    return { flags, options: { profiles, queue }, extenders: [], document: {} };
  }
  const given = parsed(flags.config);
  const root = new ConfigFields(flags.config, "", given);
  if (root.raw("apiVersion") !== version || root.raw("kind") !== "KubeSchedulerConfiguration") {
    throw root.fault("", `must be a KubeSchedulerConfiguration of ${version}`);
  }
  root.refuseUnknown(known);
  const changed = { ...flags, ...connectionOf(root), ...electionOf(root) };
  noteParallelism(root);
  const extenders = readExtenders(root);
  const options = { profiles: readProfiles(root, ignoredOf(extenders)), queue: backoffOf(root) };
  root.throwNoted();
  return { flags: changed, options, extenders, document: isRecord(given) ? given : {} };
}

/** Checks the number although it has no effect, because a single loop makes all decisions. */
function noteParallelism(root: ConfigFields): void {
  for (const field of ["delayCacheUntilActive", "enableProfiling", "enableContentionProfiling"]) {
    root.flag(field);
  }
  const parallelism = root.integer("parallelism") ?? 1;
  if (parallelism > 0) return;
  const detail = "should be an integer value greater than zero";
  root.note(invalidValue("parallelism", parallelism, detail));
}

function parsed(file: string): unknown {
  try {
    return parse(readOperatorFile(file));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--config ${file}: is no YAML: ${(error as Error).message}`);
  }
}

function connectionOf(root: ConfigFields): Partial<SchedulerFlags> {
  const connection = root.child("clientConnection");
  connection.refuseUnknown(ofConnection);
  const burst = connection.integer("burst") ?? 0;
  if (burst < 0)
    connection.note(invalidValue(connection.at("burst"), burst, "must be non-negative"));
  const kubeconfig = connection.text("kubeconfig");
  return kubeconfig === undefined ? {} : { kubeconfig };
}

const electionFields = {
  leaseDuration: "leaderElectLeaseDuration",
  renewDeadline: "leaderElectRenewDeadline",
  retryPeriod: "leaderElectRetryPeriod",
} as const;

function electionOf(root: ConfigFields): Partial<SchedulerFlags> {
  const given = root.child("leaderElection");
  const names = ["leaderElect", "resourceLock", "resourceName", "resourceNamespace"];
  given.refuseUnknown([...names, ...Object.keys(electionFields)]);
  const leaderElect = given.flag("leaderElect");
  const lock = given.text("resourceLock") ?? "leases";
  if (leaderElect !== false && lock !== "leases") {
    const detail = 'resourceLock value must be "leases"';
    given.note(invalidValue(given.at("resourceLock"), lock, detail));
  }
  const name = given.text("resourceName");
  const namespace = given.text("resourceNamespace");
  return {
    ...timesOf(given),
    ...(leaderElect === undefined ? {} : { leaderElect }),
    ...(name === undefined ? {} : { leaderElectResourceName: name }),
    ...(namespace === undefined ? {} : { leaderElectResourceNamespace: namespace }),
  };
}

function timesOf(given: ConfigFields): Partial<SchedulerFlags> {
  const times = Object.entries(electionFields).flatMap(([field, flag]) => {
    if (!given.has(field)) return [];
    const ms = milliseconds(given.raw(field));
    if (ms === undefined) throw given.fault(field, "must be a duration, as 15s");
    return [[flag, ms] as const];
  });
  return Object.fromEntries(times);
}

function backoffOf(root: ConfigFields): SchedulerChoice["queue"] {
  const { queue } = schedulerDefaults;
  const first = root.integer("podInitialBackoffSeconds") ?? queue.backoffFirstMs / 1000;
  const most = root.integer("podMaxBackoffSeconds") ?? queue.backoffMostMs / 1000;
  if (first <= 0) {
    root.note(invalidValue("podInitialBackoffSeconds", first, "must be greater than 0"));
  }
  if (most < first) {
    const detail = "must be greater than or equal to PodInitialBackoffSeconds";
    root.note(invalidValue("podMaxBackoffSeconds", most, detail));
  }
  return { ...queue, backoffFirstMs: first * 1000, backoffMostMs: most * 1000 };
}
