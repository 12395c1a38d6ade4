/**
 * Watches the resources that quotas count: one informer per resource, started when the first quota names it.
 *
 * Out   a callback when an object was deleted or changed in a namespace with a quota. Creations are not reported,
 *       because admission has already charged them.
 */
import type { AnyObject, GroupResource, KubeObject } from "#api/object.ts";
import { qualifiedResource } from "#api/object.ts";
import { usageEvaluator, type UsageEvaluator } from "#api/quota-usage.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { discover } from "../framework/discovery.ts";

interface UsageEvents {
  readonly onUpdate: (evaluator: UsageEvaluator, old: KubeObject, object: KubeObject) => void;
  readonly onDelete: (evaluator: UsageEvaluator, object: KubeObject) => void;
}

export class CountedResources {
  readonly #client: Client;
  readonly #informers: InformerSet;
  readonly #events: UsageEvents;
  /** Informers by qualified resource name. */
  readonly #counted = new Map<string, Informer<KubeObject>>();

  constructor(deps: Pick<ControllerDeps, "client" | "informers">, events: UsageEvents) {
    this.#client = deps.client;
    this.#informers = deps.informers;
    this.#events = events;
  }

  /** @returns whether a resource is not served, so that it counts as zero. */
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

  /** Whether the resource is being read for the first time. */
  isUnread(resource: GroupResource): boolean {
    return this.#counted.get(qualifiedResource(resource))?.hasSynced === false;
  }

  list(resource: GroupResource, namespace: string): readonly AnyObject[] {
    const objects = this.#counted.get(qualifiedResource(resource))?.list(namespace) ?? [];
    // Usage evaluators take objects of any kind.
    return objects as readonly AnyObject[];
  }

  /** A definition that was deleted and created again has another informer. */
  #renew(resource: GroupResource): void {
    const name = qualifiedResource(resource);
    const known = this.#counted.get(name);
    if (known !== undefined && !this.#informers.holds(known)) this.#counted.delete(name);
  }

  #has(resource: GroupResource): boolean {
    return this.#counted.has(qualifiedResource(resource));
  }

  #addHandler(informer: Informer<KubeObject>, evaluator: UsageEvaluator): void {
    const { onUpdate, onDelete } = this.#events;
    informer.addHandler({
      update: (old, object) => onUpdate(evaluator, old, object),
      delete: (object) => onDelete(evaluator, object),
    });
  }
}
