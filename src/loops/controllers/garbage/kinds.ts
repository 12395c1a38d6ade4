/**
 * The kinds that the garbage collector knows: found by discovery, each watched by an informer that feeds the owner
 * graph.
 *
 * Holds  an informer is started once for a resource and kept while the resource is served, or may be served: a group
 *        whose list cannot be read (an unavailable aggregated API) keeps its kinds. A kind discovered later is added. A
 *        kind that is no longer served is unknown: the server's 404 for it proves nothing.
 */
import type { KubeObject } from "#api/object.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Log } from "#platform/log.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import {
  discover,
  groupVersionText,
  type DiscoveredResource,
  type Discovery,
} from "../framework/discovery.ts";

/** Never collected: events have no owners, and there are many. */
const ignored = new Set(["events"]);

interface KindEvents {
  readonly onObserved: (ref: ResourceRef, object: KubeObject) => void;
  readonly onDeleted: (resource: DiscoveredResource, object: KubeObject) => void;
  /** Called for objects that become unknown because their kind is no longer served. */
  readonly onForgotten: (object: KubeObject) => void;
}

export class WatchedKinds {
  readonly #client: Client;
  readonly #informers: InformerSet;
  readonly #log: Log;
  readonly #events: KindEvents;
  readonly #kinds = new Map<string, DiscoveredResource>();
  /** Kinds by group and resource. */
  readonly #names = new Map<string, string>();
  readonly #watched = new Map<string, Informer<KubeObject>>();
  /** Kinds missing in the last discovery with objects left, whose deletion events may still arrive. */
  readonly #leaving = new Set<string>();

  constructor(deps: Pick<ControllerDeps, "client" | "informers" | "log">, events: KindEvents) {
    this.#client = deps.client;
    this.#informers = deps.informers;
    this.#log = deps.log;
    this.#events = events;
  }

  /** Reads what the server serves now, and starts to watch new kinds. Never rejects. */
  async discover(): Promise<void> {
    const found = await discover(this.#client).catch((error: unknown): Discovery => {
      this.#log.warn("discovery failed", { error: String(error) });
      return { resources: [], failed: [] };
    });
    for (const resource of found.resources) this.#add(resource);
    if (found.resources.length > 0) this.#dropUnserved(found);
  }

  /** Stops watching kinds whose definition is gone. */
  #dropUnserved({ resources, failed }: Discovery): void {
    const served = new Set(resources.map(({ ref }) => refKey(ref)));
    const unread = new Set(failed);
    const isGone = (ref: ResourceRef): boolean =>
      !served.has(refKey(ref)) && !unread.has(groupVersionText(ref));
    for (const [key, { ref }] of this.#kinds) {
      if (!isGone(ref)) continue;
      this.#kinds.delete(key);
      this.#names.delete(`${ref.group}/${ref.resource}`);
    }
    for (const [key, informer] of this.#watched) {
      if (!isGone(informer.ref)) this.#leaving.delete(key);
      else if (informer.list().length === 0 || this.#leaving.has(key)) this.#drop(key, informer);
      else this.#leaving.add(key);
    }
  }

  #drop(key: string, informer: Informer<KubeObject>): void {
    this.#watched.delete(key);
    this.#leaving.delete(key);
    this.#informers.release(informer.ref);
    for (const object of informer.list()) this.#events.onForgotten(object);
  }

  /** Undefined: not served, or not known yet. */
  kindOf({ group, resource }: ResourceRef): string | undefined {
    return this.#names.get(`${group}/${resource}`);
  }

  find(group: string, kind: string): DiscoveredResource | undefined {
    return this.#kinds.get(kindKey(group, kind));
  }

  /** Resolves when each watched kind has been read once. */
  async synced(): Promise<void> {
    await Promise.all([...this.#watched.values()].map((informer) => informer.synced));
  }

  hasUnread(): boolean {
    return [...this.#watched.values()].some((informer) => !informer.hasSynced);
  }

  #add(resource: DiscoveredResource): void {
    const { group, resource: name } = resource.ref;
    this.#kinds.set(kindKey(group, resource.kind), resource);
    this.#names.set(`${group}/${name}`, resource.kind);
    const key = refKey(resource.ref);
    if (this.#watched.has(key) || !isCollectable(resource)) return;
    this.#watched.set(key, this.#watch(resource));
  }

  #watch(resource: DiscoveredResource): Informer<KubeObject> {
    const { ref } = resource;
    const { onObserved, onDeleted } = this.#events;
    const informer = this.#informers.informer<KubeObject>(ref);
    informer.addHandler({
      add: (object) => onObserved(ref, object),
      update: (_old, object) => onObserved(ref, object),
      delete: (object) => onDeleted(resource, object),
    });
    return informer;
  }
}

function isCollectable({ ref, verbs }: DiscoveredResource): boolean {
  const needed = ["list", "watch", "delete", "patch"];
  return needed.every((verb) => verbs.includes(verb)) && !ignored.has(ref.resource);
}

function refKey({ group, version, resource }: ResourceRef): string {
  return `${group}/${version}/${resource}`;
}

function kindKey(group: string, kind: string): string {
  return `${group}/${kind}`;
}
