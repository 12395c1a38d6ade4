/**
 * A profile: the plugins of one scheduler name, as the operator chose them. Several profiles share a scheduler's queue,
 * cache and binds, so they never assign the same room twice. Each decides for the Pods that name it.
 *
 * A plugin here combines upstream's extension points: its filtering part (PreFilter, Filter, and Reserve and PreBind
 * with them) and its scoring part (PreScore, Score), each on or off, the second with a weight.
 */
import { defaultPlugins } from "./default-plugins.ts";
import type { DefaultConstraints } from "./default-spreads.ts";
import type { Plugin, PluginFactory } from "./plugin.ts";
import { interPodAffinity } from "./plugins/inter-pod-affinity.ts";
import { type AddedAffinity, nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeResourcesBalancedAllocation } from "./plugins/node-resources-balanced-allocation.ts";
import {
  type IgnoredResources,
  ignoresNothing,
  nodeResourcesFit,
} from "./plugins/node-resources-fit.ts";
import { podTopologySpread } from "./plugins/pod-topology-spread.ts";
import { bindTimeoutDefaultMs, volumeBinding } from "./plugins/volume-binding.ts";
import { type PreemptionLimits, preemptionLimits } from "./preemption-limits.ts";
import type { SampleSize } from "./sample-size.ts";
import { leastAllocated, type ScoringStrategy } from "./scoring-strategy.ts";

export interface Profile {
  /** Pods with this `schedulerName` belong to the profile. */
  readonly schedulerName: string;
  /** Plugins in upstream's order, whatever the order of the configuration. */
  readonly plugins: readonly PluginFactory[];
  /** Limits of upstream's DefaultPreemption. Undefined: Pods of lower priority are not preempted. */
  readonly preemption: PreemptionLimits | undefined;
  readonly sample: SampleSize;
}

export interface PluginArguments {
  readonly strategy: ScoringStrategy;
  readonly ignoredResources: IgnoredResources;
  /** Resources that NodeResourcesBalancedAllocation balances. */
  readonly balancedResources: readonly string[];
  /** Score that a required affinity of a placed Pod adds, 0 to 100. */
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
  /** Constraints for Pods without constraints of their own. */
  readonly defaultConstraints: DefaultConstraints;
  /** Affinity for all Pods of the profile, in addition to their own. */
  readonly addedAffinity: AddedAffinity;
  readonly preemption: PreemptionLimits;
  /** Maximum time that a Pod waits for its volumes to be bound. */
  readonly bindTimeoutMs: number;
}

/** Enabled parts of a plugin. `weight` undefined: the plugin's default. */
export interface PluginParts {
  readonly filters: boolean;
  readonly scores: boolean;
  readonly weight: number | undefined;
}

export const defaultArguments: PluginArguments = {
  strategy: leastAllocated,
  ignoredResources: ignoresNothing,
  balancedResources: ["cpu", "memory"],
  hardPodAffinityWeight: 1,
  ignorePreferredTermsOfExistingPods: false,
  defaultConstraints: "built-in",
  addedAffinity: { required: undefined, preferred: [] },
  preemption: preemptionLimits,
  bindTimeoutMs: bindTimeoutDefaultMs,
};

export const defaultProfile: Profile = {
  schedulerName: "default-scheduler",
  plugins: defaultPlugins,
  preemption: preemptionLimits,
  sample: "all",
};

/** Returns the default plugins with the given arguments, each reduced to the parts that `partsOf` returns for its name. */
export function choosePlugins(
  chosen: PluginArguments,
  partsOf: (name: string) => PluginParts,
): readonly PluginFactory[] {
  const withArguments = new Map<PluginFactory, PluginFactory>([
    [nodeResourcesFit, () => nodeResourcesFit(undefined, chosen.strategy, chosen.ignoredResources)],
    [
      nodeResourcesBalancedAllocation,
      () => nodeResourcesBalancedAllocation(undefined, chosen.balancedResources),
    ],
    [volumeBinding, (deps) => volumeBinding(deps, chosen.bindTimeoutMs)],
    [interPodAffinity, (deps) => interPodAffinity(deps, chosen)],
    [podTopologySpread, (deps) => podTopologySpread(deps, chosen.defaultConstraints)],
    [nodeAffinity, () => nodeAffinity(undefined, chosen.addedAffinity)],
  ]);
  return defaultPlugins.map((make) => (deps) => {
    const plugin = (withArguments.get(make) ?? make)(deps);
    return reduced(plugin, partsOf(plugin.name));
  });
}

function reduced(plugin: Plugin, { filters, scores, weight }: PluginParts): Plugin {
  const { name, nodeScore, roomScore, score, ...filtering } = plugin;
  return {
    name,
    ...(filters ? filtering : {}),
    ...(scores ? weighted({ nodeScore, roomScore, score }, weight) : {}),
  };
}

interface Scores {
  readonly nodeScore: Plugin["nodeScore"];
  readonly roomScore: Plugin["roomScore"];
  readonly score: Plugin["score"];
}

function weighted(
  { nodeScore, roomScore, score }: Scores,
  weight: number | undefined,
): Pick<Plugin, "nodeScore" | "roomScore" | "score"> {
  const own = weight === undefined ? {} : { weight };
  return {
    ...(nodeScore === undefined ? {} : { nodeScore: { ...nodeScore, ...own } }),
    ...(roomScore === undefined ? {} : { roomScore: { ...roomScore, ...own } }),
    ...(score === undefined ? {} : { score: { ...score, ...own } }),
  };
}
