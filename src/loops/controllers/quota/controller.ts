/**
 * ResourceQuota: recounts the usage of the objects of a namespace and writes it to status.used. Admission charges new
 * objects and only counts up; this controller detects deletions.
 *
 * In    ResourceQuotas and every resource that some quota counts, by shared informers, as needed.
 * When  a quota changes, an object it counts is deleted, changes its usage, or comes into its scopes or
 *       leaves them, and every 5 minutes.
 * Safe  the status is not written before all resources of the quota have been read once: the count of an incomplete
 *       cache would admit too much. A concurrent charge makes the write a conflict.
 */
import type { ResourceQuota, ResourceQuotaStatus } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject, GroupResource, KubeObject } from "#api/object.ts";
import { formatQuantity } from "#api/values/quantity.ts";
import {
  countedResource,
  type Usage,
  usageIn,
  usageOf,
  type UsageEvaluator,
} from "#api/quota-usage.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { KeySource } from "#client/sources.ts";
import { sleep } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import { onKindsChanged } from "../framework/kind-changes.ts";
import type { ControllerRole } from "../framework/role.ts";
import { CountedResources } from "./counted.ts";
import { quotaStatus, sameQuotaStatus } from "./status.ts";

export const resourceQuotaRole: ControllerRole = {
  account: "resourcequota-controller",
  rules: ["list,watch | * | *", "update | core | resourcequotas/status", "events"],
};

const resyncMs = 5 * 60_000;
/** Retry delay for a resource that is being read for the first time or was not served. */
const unreadMs = 1_000;
const unservedMs = 30_000;
/** More names than this are counted in a separate step, which takes milliseconds. */
const manyNames = 500;

export class ResourceQuotaController implements ControllerOptions<ResourceQuota> {
  readonly name = "resourcequota-controller";
  readonly workers = 5;
  readonly ref = refs.resourcequotas;
  /** Charges made by admission need no recount, but a changed limit does. */
  readonly when = { on: ["add", "update"], changed: hasOtherSpec } as const;
  readonly #changed = new KeySource();
  readonly sources = [this.#changed];
  readonly #deps: ControllerDeps;
  readonly #quotas: Informer<ResourceQuota>;
  readonly #counted: CountedResources;
  /** Keys of quotas that name a resource which is not served. */
  readonly #unserved = new Set<string>();

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#quotas = deps.informers.informer<ResourceQuota>(refs.resourcequotas);
    this.#counted = new CountedResources(deps, {
      onUpdate: (evaluator, old, object) => this.#enqueueChanged(evaluator, old, object),
      onDelete: (evaluator, object) => this.#enqueueCounting(evaluator, object),
    });
    // A quota may count a kind that is defined later.
    onKindsChanged(deps.informers, () => this.#enqueueUnserved());
  }

  #enqueueUnserved(): void {
    for (const key of this.#unserved) this.#changed.add(key);
  }

  /** Objects without a namespace belong to no quota. */
  #quotasIn(namespace: string): readonly ResourceQuota[] {
    return namespace === "" ? [] : this.#quotas.list(namespace);
  }

  /** Enqueues the quotas that count this object. */
  #enqueueCounting(evaluator: UsageEvaluator, object: KubeObject): void {
    for (const quota of this.#quotasIn(object.metadata?.namespace ?? ""))
      if (evaluator.matching(limitedNames(quota)).length > 0) this.#changed.add(keyOf(quota));
  }

  /** Enqueues the quotas for which the object's amount has changed, by usage or by scope. */
  #enqueueChanged(evaluator: UsageEvaluator, old: KubeObject, object: KubeObject): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const quota of this.#quotasIn(object.metadata?.namespace ?? "")) {
      // Usage evaluators take objects of any kind.
      const [before, after] = [old, object].map((one) =>
        formatUsage(usageIn(quota, evaluator, one as AnyObject, nowMs)),
      );
      if (before !== after) this.#changed.add(keyOf(quota));
    }
  }

  async reconcile({
    key,
    object: quota,
    signal,
  }: ReconcileRequest<ResourceQuota>): Promise<ReconcileResult> {
    if (quota === undefined) this.#unserved.delete(key);
    if (quota === undefined) return undefined;
    const names = limitedNames(quota);
    const resources = names.flatMap((name) => countedResource(name) ?? []);
    const hasUnserved = await this.#counted.watch(resources);
    if (hasUnserved) this.#unserved.add(key);
    else this.#unserved.delete(key);
    if (resources.some((one) => this.#counted.isUnread(one))) return { requeueAfterMs: unreadMs };
    // Separate steps for discovery and counting, because a quota may have thousands of names.
    if (names.length > manyNames) await sleep(this.#deps.clock, "controllers.delay", 0, signal);
    await this.#writeStatus(quota, this.#count(quota));
    return { requeueAfterMs: hasUnserved ? unservedMs : resyncMs };
  }

  #count(quota: ResourceQuota): ResourceQuotaStatus {
    const { namespace = "" } = quota.metadata ?? {};
    const list = (resource: GroupResource): readonly AnyObject[] =>
      this.#counted.list(resource, namespace);
    return quotaStatus(quota, usageOf(quota, list, this.#deps.clock.nowMs()));
  }

  async #writeStatus(quota: ResourceQuota, status: ResourceQuotaStatus): Promise<void> {
    if (sameQuotaStatus(quota.status, status)) return;
    const namespace = quota.metadata?.namespace ?? "";
    const options = { subresource: "status" };
    try {
      await this.#deps.client.update(refs.resourcequotas, namespace, { ...quota, status }, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function hasOtherSpec(old: ResourceQuota, quota: ResourceQuota): boolean {
  return !jsonEqual(old.spec, quota.spec);
}

/** Equal amounts have equal texts. */
function formatUsage(usage: Usage): string {
  const entries = Object.entries(usage).map(
    ([name, amount]) => `${name}=${formatQuantity(amount)}`,
  );
  return entries.sort().join(" ");
}

function limitedNames(quota: ResourceQuota): readonly string[] {
  return Object.keys(quota.spec?.hard ?? {});
}
