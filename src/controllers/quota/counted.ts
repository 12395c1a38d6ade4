/**
 * The resources that quotas count: an informer each, started when the first quota names the resource.
 *
 * Out   a call when an object was deleted or uses another amount than before. Creations are not
 *       reported: admission has charged them already.
 */
import type { AnyObject, GroupResource, KubeObject } from "#api/object.ts";
import { qualifiedResource } from "#api/object.ts";
import { formatQuantity } from "#api/quantity.ts";
import { usageEvaluator, type UsageEvaluator } from "#api/quota-usage.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Clock } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/controller.ts";
import { discover } from "../framework/discovery.ts";
import { jsonEqual } from "#api/json-value.ts";

interface UsageEvents {
  /** Usage is only compared in namespaces that have a quota. */
  readonly isLimited: (namespace: string) => boolean;
  readonly onUsageChange: (evaluator: UsageEvaluator, object: KubeObject) => void;
}

export class CountedResources {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #informers: InformerSet;
  readonly #events: UsageEvents;
  /** By qualified name of the resource. */
  readonly #counted = new Map<string, Informer<KubeObject>>();

  constructor(deps: Pick<ControllerDeps, "client" | "clock" | "informers">, events: UsageEvents) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#informers = deps.informers;
    this.#events = events;
  }

  /** @returns whether some resource is not served, so that it counts as none. */
  async watch(resources: readonly GroupResource[]): Promise<boolean> {
    for (const resource of resources) this.#renew(resource);
    const missing = resources.filter((resource) => !this.#has(resource));
    if (missing.length === 0) return false;
    const { resources: all } = await discover(this.#client);
    const served = new Map(all.map(({ ref }) => [qualifiedResource(ref), ref]));
    for (const resource of missing) {
      const ref = served.get(qualifiedResource(resource));
      const evaluator = usageEvaluator(resource);
      if (ref === undefined || evaluator === undefined || this.#has(resource)) continue;
      const informer = this.#informers.informer<KubeObject>(ref);
      this.#counted.set(qualifiedResource(resource), informer);
      this.#addHandler(informer, evaluator);
    }
    return missing.some((resource) => !this.#has(resource));
  }

  /** True while the resource is being read for the first time. */
  isUnread(resource: GroupResource): boolean {
    return this.#counted.get(qualifiedResource(resource))?.hasSynced === false;
  }

  list(resource: GroupResource, namespace: string): readonly AnyObject[] {
    const objects = this.#counted.get(qualifiedResource(resource))?.list(namespace) ?? [];
    // Usage evaluators take objects of any kind.
    return objects as readonly AnyObject[];
  }

  /** A definition that went and came back has another informer. */
  #renew(resource: GroupResource): void {
    const name = qualifiedResource(resource);
    const known = this.#counted.get(name);
    if (known !== undefined && !this.#informers.holds(known)) this.#counted.delete(name);
  }

  #has(resource: GroupResource): boolean {
    return this.#counted.has(qualifiedResource(resource));
  }

  #addHandler(informer: Informer<KubeObject>, evaluator: UsageEvaluator): void {
    const { isLimited, onUsageChange } = this.#events;
    informer.addHandler({
      update: (old, object) => {
        if (!isLimited(object.metadata?.namespace ?? "")) return;
        if (!this.#isSameUsage(evaluator, old, object)) onUsageChange(evaluator, object);
      },
      delete: (object) => onUsageChange(evaluator, object),
    });
  }

  #isSameUsage(evaluator: UsageEvaluator, old: KubeObject, object: KubeObject): boolean {
    const view = (one: KubeObject): unknown => {
      const usage = evaluator.usage(one as AnyObject, this.#clock.nowMs());
      return Object.entries(usage).map(([name, amount]) => [name, formatQuantity(amount)]);
    };
    return jsonEqual(view(old), view(object));
  }
}
