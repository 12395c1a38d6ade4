/**
 * `--config`: a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1.
 *
 * Taken  leaderElection, clientConnection.kubeconfig, profiles (profiles.ts), the backoff of Pods. Fields
 *        that say what is so anyhow pass. Everything else is refused by its path: a scheduler that ignores
 *        part of its configuration places pods otherwise than its operator thinks.
 */
import { parse } from "yaml";
import { schedulerDefaults } from "#scheduler/scheduler.ts";
import { milliseconds } from "../shared/flag-values.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";
import { ConfigFields } from "./config-fields.ts";
import type { SchedulerFlags } from "./flags.ts";
import { readProfiles } from "./profiles.ts";

type SchedulerChoice = Pick<typeof schedulerDefaults, "profiles" | "queue">;

interface ReadConfig {
  readonly flags: SchedulerFlags;
  readonly options: SchedulerChoice;
}

const version = "kubescheduler.config.k8s.io/v1";
const notHere = "is not supported here";
/** No client limits its own rate here: the API server's priority and fairness paces it. */
const ignored = [
  "parallelism",
  "percentageOfNodesToScore",
  "enableProfiling",
  "enableContentionProfiling",
];
const ignoredOfConnection = ["qps", "burst", "contentType", "acceptContentTypes"];
/** Upstream sets no bound; an hour is longer than anybody waits on purpose. */
const backoffSecondsMax = 3600;

/** Throws UsageError that names the file and the field. */
export function readSchedulerConfig(flags: SchedulerFlags): ReadConfig {
  const { profiles, queue } = schedulerDefaults;
  if (flags.config === undefined) return { flags, options: { profiles, queue } };
  const root = new ConfigFields(flags.config, "", parsed(flags.config));
  if (root.raw("apiVersion") !== version || root.raw("kind") !== "KubeSchedulerConfiguration") {
    throw root.fault("", `must be a KubeSchedulerConfiguration of ${version}`);
  }
  const known = ["clientConnection", "leaderElection", "profiles"];
  const times = ["podInitialBackoffSeconds", "podMaxBackoffSeconds"];
  root.refuseOthers(["apiVersion", "kind", ...known, ...times, ...ignored], notHere);
  return {
    flags: { ...flags, ...connectionOf(root), ...electionOf(root) },
    options: { profiles: readProfiles(root), queue: backoffOf(root) },
  };
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
  connection.refuseOthers(["kubeconfig", ...ignoredOfConnection], notHere);
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
  given.refuseOthers([...names, ...Object.keys(electionFields)], notHere);
  given.oneOf("resourceLock", ["leases"]);
  const leaderElect = given.flag("leaderElect");
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
  const first = root.number("podInitialBackoffSeconds", 1, backoffSecondsMax);
  const most = root.number("podMaxBackoffSeconds", 1, backoffSecondsMax);
  const backoffFirstMs = first === undefined ? queue.backoffFirstMs : first * 1000;
  const backoffMostMs = most === undefined ? queue.backoffMostMs : most * 1000;
  if (backoffMostMs < backoffFirstMs) {
    throw root.fault("podMaxBackoffSeconds", "must not be less than podInitialBackoffSeconds");
  }
  return { ...queue, backoffFirstMs, backoffMostMs };
}
