/** Computes the rules of an aggregated ClusterRole: the rules of all selected roles, without duplicates. Pure. */
import type { ClusterRole, PolicyRule } from "#api/gen/types.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/selectors/label-selector.ts";

type ClusterRoleSelectors = NonNullable<
  NonNullable<ClusterRole["aggregationRule"]>["clusterRoleSelectors"]
>;

/** Collects rules selector by selector, so that thousands of selectors can be processed in steps. */
export class Aggregation {
  readonly #others: readonly ClusterRole[];
  readonly #taken = new Set<ClusterRole>();
  readonly #rules = new Map<string, PolicyRule>();

  constructor(role: ClusterRole, all: readonly ClusterRole[]) {
    this.#others = all
      .filter((one) => nameOf(one) !== nameOf(role))
      .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  }

  /** Throws when a selector is invalid. */
  select(selectors: ClusterRoleSelectors): void {
    for (const spec of selectors) {
      const selector = selectorFromLabelSelector(spec);
      for (const one of this.#others) {
        if (!this.#taken.has(one) && labelsMatch(selector, one.metadata?.labels)) this.#take(one);
      }
    }
  }

  rules(): readonly PolicyRule[] {
    return [...this.#rules.values()];
  }

  #take(role: ClusterRole): void {
    this.#taken.add(role);
    for (const rule of role.rules ?? []) {
      const key = ruleKey(rule);
      if (!this.#rules.has(key)) this.#rules.set(key, rule);
    }
  }
}

function nameOf(role: ClusterRole): string {
  return role.metadata?.name ?? "";
}

/** Equal for equal rules. */
function ruleKey({
  verbs,
  apiGroups,
  resources,
  resourceNames,
  nonResourceURLs,
}: PolicyRule): string {
  return JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
}
