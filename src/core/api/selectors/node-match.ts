/** Node selectors, affinities, taints and tolerations: conditions between one Pod and one node. */
import { parseInt64 } from "../go/go-integer.ts";
import { isAmong } from "./label-selector.ts";
import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Taint,
  Toleration,
} from "../gen/types.ts";

type Labels = Readonly<Record<string, string>>;

export const unschedulableTaint: Taint = {
  key: "node.kubernetes.io/unschedulable",
  effect: "NoSchedule",
};

/** A selector without terms matches no node; one matching term suffices. */
export function nodeSelectorMatches(selector: NodeSelector, node: Node): boolean {
  return selector.nodeSelectorTerms.some((term) => nodeTermMatches(term, node));
}

export function nodeTermMatches(term: NodeSelectorTerm, node: Node): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  const labels = node.metadata?.labels ?? {};
  const named = { "metadata.name": node.metadata?.name ?? "" };
  return (
    expressions.every((expression) => requirementHolds(expression, labels)) &&
    fields.every((field) => requirementHolds(field, named))
  );
}

export function labelsInclude(wanted: Labels | undefined, labels: Labels | undefined): boolean {
  for (const key in wanted) if (labels?.[key] !== wanted[key]) return false;
  return true;
}

function requirementHolds(requirement: NodeSelectorRequirement, labels: Labels): boolean {
  const { key, values = [] } = requirement;
  const present = Object.hasOwn(labels, key);
  const value = labels[key] ?? "";
  switch (requirement.operator) {
    case "In":
      return present && isAmong(values, value);
    case "NotIn":
      return !present || !isAmong(values, value);
    case "Exists":
      return present;
    case "DoesNotExist":
      return !present;
    case "Gt":
      return present && compareIntegers(value, values[0]) > 0;
    case "Lt":
      return present && compareIntegers(value, values[0]) < 0;
    default:
      return false;
  }
}

/** 0 when either is not a 64-bit integer, so that neither Gt nor Lt holds. */
function compareIntegers(a = "", b = ""): number {
  const left = parseInt64(a);
  const right = parseInt64(b);
  if (left === undefined || right === undefined || left === right) return 0;
  return left > right ? 1 : -1;
}

export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((toleration) => tolerationCovers(toleration, taint));
}

function tolerationCovers(toleration: Toleration, taint: Taint): boolean {
  const { key = "", effect = "", value = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  switch (toleration.operator ?? "Equal") {
    case "":
    case "Equal":
      return key !== "" && value === (taint.value ?? "");
    case "Exists":
      return true;
    case "Gt":
      return compareIntegers(taint.value, value) > 0;
    case "Lt":
      return compareIntegers(taint.value, value) < 0;
    default:
      return false;
  }
}
