/** The flags of `pilothouse up`, as parsed. `main.ts` checks the limits. */
import type { ImagePatterns } from "#hollow/image-pull.ts";
import type { ApiServerFlags } from "../plane/flags.ts";
import type { NodeGroupFlags } from "../shared/node-group-role.ts";
import type { RecoveryFlags } from "../shared/recovery.ts";
import type { SigningFlags } from "../shared/signing.ts";
import type { HollowStageFlags } from "../shared/stage-flags.ts";

export interface UpFlags
  extends ApiServerFlags, SigningFlags, RecoveryFlags, NodeGroupFlags, HollowStageFlags {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly nodes: number;
  readonly gangs?: boolean;
  /** Path of the file of devices. */
  readonly devices?: string;
  /** Path of the file of node groups. */
  readonly hollowNodeGroups?: string;
  readonly imagePullError: ImagePatterns;
  readonly hollowMetrics: boolean;
  readonly relay?: string;
  readonly relayResources: string;
  /** Address of xDS at the relay. */
  readonly xdsListen?: string;
}
