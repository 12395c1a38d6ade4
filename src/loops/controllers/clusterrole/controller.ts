/**
 * ClusterRole aggregation: a role with an aggregationRule gets the rules of all roles that its selectors match, sorted
 * by name, each rule once. `admin`, `edit` and `view` are extended in this way.
 */
import type { ClusterRole, PolicyRule } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { KeyOptions, KeyRequest } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import { KeySource } from "#client/sources.ts";
import { sleep } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { Aggregation } from "./aggregate.ts";

export const clusterRoleAggregationRole: ControllerRole = {
  account: "clusterrole-aggregation-controller",
  rules: ["escalate,get,list,patch,update,watch | rbac.authorization.k8s.io | clusterroles"],
};

/** Selectors per step: some 10 ms with a hundred roles, because each is matched with each role. */
const selectorsAtOnce = 1000;

export class ClusterRoleAggregationController implements KeyOptions {
  readonly name = "clusterrole-aggregation-controller";
  readonly workers = 5;
  readonly #aggregates = new KeySource();
  readonly sources = [this.#aggregates];
  readonly #deps: ControllerDeps;
  readonly #roles: Informer<ClusterRole>;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#roles = deps.informers.informer<ClusterRole>(refs.clusterroles);
    // Any role may be part of any aggregate; there are few aggregates, so all of them are reconciled.
    this.#roles.addHandler({ batch: () => this.#enqueueAggregates() });
  }

  #enqueueAggregates(): void {
    for (const role of this.#roles.values())
      if (role.aggregationRule !== undefined) this.#aggregates.add(role.metadata?.name ?? "");
  }

  async reconcile({ key, signal }: KeyRequest): Promise<void> {
    const role = this.#roles.getByKey(key);
    if (role?.aggregationRule === undefined) return;
    const rules = await this.#aggregateRules(role, signal);
    if (!jsonEqual(rules, role.rules ?? [])) await this.#writeRules(key, rules);
  }

  /** Yields to the event loop between steps, because a role may have thousands of selectors. */
  async #aggregateRules(role: ClusterRole, signal: AbortSignal): Promise<readonly PolicyRule[]> {
    const aggregation = new Aggregation(role, this.#roles.list());
    const selectors = role.aggregationRule?.clusterRoleSelectors ?? [];
    for (let at = 0; at < selectors.length; at += selectorsAtOnce) {
      if (at > 0) await sleep(this.#deps.clock, "controllers.delay", 0, signal);
      aggregation.select(selectors.slice(at, at + selectorsAtOnce));
    }
    return aggregation.rules();
  }

  /** Server-side apply, as upstream, so that this manager owns the rules. */
  async #writeRules(name: string, rules: readonly PolicyRule[]): Promise<void> {
    const apiVersion = "rbac.authorization.k8s.io/v1";
    const applied = { apiVersion, kind: "ClusterRole", metadata: { name }, rules };
    const options = { fieldManager: this.name, force: true };
    try {
      await this.#deps.client.patch(refs.clusterroles, "", name, "apply", applied, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
