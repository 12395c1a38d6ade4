/** The flags of `pilothouse hollow`, as parsed. */
import type { ImagePatterns } from "#hollow/image-pull.ts";
import type { NodeGroupFlags } from "../shared/node-group-role.ts";
import type { WatchShape } from "#hollow/watch-shape.ts";
import type { ApiFlags } from "../shared/role-flags.ts";
import type { StageFlags } from "../shared/stage-flags.ts";

/** The range of a cluster's nodes that one process simulates. */
export interface NodeRange {
  readonly nodes: number;
  readonly firstIndex: number;
}

export interface HollowFlags extends ApiFlags, NodeGroupFlags, StageFlags {
  /** Number of nodes. Absent: 10, or none with node groups. */
  readonly nodes?: number;
  readonly firstIndex: number;
  /** Replaces the two members above. */
  readonly nodeRange?: NodeRange;
  /** Path of the file of node groups. */
  readonly nodeGroups?: string;
  readonly watchShape: WatchShape;
  readonly namePrefix: string;
  readonly zones: number;
  readonly pods: number;
  readonly cpu: string;
  readonly memory: string;
  /** Path of the file of devices. */
  readonly devices?: string;
  readonly imagePullError: ImagePatterns;
}
