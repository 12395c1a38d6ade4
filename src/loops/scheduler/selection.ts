/**
 * Selections of Pods: which Pods a topology spread constraint or an affinity term counts.
 *
 * Equal selections have equal keys, so that thousands of Pods of one template share one count. `hint` is a label pair
 * that every selected Pod has, where there is one: an index by it finds the few selections that may select a Pod
 * without a check of all selections.
 */
import { ownEntry } from "#base/own.ts";
import type { LabelSelector as LabelSelectorSpec, PodAffinityTerm } from "#api/gen/types.ts";
import {
  formatLabelSelector,
  labelsMatch,
  selectNothing,
  selectorFromLabelSelector,
} from "#api/selectors/label-selector.ts";
import type { LabelRequirement, LabelSelector } from "#api/selectors/label-selector.ts";

type Labels = Readonly<Record<string, string>>;

/** The fields of a Pod that selections read. */
export interface Selectable {
  readonly namespace: string;
  readonly labels: Labels;
  /** Uid of the controlling owner; "" without one. */
  readonly ownerUid: string;
  /** Whether deletionTimestamp is set: topology spread ignores such a Pod, affinity does not. */
  readonly isTerminating: boolean;
}

/** Returns the labels of a namespace, which only the informer of namespaces knows. */
export type NamespaceLabels = (namespace: string) => Labels | undefined;

export interface Selection {
  readonly key: string;
  readonly hint: string | undefined;
  /** Whether the answer may change with the labels of a namespace. */
  readonly byNamespaceLabels: boolean;
  matches(pod: Selectable, namespaces: NamespaceLabels): boolean;
}

/** Returns the Pod's label pairs and its owner in the form of hints. */
export function hintsOf(pod: Selectable): string[] {
  const hints: string[] = [];
  for (const name in pod.labels) hints.push(`${name}=${pod.labels[name]}`);
  if (pod.ownerUid !== "") hints.push(ownerHint(pod.ownerUid));
  return hints;
}

function ownerHint(uid: string): string {
  return `\n${uid}`; // no label starts with a line break
}

/** Selects Pods of `namespace` that match the selector and are not being deleted: for topology spread. */
export function spreadSelection(
  namespace: string,
  spec: LabelSelectorSpec | undefined,
  matchLabelKeys: readonly string[],
  labels: Labels,
): Selection {
  const selector = withLabelKeys(safeSelector(spec), matchLabelKeys, "in", labels);
  return {
    key: `spread|${namespace}|${selectorKey(selector)}`,
    hint: selectorHint(selector),
    byNamespaceLabels: false,
    matches: (pod) =>
      !pod.isTerminating && pod.namespace === namespace && labelsMatch(selector, pod.labels),
  };
}

/** Selects Pods of the same controller, which the default spreading counts. */
export function ownerSelection(uid: string): Selection {
  return {
    key: `owner|${uid}`,
    hint: ownerHint(uid),
    byNamespaceLabels: false,
    matches: (pod) => !pod.isTerminating && pod.ownerUid === uid,
  };
}

/** Selects the Pods that an affinity term of a Pod in `namespace` with `labels` refers to. */
export function termSelection(term: PodAffinityTerm, namespace: string, labels: Labels): Selection {
  const merged = withLabelKeys(safeSelector(term.labelSelector), term.matchLabelKeys, "in", labels);
  const selector = withLabelKeys(merged, term.mismatchLabelKeys, "notin", labels);
  const listed = term.namespaces ?? [];
  const spec = term.namespaceSelector;
  const named = listed.length === 0 && spec === undefined ? [namespace] : listed;
  const byLabels = spec === undefined ? undefined : safeSelector(spec);
  const everywhere = byLabels !== undefined && byLabels.requirements.length === 0;
  const scope = `${[...named].sort().join(",")};${spec === undefined ? "" : formatLabelSelector(spec)}`;
  return {
    key: `${scope}|${selectorKey(selector)}`,
    hint: selectorHint(selector),
    byNamespaceLabels: byLabels !== undefined && !everywhere,
    matches: (pod, namespaces) =>
      (everywhere ||
        named.includes(pod.namespace) ||
        (byLabels !== undefined && labelsMatch(byLabels, namespaces(pod.namespace)))) &&
      labelsMatch(selector, pod.labels),
  };
}

/** Selects the Pods that all of the selections match. */
export function allSelections(selections: readonly Selection[]): Selection {
  const [first] = selections;
  if (selections.length === 1 && first !== undefined) return first;
  return {
    key: selections.map((s) => s.key).join("&"),
    hint: selections.find((s) => s.hint !== undefined)?.hint,
    byNamespaceLabels: selections.some((s) => s.byNamespaceLabels),
    matches: (pod, namespaces) => selections.every((s) => s.matches(pod, namespaces)),
  };
}

/** The server has validated the selector; an invalid one still selects nothing rather than everything. */
function safeSelector(spec: LabelSelectorSpec | undefined): LabelSelector {
  try {
    return selectorFromLabelSelector(spec);
  } catch {
    return selectNothing;
  }
}

function withLabelKeys(
  selector: LabelSelector,
  keys: readonly string[] | undefined,
  operator: "in" | "notin",
  labels: Labels,
): LabelSelector {
  const added: LabelRequirement[] = [];
  for (const key of keys ?? []) {
    const value = ownEntry(labels, key);
    if (value !== undefined) added.push({ key, operator, values: [value] });
  }
  return added.length === 0 ? selector : { requirements: [...selector.requirements, ...added] };
}

function selectorKey(selector: LabelSelector): string {
  return selector.requirements
    .map((r) => `${r.key} ${r.operator} ${r.values.join(",")}`)
    .sort()
    .join("&");
}

function selectorHint(selector: LabelSelector): string | undefined {
  for (const { key, operator, values } of selector.requirements) {
    const equal = operator === "=" || operator === "==" || operator === "in";
    if (equal && values.length === 1) return `${key}=${values[0]}`;
  }
  return undefined;
}
