/**
 * Flags of the roles that are clients of an API server: kube-scheduler's and kube-controller-manager's
 * names and meanings where these roles do the same.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { electionTimes } from "#client/election.ts";
import type { LogLevel } from "#platform/node/log.ts";
import { boolean, duration, integer, logLevelOption } from "./flag-values.ts";

/** How the API server is reached. */
export interface ApiFlags {
  /** Absent: a Pod's own service account, KUBECONFIG, ~/.kube/config. */
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
}

/** Durations in milliseconds. */
export interface ElectionFlags {
  readonly leaderElect: boolean;
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly leaderElectResourceName: string;
  readonly leaderElectResourceNamespace: string;
}

/** Where health and metrics are served. */
export interface HealthFlags {
  readonly bindAddress: string;
  /** 0: not served. */
  readonly securePort: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
}

export interface RoleFlags extends ApiFlags, ElectionFlags, HealthFlags {}

export function addRoleFlags(
  command: Command,
  { lease, port }: { readonly lease: string; readonly port: number },
): void {
  addApiFlags(command);
  command
    .option("--leader-elect [boolean]", "work only while holding the Lease", boolean, true)
    .option("--leader-elect-resource-name <name>", "of the Lease", lease)
    .option("--leader-elect-resource-namespace <name>", "of the Lease", "kube-system")
    .option(
      "--leader-elect-lease-duration <duration>",
      "after which others may take a Lease that is not renewed",
      duration,
      electionTimes.leaseDurationMs,
    )
    .option(
      "--leader-elect-renew-deadline <duration>",
      "after which the leader stops when it cannot renew",
      duration,
      electionTimes.renewDeadlineMs,
    )
    .option(
      "--leader-elect-retry-period <duration>",
      "between two tries",
      duration,
      electionTimes.retryPeriodMs,
    )
    .option("--bind-address <address>", "where health and metrics are served", "127.0.0.1")
    .option(
      "--secure-port <port>",
      "of health and metrics; 0: none",
      integer("port", 0, 65_535),
      port,
    )
    .option(
      "--tls-cert-file <file>",
      "certificate of that port, PEM; absent: one made at the start",
    )
    .option("--tls-private-key-file <file>", "its private key, PEM");
}

export function addApiFlags(command: Command): void {
  command
    .option(
      "--kubeconfig <file>",
      "how to reach the API server, and as whom; absent: a Pod's own service account, or what kubectl would read",
    )
    .addOption(logLevelOption())
    .addOption(featureGates());
}

export function featureGates(): Option {
  const text = "refused: features are those of 1.36 by default";
  return new Option("--feature-gates <list>", text).argParser(refuseGates);
}

function refuseGates(text: string): never {
  const gates = text.split(",").map((gate) => gate.split("=")[0]);
  throw new InvalidArgumentError(
    `${gates.join(", ")}: features are those that 1.36 has on by default, and cannot be switched.`,
  );
}
