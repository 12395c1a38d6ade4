/**
 * `--config`: a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1.
 *
 * Taken  leaderElection, clientConnection.kubeconfig, one profile's schedulerName. Fields that say what is so
 *        anyhow pass. Everything else is refused by its path: a scheduler that ignores part of its
 *        configuration places pods otherwise than its operator thinks.
 */
import { parse } from "yaml";
import { readOperatorFile } from "../operator-file.ts";
import { UsageError } from "../usage-error.ts";
import type { SchedulerFlags } from "./flags.ts";
import { milliseconds } from "../flag-values.ts";

interface SchedulerChoice {
  readonly schedulerName: string;
}

interface ReadConfig {
  readonly flags: SchedulerFlags;
  readonly options: SchedulerChoice;
}

type Fields = Readonly<Record<string, unknown>>;

const version = "kubescheduler.config.k8s.io/v1";
const defaultName = "default-scheduler";
/** No client limits its own rate here: the API server's priority and fairness paces it. */
const ignored: ReadonlySet<string> = new Set([
  "clientConnection.qps",
  "clientConnection.burst",
  "clientConnection.contentType",
  "clientConnection.acceptContentTypes",
  "parallelism",
  "percentageOfNodesToScore",
  "enableProfiling",
  "enableContentionProfiling",
]);

/** Throws UsageError that names the file and the field. */
export function readSchedulerConfig(flags: SchedulerFlags): ReadConfig {
  const options = { schedulerName: defaultName };
  if (flags.config === undefined) return { flags, options };
  return new ConfigReader(flags.config).read(flags);
}

class ConfigReader {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  read(flags: SchedulerFlags): ReadConfig {
    const root = this.#fields("", this.#parse());
    if (root["apiVersion"] !== version || root["kind"] !== "KubeSchedulerConfiguration") {
      throw this.#fault("", `must be a KubeSchedulerConfiguration of ${version}`);
    }
    const known = ["apiVersion", "kind", "clientConnection", "leaderElection", "profiles"];
    this.#refuseOthers("", root, known);
    return {
      flags: { ...flags, ...this.#connection(root), ...this.#election(root) },
      options: { schedulerName: this.#schedulerName(root["profiles"]) },
    };
  }

  #parse(): unknown {
    try {
      return parse(readOperatorFile(this.#path));
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw this.#fault("", `is no YAML: ${(error as Error).message}`);
    }
  }

  #connection(root: Fields): Partial<SchedulerFlags> {
    const connection = this.#fields("clientConnection", root["clientConnection"] ?? {});
    this.#refuseOthers("clientConnection", connection, ["kubeconfig"]);
    const kubeconfig = connection["kubeconfig"] ?? "";
    if (typeof kubeconfig !== "string")
      throw this.#fault("clientConnection.kubeconfig", "must be text");
    return kubeconfig === "" ? {} : { kubeconfig };
  }

  #election(root: Fields): Partial<SchedulerFlags> {
    const given = this.#fields("leaderElection", root["leaderElection"] ?? {});
    const known = [
      "leaderElect",
      "leaseDuration",
      "renewDeadline",
      "retryPeriod",
      "resourceLock",
      "resourceName",
      "resourceNamespace",
    ];
    this.#refuseOthers("leaderElection", given, known);
    if ((given["resourceLock"] ?? "leases") !== "leases") {
      throw this.#fault("leaderElection.resourceLock", "must be leases");
    }
    return {
      ...this.#one(given, "leaderElect", "leaderElect", (value) =>
        typeof value === "boolean" ? value : undefined,
      ),
      ...this.#one(given, "leaseDuration", "leaderElectLeaseDuration", milliseconds),
      ...this.#one(given, "renewDeadline", "leaderElectRenewDeadline", milliseconds),
      ...this.#one(given, "retryPeriod", "leaderElectRetryPeriod", milliseconds),
      ...this.#one(given, "resourceName", "leaderElectResourceName", name),
      ...this.#one(given, "resourceNamespace", "leaderElectResourceNamespace", name),
    };
  }

  #one<T>(
    given: Fields,
    field: string,
    flag: keyof SchedulerFlags,
    read: (value: unknown) => T | undefined,
  ): Partial<SchedulerFlags> {
    if (given[field] === undefined) return {};
    const value = read(given[field]);
    if (value === undefined) throw this.#fault(`leaderElection.${field}`, "cannot be read");
    return { [flag]: value };
  }

  #schedulerName(profiles: unknown): string {
    if (profiles === undefined) return defaultName;
    if (!Array.isArray(profiles) || profiles.length !== 1) {
      throw this.#fault("profiles", "must be one profile: run a scheduler for each further one");
    }
    const profile = this.#fields("profiles[0]", profiles[0]);
    this.#refuseOthers("profiles[0]", profile, ["schedulerName"]);
    const given = profile["schedulerName"] ?? defaultName;
    const read = name(given);
    if (read === undefined) throw this.#fault("profiles[0].schedulerName", "must be a name");
    return read;
  }

  #refuseOthers(path: string, fields: Fields, known: readonly string[]): void {
    for (const [field, value] of Object.entries(fields)) {
      const at = path === "" ? field : `${path}.${field}`;
      const isEmpty = value === null || (Array.isArray(value) && value.length === 0);
      if (known.includes(field) || ignored.has(at) || isEmpty) continue;
      throw this.#fault(
        at,
        "is not supported here: the default plugins run with their default arguments",
      );
    }
  }

  #fields(path: string, value: unknown): Fields {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Fields;
    throw this.#fault(path, "must be a mapping");
  }

  #fault(path: string, what: string): UsageError {
    const where = path === "" ? "" : `${path} `;
    return new UsageError(`--config ${this.#path}: ${where}${what}`);
  }
}

function name(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
