/**
 * Flags of the roles that are clients of an API server: kube-scheduler's and kube-controller-manager's
 * names and meanings where these roles do the same.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { electionTimes } from "#client/election.ts";
import type { LogLevel } from "#platform/node/log.ts";
import { addTlsFlags, type TlsFlags } from "./serving-flags.ts";
import { featureGates as takenGates } from "./stock-flags/feature-gates.ts";
import { boolean, duration, integer, logLevelOption } from "./flag-values.ts";

/** Flags of the connection to the API server. */
export interface ApiFlags {
  /** Path of a kubeconfig. Absent: a Pod's own service account, KUBECONFIG, ~/.kube/config. */
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
  /** Maximum requests per second of each client. Absent: no limit. */
  readonly kubeApiQps?: number;
  readonly kubeApiBurst?: number;
}

export interface ElectionFlags extends LeaseFlags {
  readonly leaderElect: boolean;
}

/** Flags of the Lease of an election, with durations in milliseconds. */
export interface LeaseFlags {
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly leaderElectResourceName: string;
  readonly leaderElectResourceNamespace: string;
}

/** Flags of the port for health and metrics. */
export interface HealthFlags extends TlsFlags {
  readonly bindAddress: string;
  /** Port for health and metrics. 0: not served. */
  readonly securePort: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
}

export interface RoleFlags extends ApiFlags, ElectionFlags, HealthFlags {
  /** Value of --feature-gates, as checked by `featureGates`. Absent: none. */
  readonly featureGates?: readonly string[];
}

export function addRoleFlags(
  command: Command,
  {
    lease,
    port,
    leaseNamespace = "kube-system",
  }: { readonly lease: string; readonly port: number; readonly leaseNamespace?: string },
): void {
  addApiFlags(command);
  command.option("--leader-elect [boolean]", "work only while holding the Lease", boolean, true);
  addLeaseFlags(command, { lease, leaseNamespace });
  command
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
  addTlsFlags(command);
}

/** Adds the flags of a Lease: its name, and the times of those who take part. */
export function addLeaseFlags(
  command: Command,
  { lease, leaseNamespace }: { readonly lease: string; readonly leaseNamespace: string },
): void {
  command
    .option("--leader-elect-resource-name <name>", "of the Lease", lease)
    .option("--leader-elect-resource-namespace <name>", "of the Lease", leaseNamespace)
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
    );
}

export function addApiFlags(command: Command): void {
  command
    .option(
      "--kubeconfig <file>",
      "how to reach the API server, and as whom; absent: a Pod's own service account, or what kubectl would read",
    )
    .option(
      "--kube-api-qps <number>",
      "requests a second of each client, beyond which they wait; absent, or 0: they go as they come",
      requestRate,
    )
    .option(
      "--kube-api-burst <count>",
      "with --kube-api-qps: requests at once after a quiet time",
      integer("count", 0, 2 ** 31 - 1),
    )
    .addOption(logLevelOption())
    .addOption(featureGates());
}

export function featureGates(): Option {
  const text =
    "features of 1.36, NAME=true|false, comma separated; each is taken at the value that tells what is here (docs/features.md)";
  return new Option("--feature-gates <list>", text).argParser(takenGates);
}

/** Parses a rate. A rate below zero counts as zero, as in client-go. */
function requestRate(text: string): number {
  const rate = Number(text);
  if (text.trim() !== "" && Number.isFinite(rate) && rate <= 1_000_000) return rate;
  throw new InvalidArgumentError("a number of requests a second, to 1000000.");
}
