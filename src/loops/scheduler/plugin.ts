/**
 * What a scheduler plugin declares: its extension points, its weights, and which events may help a Pod
 * that it refused. One file in `plugins/` and one line in `default-plugins.ts` make a plugin.
 *
 * The narrower an extension point, the cheaper: `nodeFilter` and `nodeScore` run once per class of Pods
 * and change of a node, `roomFilter` and `roomScore` once per class and change of a node's sums, `filter`
 * and `score` once per decision over all nodes.
 */
import type { Node } from "#api/gen/types.ts";
import type { Cache } from "./cache.ts";
import type { VolumeLookup } from "./claims.ts";
import type { Cycle } from "./cycle.ts";
import type { ServicesOf } from "./default-spreads.ts";
import type { DeviceLookup } from "./devices/lookup.ts";
import type { ClusterEvent, Hint } from "./hints.ts";
import type { NodeFilter, NodeScore, RoomFilter, RoomScore } from "./pod-class.ts";
import type { PodInfo } from "./pod-info.ts";
import type { NamespaceLabels } from "./selection.ts";

export interface Plugin {
  /** Upstream's name; unique. It is part of the reasons of the plugin's refusals (`reasonId`). */
  readonly name: string;

  /** Returns why no node can take the Pod, in upstream's words. Undefined: the nodes decide. */
  readonly preFilter?: (info: PodInfo) => string | undefined;
  /** Returns a reason id, or -1 when the node passes. Reads only the Pod's class and the Node object. */
  readonly nodeFilter?: NodeFilter;
  /** Returns the reason ids of all resources that the node lacks. Reads only the class's requests and the sums. */
  readonly roomFilter?: RoomFilter;
  /** Keeps the slots that pass: see Cycle.keep. It must not iterate over Pods. */
  readonly filter?: (cycle: Cycle) => void;

  /**
   * Called when no node fits the Pod, after `filter` of the same decision: takes steps that may let it fit later.
   * @returns upstream's text about them; "": nothing to report.
   */
  readonly postFilter?: (info: PodInfo) => string;
  /** Reserves what the Pod needs on its node besides room. Undefined: nothing to reserve. Once per decision. */
  readonly reserve?: (info: PodInfo, node: Node) => Reservation | undefined;

  /**
   * Whether `filter` and `score` have no effect for this Pod on any node now. It is called once per decision, so it
   * must be cheap. If this is true of all plugins, the decision uses the changes since the last one of the Pod's class.
   * Absent: false.
   */
  readonly isIdle?: (info: PodInfo, cache: Cache) => boolean;

  readonly nodeScore?: NodeScore;
  readonly roomScore?: RoomScore;
  readonly score?: Score;

  /**
   * `filter` reads only the Pod's class, the nodes and their placed Pods. So a refusal holds for the class until a
   * constraint is loosened (`Cache.loosened`). Always true of `nodeFilter` and `roomFilter`.
   */
  readonly isSharedByClass?: boolean;
  /** Returns the facts beyond the Pod's class that decide the verdict, as text; "" for none. Upstream's SignPod. */
  readonly sign?: (info: PodInfo) => string;
  /** Upstream's QueueingHintFn. Absent for plugins that never refuse. */
  readonly hint?: (event: ClusterEvent, info: PodInfo) => Hint;
}

interface Score {
  readonly weight: number;
  /**
   * Writes 0..100 for each feasible slot into `scores[slot]`.
   * @returns false when the plugin has no score for this Pod; its written values are then ignored.
   */
  readonly run: (cycle: Cycle, scores: Float64Array) => boolean;
}

/** Upstream's Reserve, PreBind and Unreserve of one decision. */
export interface Reservation {
  /** Name of the plugin, used in the message when `preBind` fails. */
  readonly plugin: string;
  /** Fulfils the prerequisites of the bind; rejects on failure and when `signal` aborts. Called once. */
  preBind(signal: AbortSignal): Promise<void>;
  /** Releases the reservation, because the Pod is not bound. */
  unreserve(): void;
}

/** Makes a plugin; called once per scheduler. */
export type PluginFactory = (deps: PluginDeps) => Plugin;

export interface PluginDeps {
  readonly namespaces: NamespaceLabels;
  readonly volumes: VolumeLookup;
  /** Absent: there are no Services. */
  readonly services?: ServicesOf;
  /** Absent: devices are unknown, and Pods with claims are not examined. */
  readonly devices?: DeviceLookup;
}
