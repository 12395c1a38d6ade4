/**
 * The registry of all plugins, in upstream's order, which decides the reason of a node's refusal. A new plugin needs a
 * file in `plugins/` and a line here. SchedulingGates, PrioritySort (queue.ts), DefaultPreemption (preemption.ts) and
 * DefaultBinder (bind.ts) are parts of the scheduler itself.
 * After  k/k pkg/scheduler/apis/config/v1/default_plugins.go.
 */
import type { PluginFactory } from "./plugin.ts";
import { dynamicResources } from "./plugins/dynamic-resources.ts";
import { imageLocality } from "./plugins/image-locality.ts";
import { interPodAffinity } from "./plugins/inter-pod-affinity.ts";
import { nodeAffinity } from "./plugins/node-affinity.ts";
import { nodeDeclaredFeatures } from "./plugins/node-declared-features.ts";
import { nodePorts } from "./plugins/node-ports.ts";
import { nodeResourcesBalancedAllocation } from "./plugins/node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "./plugins/node-resources-fit.ts";
import { nodeUnschedulable } from "./plugins/node-unschedulable.ts";
import { nodeVolumeLimits } from "./plugins/node-volume-limits.ts";
import { podTopologySpread } from "./plugins/pod-topology-spread.ts";
import { taintToleration } from "./plugins/taint-toleration.ts";
import { volumeBinding } from "./plugins/volume-binding.ts";
import { volumeRestrictions } from "./plugins/volume-restrictions.ts";
import { volumeZone } from "./plugins/volume-zone.ts";

export const defaultPlugins: readonly PluginFactory[] = [
  nodeUnschedulable,
  taintToleration,
  nodeAffinity,
  // Upstream's last plugin; here the filters that look only at the node come first.
  nodeDeclaredFeatures,
  nodePorts,
  nodeResourcesFit,
  volumeRestrictions,
  nodeVolumeLimits,
  volumeBinding,
  volumeZone,
  podTopologySpread,
  interPodAffinity,
  nodeResourcesBalancedAllocation,
  imageLocality,
  dynamicResources,
];
