/**
 * Selectors of the slow reference, written from the documentation of the fields alone. No code is shared with the
 * scheduler, so that a mistake in one is not repeated in the other.
 */
import type { LabelSelector, Node, Pod, PodAffinityTerm, Taint } from "#api/gen/types.ts";

type Labels = Readonly<Record<string, string>>;

/** A cluster as the reference sees it: its objects, and nothing derived from them. */
export interface World {
  readonly nodes: Node[];
  /** By uid: placed Pods; `spec.nodeName` is the node. */
  readonly placed: Map<string, Pod>;
  /** By name: labels of namespaces. */
  readonly namespaces: Map<string, Labels>;
}

interface Expression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

function expressionHolds({ key, operator, values = [] }: Expression, labels: Labels): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return value !== undefined && Number(value) > Number(values[0]);
    case "Lt":
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      throw new Error(`no such operator: ${operator}`);
  }
}

/** Whether the selector matches. An absent selector selects nothing, an empty one everything. */
export function selectorTakes(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const pairs = Object.entries(selector.matchLabels ?? {});
  if (!pairs.every(([key, value]) => labels[key] === value)) return false;
  return (selector.matchExpressions ?? []).every((one) => expressionHolds(one, labels));
}

export function labelsOf({ metadata }: Node | Pod): Labels {
  return metadata?.labels ?? {};
}

export function namespaceOf({ metadata }: Pod): string {
  return metadata?.namespace ?? "";
}

/** Whether the term of `owner` selects `other`. */
export function termTakes(world: World, term: PodAffinityTerm, owner: Pod, other: Pod): boolean {
  const labels = labelsOf(other);
  const own = labelsOf(owner);
  if (!isInScope(world, term, owner, other)) return false;
  if (!selectorTakes(term.labelSelector, labels)) return false;
  const asked = (key: string): boolean => own[key] !== undefined;
  const isLike = (term.matchLabelKeys ?? []).filter(asked).every((key) => labels[key] === own[key]);
  const isOdd = (term.mismatchLabelKeys ?? [])
    .filter(asked)
    .every((key) => labels[key] !== own[key]);
  return isLike && isOdd;
}

function isInScope(world: World, term: PodAffinityTerm, owner: Pod, other: Pod): boolean {
  const { namespaces = [], namespaceSelector } = term;
  const theirs = namespaceOf(other);
  if (namespaces.length === 0 && namespaceSelector === undefined) {
    return theirs === namespaceOf(owner);
  }
  if (namespaces.includes(theirs)) return true;
  return (
    namespaceSelector !== undefined &&
    selectorTakes(namespaceSelector, world.namespaces.get(theirs) ?? {})
  );
}

/** Whether node selector and required node affinity hold: one term must match, with all of its expressions. */
export function nodeSelected(pod: Pod, node: Node): boolean {
  const labels = labelsOf(node);
  const wanted = Object.entries(pod.spec?.nodeSelector ?? {});
  if (!wanted.every(([key, value]) => labels[key] === value)) return false;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  return required.nodeSelectorTerms.some(({ matchExpressions = [] }) => {
    return matchExpressions.length > 0 && matchExpressions.every((e) => expressionHolds(e, labels));
  });
}

export function preferenceHolds(expressions: readonly Expression[], node: Node): boolean {
  return expressions.length > 0 && expressions.every((e) => expressionHolds(e, labelsOf(node)));
}

export function isTolerated(pod: Pod, taint: Taint): boolean {
  return (pod.spec?.tolerations ?? []).some((toleration) => {
    const { effect = "", key = "", operator = "Equal", value = "" } = toleration;
    if (effect !== "" && effect !== taint.effect) return false;
    if (key !== "" && key !== taint.key) return false;
    if (operator === "Exists") return true;
    return key !== "" && value === (taint.value ?? "");
  });
}

export function podsOn({ placed }: World, node: Node): Pod[] {
  return [...placed.values()].filter(({ spec }) => spec?.nodeName === node.metadata?.name);
}

export function nodeOf({ nodes }: World, pod: Pod): Node | undefined {
  return nodes.find(({ metadata }) => metadata?.name === pod.spec?.nodeName);
}
