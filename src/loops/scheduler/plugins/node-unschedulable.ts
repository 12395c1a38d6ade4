/** NodeUnschedulable: a cordoned node takes only Pods that tolerate its taint. */
import { tolerates, unschedulableTaint } from "#api/selectors/node-match.ts";
import type { Plugin } from "../plugin.ts";
import { hintByNode } from "../hints.ts";
import { reasonId } from "../reasons.ts";

const name = "NodeUnschedulable";
const unschedulable = reasonId(name, "node(s) were unschedulable", false);

export function nodeUnschedulable(): Plugin {
  return {
    name,
    nodeFilter(info, node) {
      if (node.spec?.unschedulable !== true) return -1;
      return tolerates(info.tolerations, unschedulableTaint) ? -1 : unschedulable;
    },
    hint: hintByNode,
  };
}
