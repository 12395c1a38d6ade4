/**
 * The kinds of objects the garbage collector knows: found by discovery, each watched by an informer
 * that feeds the owner graph.
 *
 * Holds  an informer is started once for a resource and kept while it is served; a kind discovered later is added.
 */
import type { KubeObject } from "#api/object.ts";
import { resourceByPath } from "#api/schema/resources.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Log } from "#platform/log.ts";
import type { ControllerDeps } from "../framework/controller.ts";
import { discover, type DiscoveredResource, type Discovery } from "../framework/discovery.ts";

/** Never collected: events have no owners, and there are many. */
const ignored = new Set(["events"]);

/** Kinds that are remembered after their definitions have gone. */
const goneKindsMax = 1_000;

interface KindEvents {
  readonly onObserved: (ref: ResourceRef, object: KubeObject) => void;
  readonly onDeleted: (object: KubeObject) => void;
}

export class WatchedKinds {
  readonly #client: Client;
  readonly #informers: InformerSet;
  readonly #log: Log;
  readonly #events: KindEvents;
  readonly #kinds = new Map<string, DiscoveredResource>();
  readonly #watched = new Map<string, Informer<KubeObject>>();

  constructor(deps: Pick<ControllerDeps, "client" | "informers" | "log">, events: KindEvents) {
    this.#client = deps.client;
    this.#informers = deps.informers;
    this.#log = deps.log;
    this.#events = events;
  }

  /** Discovers what the server serves now, and starts to watch what is new. Never rejects. */
  async discover(): Promise<void> {
    const found = await discover(this.#client).catch((error: unknown): Discovery => {
      this.#log.warn("discovery failed", { error: String(error) });
      return { resources: [], failed: [] };
    });
    for (const resource of found.resources) this.#add(resource);
    if (found.resources.length > 0 && found.failed.length === 0) this.#dropUnserved(found);
  }

  /** A kind whose definition is gone, or a built-in one that was switched off: nothing waits for it any more. */
  #dropUnserved({ resources }: Discovery): void {
    const served = new Set(resources.map(({ ref }) => refKey(ref)));
    for (const [key, informer] of this.#watched) {
      if (served.has(key)) continue;
      this.#watched.delete(key);
      this.#informers.release(informer.ref);
    }
    const unserved = [...this.#kinds].filter(([, { ref }]) => !served.has(refKey(ref)));
    // Objects of a built-in kind are only out of sight: a 404 says nothing of them.
    const off = unserved.filter(([, { ref }]) => isBuiltin(ref));
    // Owners of another are still asked for, and found absent.
    const gone = unserved.filter(([, { ref }]) => !isBuiltin(ref));
    for (const [key] of [...off, ...gone.slice(0, -goneKindsMax)]) this.#kinds.delete(key);
  }

  find(group: string, kind: string): DiscoveredResource | undefined {
    return this.#kinds.get(kindKey(group, kind));
  }

  /** Resolves when each kind watched now has been read once. */
  async synced(): Promise<void> {
    await Promise.all([...this.#watched.values()].map((informer) => informer.synced));
  }

  hasUnread(): boolean {
    return [...this.#watched.values()].some((informer) => !informer.hasSynced);
  }

  #add(resource: DiscoveredResource): void {
    this.#kinds.set(kindKey(resource.ref.group, resource.kind), resource);
    const key = refKey(resource.ref);
    if (this.#watched.has(key) || !isCollectable(resource)) return;
    this.#watched.set(key, this.#watch(resource.ref));
  }

  #watch(ref: ResourceRef): Informer<KubeObject> {
    const { onObserved, onDeleted } = this.#events;
    const informer = this.#informers.informer<KubeObject>(ref);
    informer.addHandler({
      add: (object) => onObserved(ref, object),
      update: (_old, object) => onObserved(ref, object),
      delete: onDeleted,
    });
    return informer;
  }
}

function isCollectable({ ref, verbs }: DiscoveredResource): boolean {
  const needed = ["list", "watch", "delete", "patch"];
  return needed.every((verb) => verbs.includes(verb)) && !ignored.has(ref.resource);
}

function isBuiltin({ group, version, resource }: ResourceRef): boolean {
  return resourceByPath(group, version, resource) !== undefined;
}

function refKey({ group, version, resource }: ResourceRef): string {
  return `${group}/${version}/${resource}`;
}

function kindKey(group: string, kind: string): string {
  return `${group}/${kind}`;
}
