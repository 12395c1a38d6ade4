/** The flags of `pilothouse hollow`, as parsed. */
import type { ImagePatterns } from "#hollow/image-pull.ts";
import type { NodeGroupFlags } from "../shared/node-group-role.ts";
import type { WatchShape } from "#hollow/watch-shape.ts";
import type { ApiFlags } from "../shared/role-flags.ts";
import type { StageFlags } from "../shared/stage-flags.ts";

/** The part of a cluster's nodes that a process has. */
export interface NodeRange {
  readonly nodes: number;
  readonly firstIndex: number;
}

export interface HollowFlags extends ApiFlags, NodeGroupFlags, StageFlags {
  /** Absent: 10, or none with node groups. */
  readonly nodes?: number;
  readonly firstIndex: number;
  /** Instead of these two. */
  readonly nodeRange?: NodeRange;
  /** A file. */
  readonly nodeGroups?: string;
  readonly watchShape: WatchShape;
  readonly namePrefix: string;
  readonly zones: number;
  readonly pods: number;
  readonly cpu: string;
  readonly memory: string;
  /** A file. */
  readonly devices?: string;
  readonly imagePullError: ImagePatterns;
}
