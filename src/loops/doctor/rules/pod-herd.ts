/** Detects many pods that are deleted and recreated at once after the loss of nodes. */
import { growth, type Evidence } from "../evidence.ts";
import type { Rule } from "../rule.ts";
import { nodeNames, silentNodesOf } from "./silent-nodes.ts";

const podsPerSecond = 20;

export const podHerd: Rule = {
  id: "pod-herd",
  title: "Pods of lost nodes come back all at once",
  reads: ["apiserver_request_total", "nodeLeases"],
  threshold: "20 pods a second are deleted or evicted, and as many made, while a node is silent",
  source: "client-go's default of 20 writes a second, which bounds upstream's evictions",
  judge: (evidence) => {
    const silent = silentNodesOf(evidence);
    const deleted = podsPer(evidence, "DELETE", "") + podsPer(evidence, "POST", "eviction");
    const made = podsPer(evidence, "POST", "");
    if (silent.length === 0 || !(Math.min(deleted, made) >= podsPerSecond)) return [];
    return [
      {
        sentence: `the loss of ${silent.length} nodes deletes ${Math.round(deleted)} pods a second, and ${Math.round(made)} are made anew`,
        culprit: nodeNames(silent),
        severity: "page",
        figures: {
          deletedPerSecond: Math.round(deleted),
          madePerSecond: Math.round(made),
          silentNodes: silent.length,
        },
        remedy:
          "see silent-nodes first: nodes that come back need no new pods; to slow it down, --node-eviction-rate and --kube-api-qps of the controller manager",
        certainty: 0.7,
        unseen: "who deletes: the audit log has the user",
      },
    ];
  },
};

function podsPer(evidence: Evidence, verb: string, subresource: string): number {
  const grown = growth(evidence, "apiserver_request_total", [], ({ labels }) => {
    const isPods = labels.get("resource") === "pods" && labels.get("verb") === verb;
    return isPods && (labels.get("subresource") ?? "") === subresource && isSuccess(labels);
  });
  return (grown.get("") ?? 0) / evidence.secondsBetween;
}

function isSuccess(labels: ReadonlyMap<string, string>): boolean {
  return labels.get("code")?.startsWith("2") ?? false;
}
