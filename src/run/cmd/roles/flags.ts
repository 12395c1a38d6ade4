/**
 * Flags of the roles that are clients of an API server: kube-scheduler's and kube-controller-manager's
 * names and meanings where these roles do the same.
 */
import type { LogLevel } from "#platform/node/log.ts";

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

export interface SchedulerFlags extends RoleFlags {
  readonly config?: string;
}
