/**
 * TaintToleration: taints NoSchedule and NoExecute keep away Pods that do not tolerate them. The fewer PreferNoSchedule
 * taints
 * are not tolerated, the better the score.
 */
import type { Taint } from "#api/gen/types.ts";
import { tolerates } from "#api/selectors/node-match.ts";
import type { Plugin } from "../plugin.ts";
import { hintByNode } from "../hints.ts";
import { reasonId } from "../reasons.ts";

const name = "TaintToleration";
const untolerated = reasonId(name, "node(s) had untolerated taint(s)", false);
const isPreference = (taint: Taint): boolean => taint.effect === "PreferNoSchedule";

export function taintToleration(): Plugin {
  return {
    name,
    nodeFilter(info, node) {
      for (const taint of node.spec?.taints ?? []) {
        if (isPreference(taint) || tolerates(info.tolerations, taint)) continue;
        return untolerated;
      }
      return -1;
    },
    nodeScore: {
      weight: 3,
      isReversed: true,
      raw(info, node) {
        let count = 0;
        for (const taint of node.spec?.taints ?? []) {
          // Only tolerations of this effect, or of all effects, count here.
          if (isPreference(taint) && !tolerates(info.tolerations, taint)) count++;
        }
        return count;
      },
    },
    hint: hintByNode,
  };
}
