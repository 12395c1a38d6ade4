/** The flags of `pilothouse controller-manager`, as parsed. */
import type { RoleFlags } from "../shared/role-flags.ts";
import type { AutoscalingFlags } from "./autoscaling-flags.ts";
import type { NodeRangeFlags } from "./node-ranges.ts";
import type { RecoveryFlags } from "../shared/recovery.ts";
import type { SigningFlags } from "../shared/signing.ts";

export interface ControllerManagerFlags
  extends RoleFlags, SigningFlags, NodeRangeFlags, AutoscalingFlags, RecoveryFlags {
  readonly useServiceAccountCredentials: boolean;
  readonly serviceAccountPrivateKeyFile?: string;
  /** Selected controllers: `*` for all, `name` to enable, `-name` to disable. */
  readonly controllers: readonly string[];
  /** Milliseconds, as in the next two members. */
  readonly nodeMonitorPeriod: number;
  readonly nodeMonitorGracePeriod: number;
  readonly nodeStartupGracePeriod: number;
  /** Nodes per second, as in the next member. */
  readonly nodeEvictionRate: number;
  readonly secondaryNodeEvictionRate: number;
  readonly unhealthyZoneThreshold: number;
  readonly largeClusterSizeThreshold: number;
  readonly terminatedPodGcThreshold: number;
  /** Clean-up period of legacy service account tokens, in milliseconds. */
  readonly legacyServiceAccountTokenCleanUpPeriod: number;
}
