/**
 * ResourceQuota: recounts what the objects of a namespace use and writes it to status.used. Admission
 * charges new objects against it and only counts up; this controller notices deletions.
 *
 * In    ResourceQuotas and every resource that some quota counts, by shared informers, as needed.
 * When  a quota changes, an object it counts is deleted or changes its usage, and every 5 minutes.
 * Safe  nothing is written before all resources of the quota have been read once: a count of a half
 *       empty cache would let too much in. A charge made meanwhile makes the write a conflict.
 */
import type { ResourceQuota } from "#api/gen/types.ts";
import type { AnyObject, GroupResource, KubeObject } from "#api/object.ts";
import { qualifiedResource } from "#api/object.ts";
import { formatQuantity } from "#api/quantity.ts";
import { countedResource, usageEvaluator, usageOf, type UsageEvaluator } from "#api/quota-usage.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { sleep } from "#platform/clock.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { discover } from "../framework/discovery.ts";
import { jsonEqual } from "../framework/equal.ts";
import { refs } from "../framework/refs.ts";
import { quotaStatus, sameQuotaStatus } from "./status.ts";

const workers = 5;
const resyncMs = 5 * 60_000;
/** A resource is being read for the first time, or was not served when it was looked for. */
const unreadMs = 1_000;
const unservedMs = 30_000;
const manyNames = 500;

// long: one closure holds the informers of counted resources that the small functions below share
export function resourceQuotaController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const quotas = informers.informer<ResourceQuota>(refs.resourcequotas);
  const counted = new Map<string, Informer<KubeObject>>();
  const options = { name: "resourcequota-controller", workers };
  const controller = queueController(deps, options, reconcile);
  const { queue } = controller;
  quotas.addHandler({
    add: (quota) => queue.add(keyOf(quota)),
    update(old, quota) {
      // Charges of admission are not news; a changed limit is.
      if (!jsonEqual(old.spec, quota.spec)) queue.add(keyOf(quota));
    },
  });
  return controller;

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const quota = quotas.getByKey(key);
    if (quota === undefined) return undefined;
    const names = Object.keys(quota.spec?.hard ?? {});
    const resources = names.flatMap((name) => countedResource(name) ?? []);
    const unserved = await watchCounted(resources);
    if (resources.some(isUnread)) return { requeueAfterMs: unreadMs };
    // Discovery and the count are a step each: a quota may have thousands of names.
    if (names.length > manyNames) await sleep(clock, "controllers.delay", 0, signal);
    const { namespace = "" } = quota.metadata ?? {};
    const list = (resource: GroupResource): readonly AnyObject[] =>
      // Usage evaluators take objects of any kind.
      (counted.get(qualifiedResource(resource))?.list(namespace) ?? []) as readonly AnyObject[];
    await writeStatus(quota, quotaStatus(quota, usageOf(quota, list, clock.nowMs())));
    return { requeueAfterMs: unserved ? unservedMs : resyncMs };
  }

  function isUnread(resource: GroupResource): boolean {
    return counted.get(qualifiedResource(resource))?.hasSynced === false;
  }

  /** @returns whether some resource is not served, so that it counts as none. */
  async function watchCounted(resources: readonly GroupResource[]): Promise<boolean> {
    const missing = resources.filter((resource) => !counted.has(qualifiedResource(resource)));
    if (missing.length === 0) return false;
    const { resources: all } = await discover(client);
    const served = new Map(all.map((found) => [qualifiedResource(found.ref), found]));
    for (const resource of missing) {
      const name = qualifiedResource(resource);
      const found = served.get(name);
      const evaluator = usageEvaluator(resource);
      if (found === undefined || evaluator === undefined || counted.has(name)) continue;
      const informer = informers.informer<KubeObject>(found.ref);
      counted.set(name, informer);
      wakeBy(informer, evaluator);
    }
    return missing.some((resource) => !counted.has(qualifiedResource(resource)));
  }

  function wakeBy(informer: Informer<KubeObject>, evaluator: UsageEvaluator): void {
    informer.addHandler({
      update: (old, object) => {
        if (quotasOf(object).length > 0 && !sameUsage(evaluator, old, object))
          wake(evaluator, object);
      },
      delete: (object) => wake(evaluator, object),
    });
  }

  function quotasOf(object: KubeObject): readonly ResourceQuota[] {
    return quotas.list(object.metadata?.namespace ?? "-");
  }

  function wake(evaluator: UsageEvaluator, object: KubeObject): void {
    for (const quota of quotasOf(object)) {
      const names = Object.keys(quota.spec?.hard ?? {});
      if (evaluator.matching(names).length > 0) queue.add(keyOf(quota));
    }
  }

  function sameUsage(evaluator: UsageEvaluator, old: KubeObject, object: KubeObject): boolean {
    const view = (one: KubeObject): unknown => {
      const usage = evaluator.usage(one as AnyObject, clock.nowMs());
      return Object.entries(usage).map(([name, amount]) => [name, formatQuantity(amount)]);
    };
    return jsonEqual(view(old), view(object));
  }

  async function writeStatus(
    quota: ResourceQuota,
    status: ReturnType<typeof quotaStatus>,
  ): Promise<void> {
    if (sameQuotaStatus(quota.status, status)) return;
    const namespace = quota.metadata?.namespace ?? "";
    const next: ResourceQuota = { ...quota, status };
    try {
      await client.update(refs.resourcequotas, namespace, next, { subresource: "status" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
