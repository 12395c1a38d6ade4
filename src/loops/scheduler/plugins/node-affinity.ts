/** NodeAffinity: nodeSelector and required node affinity filter, preferred node affinity scores. */
import type { Node, NodeSelector, PreferredSchedulingTerm } from "#api/gen/types.ts";
import { labelsInclude, nodeSelectorMatches, nodeTermMatches } from "#api/selectors/node-match.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import { hintByNode } from "../hints.ts";
import type { PodInfo } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";

const name = "NodeAffinity";
const enforcedMismatch = reasonId(
  name,
  "node(s) didn't match scheduler-enforced node affinity",
  false,
);
const mismatch = reasonId(name, "node(s) didn't match Pod's node affinity/selector", false);

export interface AddedAffinity {
  readonly required: NodeSelector | undefined;
  readonly preferred: readonly PreferredSchedulingTerm[];
}

const noAffinity: AddedAffinity = { required: undefined, preferred: [] };

/** `added`: affinity of the profile, which applies to all Pods. */
export function nodeAffinity(_deps?: PluginDeps, added = noAffinity): Plugin {
  const { required } = added;
  return {
    name,
    nodeFilter(info, node) {
      if (required !== undefined && !nodeSelectorMatches(required, node)) return enforcedMismatch;
      return nodeAffinityHolds(info, node) ? -1 : mismatch;
    },
    nodeScore: {
      weight: 2,
      isReversed: false,
      raw(info, node) {
        const preferred =
          info.pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
        let weight = 0;
        for (const wish of [...added.preferred, ...(preferred ?? [])]) {
          if (nodeTermMatches(wish.preference, node)) weight += wish.weight;
        }
        return weight;
      },
    },
    hint: hintByNode,
  };
}

/** Whether node selector and required node affinity hold; also decides which nodes count for topology spread. */
export function nodeAffinityHolds(info: PodInfo, node: Node): boolean {
  const spec = info.pod.spec;
  if (!labelsInclude(spec?.nodeSelector, node.metadata?.labels)) return false;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || nodeSelectorMatches(required, node);
}
