/** The flags of `pilothouse scheduler`, as parsed. */
import type { RecoveryFlags } from "../shared/recovery.ts";
import type { RoleFlags } from "../shared/role-flags.ts";

export interface SchedulerFlags extends RoleFlags, RecoveryFlags {
  readonly config?: string;
}
