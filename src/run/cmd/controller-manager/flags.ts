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
  /** `*`, `name`, `-name` */
  readonly controllers: readonly string[];
  /** Milliseconds, as are the next two. */
  readonly nodeMonitorPeriod: number;
  readonly nodeMonitorGracePeriod: number;
  readonly nodeStartupGracePeriod: number;
  /** Nodes a second. */
  readonly nodeEvictionRate: number;
  readonly secondaryNodeEvictionRate: number;
  readonly unhealthyZoneThreshold: number;
  readonly largeClusterSizeThreshold: number;
  readonly terminatedPodGcThreshold: number;
  /** Milliseconds. */
  readonly legacyServiceAccountTokenCleanUpPeriod: number;
}
