/** Warnings about renamed node labels, wherever nodes are selected. */
import { ownEntry } from "#base/own.ts";
import { labelValueErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { items, part, sortKeys, text, textMap, texts } from "./fields.ts";
import { child, index } from "./errors.ts";

const advice: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region":
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone":
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type":
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods":
    "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

export function nodeLabelAdvice(label: string): string | undefined {
  return ownEntry(advice, label);
}

/** `what` names the checked part: values are checked only in preferences, which validation accepts. */
export function warnNodeSelectorTerm(
  out: string[],
  term: Fields,
  path: string,
  what: "names" | "names and values",
): void {
  items(term, "matchExpressions").forEach((expression, at) => {
    const here = index(child(path, "matchExpressions"), at);
    warnExpressionKey(out, expression, here);
    if (what === "names") return;
    texts(expression, "values").forEach((value, i) => {
      for (const why of labelValueErrors(value)) {
        out.push(`${index(child(here, "values"), i)}: ${value} is invalid, ${why}`);
      }
    });
  });
}

function warnExpressionKey(out: string[], expression: Fields, path: string): void {
  const label = text(expression, "key");
  const found = nodeLabelAdvice(label);
  if (found !== undefined) out.push(`${child(path, "key")}: ${label} is ${found}`);
}

/** Warns about a label selector over nodes. */
function warnNodeSelector(out: string[], selector: Fields, path: string): void {
  items(selector, "matchExpressions").forEach((expression, at) =>
    warnExpressionKey(out, expression, index(child(path, "matchExpressions"), at)),
  );
  for (const label of sortKeys(textMap(selector, "matchLabels"))) {
    const found = nodeLabelAdvice(label);
    if (found !== undefined) out.push(`${child(path, "matchLabels", label)}: ${found}`);
  }
}

export function runtimeClassWarnings(runtimeClass: Fields): readonly string[] {
  const labels = sortKeys(textMap(part(runtimeClass, "scheduling"), "nodeSelector"));
  return labels
    .map(nodeLabelAdvice)
    .filter((found) => found !== undefined)
    .map((found) => `scheduling.nodeSelector: ${found}`);
}

export function storageClassWarnings(storageClass: Fields): readonly string[] {
  return items(storageClass, "allowedTopologies").flatMap((term, at) =>
    items(term, "matchLabelExpressions").flatMap((expression, i) => {
      const found = nodeLabelAdvice(text(expression, "key"));
      const terms = index(child(index("allowedTopologies", at), "matchLabelExpressions"), i);
      return found === undefined ? [] : [`${child(terms, "key")}: ${found}`];
    }),
  );
}

export function storageCapacityWarnings(capacity: Fields): readonly string[] {
  const out: string[] = [];
  warnNodeSelector(out, part(capacity, "nodeTopology"), "nodeTopology");
  return out;
}
