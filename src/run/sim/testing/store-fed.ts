/** Watch caches fed by registries from one store, in virtual time. */
import { FakeRandom } from "#platform/testing/random.ts";
import { storageKey, resourcePrefix, storeKey } from "#registry/keys.ts";
import {
  type OpenRegistry,
  recommendedRegistryOptions,
  type RegistryOptions,
} from "#registry/registry.ts";
import { newWorld, openRegistry, type World } from "#registry/testing/fixture.ts";
import type { FullStore } from "#store/full-store.ts";
import type { LeaseId, Revision } from "#store/store.ts";
import { encodeObject } from "#forms/object-bytes.ts";
import type { WatchSink } from "#watch/watch-item.ts";
import type { Asked, Draft, Fault, Fed, OpenWatch, Written } from "./fed.ts";

const pods = { group: "", resource: "pods" };
const prefix = resourcePrefix(pods);
const windowMs = 100;

interface StoreFedOptions {
  readonly ringItemsMax: number;
}

export async function storeFed(options: StoreFedOptions): Promise<Fed> {
  const delivery = { ...recommendedRegistryOptions.delivery, latest: { windowMs } };
  const registryOptions = { ...options, pinnedMax: 2, delivery };
  const world = await newWorld(registryOptions);
  return new StoreFed(world, registryOptions);
}

class StoreFed implements Fed {
  readonly replicas = 2;
  readonly history: Written[] = [];
  readonly partial = false;
  readonly digestOf = undefined;
  readonly exact = true;
  readonly windowMs = windowMs;
  readonly #world: World;
  readonly #store: FullStore;
  readonly #options: Partial<RegistryOptions>;
  readonly #registries: OpenRegistry[];
  readonly #labels = new Map<string, string>();

  constructor(world: World, options: Partial<RegistryOptions>) {
    this.#world = world;
    this.#store = world.store as FullStore;
    this.#options = options;
    this.#registries = [this.#open(), this.#open()];
    for (const registry of this.#registries) registry.cache(pods);
  }

  get head(): number {
    return this.#store.commitRevision;
  }

  async write(draft: Draft): Promise<void> {
    await this.#store.transact((transaction) => {
      for (const [key, label] of draft) {
        const at = keyOf(key);
        if (label === undefined) transaction.delete(at);
        else transaction.put(at, podBytes(key, label), 0n as LeaseId);
      }
    });
    for (const [key, label] of draft) this.#record(key, label);
  }

  async skip(): Promise<void> {
    const other = storeKey(resourcePrefix({ group: "", resource: "configmaps" }), "a/b");
    await this.#store.put(other, podBytes("a/b", "1"), {});
  }

  async fault(replica: number, fault: Fault): Promise<void> {
    if (fault.kind === "compact") await this.#store.compact(this.head as Revision);
    if (fault.kind !== "restart") return;
    this.#registries[replica] = this.#open();
    this.#registries[replica].cache(pods);
  }

  time(ms: number): Promise<void> {
    return this.#world.clock.advance(ms);
  }

  jump(ms: number): void {
    this.#world.clock.jumpWall(ms);
  }

  monotonicMs(): number {
    return this.#world.clock.monotonicMs();
  }

  bookmark(): void {
    for (const registry of this.#registries) registry.cache(pods).bookmark(0, 1);
  }

  watch(replica: number, asked: Asked, sink: WatchSink): OpenWatch | undefined {
    const { predicate, start, latest } = asked;
    const from = start === "state" ? start : { after: start };
    const cache = this.#registries[replica]?.cache(pods);
    return cache?.watch({ predicate, bookmarks: true, latest, start: from }, sink);
  }

  mayRefuse(_replica: number, revision: number): boolean {
    return revision < this.#store.compactRevision;
  }

  mayEnd(_replica: number, _start: number, position: number): boolean {
    return position < this.#store.compactRevision;
  }

  settle(): Promise<void> {
    return this.#world.clock.advance(130_000);
  }

  check(): void {}

  async close(): Promise<void> {
    for (const registry of [this.#world.registry, ...this.#registries]) await registry.close();
  }

  #open(): OpenRegistry {
    const { clock, store } = this.#world;
    return openRegistry({ clock, store, random: new FakeRandom(3) }, this.#options).registry;
  }

  #record(key: string, label: string | undefined): void {
    const known = this.#labels.get(key);
    if (label === undefined && known === undefined) return;
    const type = label === undefined ? "DELETED" : known === undefined ? "ADDED" : "MODIFIED";
    this.history.push({ revision: this.head, key, label: label ?? known, uid: key, type });
    if (label === undefined) this.#labels.delete(key);
    else this.#labels.set(key, label);
  }
}

function keyOf(key: string): ReturnType<typeof storeKey> {
  const [namespace = "", name = ""] = key.split("/");
  return storeKey(prefix, storageKey(namespace, name));
}

function podBytes(key: string, label: string): Uint8Array {
  const [namespace = "", name = ""] = key.split("/");
  return encodeObject({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, uid: key, labels: { v: label } },
    spec: { nodeName: `n${label}` },
  });
}
