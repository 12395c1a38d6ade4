/**
 * ClusterRole aggregation: a role with an aggregationRule has the rules of all roles its selectors
 * match, sorted by name, each rule once. `admin`, `edit` and `view` grow by this.
 */
import type { ClusterRole, PolicyRule } from "#api/gen/types.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/selectors/label-selector.ts";
import { isNotFound } from "#client/api-errors.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { jsonEqual } from "../framework/equal.ts";
import { refs } from "../framework/refs.ts";

const workers = 5;
/** Each is held against each role: a step of some 10 ms with a hundred roles. */
const selectorsAtOnce = 1000;
const name = "clusterrole-aggregation-controller";

export function clusterRoleAggregationController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const nextTurn = (): Promise<void> =>
    new Promise((resolve) => void clock.after("controllers.delay", 0, resolve));
  const roles = informers.informer<ClusterRole>(refs.clusterroles);
  const controller = queueController(deps, { name, workers }, reconcile);
  // Any role may be part of any aggregate, and there are few: all of them look again.
  roles.addHandler({
    batch() {
      for (const role of roles.values())
        if (role.aggregationRule !== undefined) controller.queue.add(role.metadata?.name ?? "");
    },
  });
  return controller;

  async function reconcile(key: string): Promise<void> {
    const role = roles.getByKey(key);
    if (role?.aggregationRule === undefined) return;
    const aggregation = new Aggregation(role, roles.list());
    const selectors = role.aggregationRule.clusterRoleSelectors ?? [];
    for (let at = 0; at < selectors.length; at += selectorsAtOnce) {
      if (at > 0) await nextTurn();
      aggregation.select(selectors.slice(at, at + selectorsAtOnce));
    }
    const rules = aggregation.rules();
    if (jsonEqual(rules, role.rules ?? [])) return;
    try {
      await client.update(refs.clusterroles, "", { ...role, rules }, { fieldManager: name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** The rules `role` must have, pure. A selector that does not parse throws. */
export function aggregateRules(
  role: ClusterRole,
  all: readonly ClusterRole[],
): readonly PolicyRule[] {
  const aggregation = new Aggregation(role, all);
  aggregation.select(role.aggregationRule?.clusterRoleSelectors ?? []);
  return aggregation.rules();
}

type Selectors = NonNullable<NonNullable<ClusterRole["aggregationRule"]>["clusterRoleSelectors"]>;

/** Gathers rules selector by selector, so that thousands of selectors can be gone through in steps. */
class Aggregation {
  readonly #others: readonly ClusterRole[];
  readonly #taken = new Set<ClusterRole>();
  readonly #rules = new Map<string, PolicyRule>();

  constructor(role: ClusterRole, all: readonly ClusterRole[]) {
    this.#others = all
      .filter((one) => nameOf(one) !== nameOf(role))
      .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  }

  select(selectors: Selectors): void {
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

/** A text that equal rules share. */
function ruleKey({
  verbs,
  apiGroups,
  resources,
  resourceNames,
  nonResourceURLs,
}: PolicyRule): string {
  return JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
}
