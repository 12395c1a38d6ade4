/** NodeDeclaredFeatures: a Pod that needs a feature of the kubelet goes to nodes that declare it. */
import type { Plugin } from "../plugin.ts";
import { hintByNode } from "../hints.ts";
import { featuresNeeded } from "../node-features.ts";
import { reasonId } from "../reasons.ts";

const name = "NodeDeclaredFeatures";
const missing = reasonId(name, "node(s) didn't match Pod's required features", false);

export function nodeDeclaredFeatures(): Plugin {
  return {
    name,
    nodeFilter(info, node) {
      const needed = featuresNeeded(info.pod);
      if (needed.length === 0) return -1;
      const declared = node.status?.declaredFeatures ?? [];
      return needed.every((feature) => declared.includes(feature)) ? -1 : missing;
    },
    hint: hintByNode,
  };
}
