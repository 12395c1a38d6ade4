/** The flags of `pilothouse scheduler`, as parsed. */
import type { RoleFlags } from "../shared/role-flags.ts";

export interface SchedulerFlags extends RoleFlags {
  readonly config?: string;
}
