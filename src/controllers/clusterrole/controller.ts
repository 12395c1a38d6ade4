/**
 * ClusterRole aggregation: a role with an aggregationRule has the rules of all roles its selectors
 * match, sorted by name, each rule once. `admin`, `edit` and `view` grow by this.
 */
import type { ClusterRole, PolicyRule } from "#api/gen/types.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/label-selector.ts";
import { isNotFound } from "#client/refusal.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { jsonEqual } from "../framework/equal.ts";
import { refs } from "../framework/refs.ts";

const workers = 5;
const name = "clusterrole-aggregation-controller";

export function clusterRoleAggregationController(deps: ControllerDeps): Controller {
  const { client, informers } = deps;
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
    const rules = aggregateRules(role, roles.list());
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
  const nameOf = (one: ClusterRole): string => one.metadata?.name ?? "";
  const others = all
    .filter((one) => nameOf(one) !== nameOf(role))
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const rules: PolicyRule[] = [];
  for (const spec of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selector = selectorFromLabelSelector(spec);
    const parts = others.filter((one) => labelsMatch(selector, one.metadata?.labels));
    for (const rule of parts.flatMap((one) => one.rules ?? []))
      if (!rules.some((known) => jsonEqual(known, rule))) rules.push(rule);
  }
  return rules;
}
