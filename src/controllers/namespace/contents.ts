/**
 * The objects of a namespace, kind by kind: deletes all of them and counts what is left.
 *
 * Order  pods go before everything else (KEP-5080): what protects or configures a pod outlives it.
 */
import type { KubeObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { ignoreGone, textOf } from "../framework/api-errors.ts";
import type { DiscoveredResource } from "../framework/discovery.ts";
import type { Remains } from "./conditions.ts";

type Left = Omit<Remains, "unread">;

/** Dependents are collected in the background, in any order. */
const propagationPolicy = "Background";

export class NamespaceContents {
  readonly #client: Client;

  constructor({ client }: { readonly client: Client }) {
    this.#client = client;
  }

  /** A pass over `resources`. Only the pods while any of them are left. Never rejects. */
  async empty(namespace: string, resources: readonly DiscoveredResource[]): Promise<Left> {
    const deletable = resources.filter(isDeletable);
    const left = await this.#emptyKinds(namespace, deletable.filter(isPods));
    if (left.counts.size > 0) return left;
    const others = deletable.filter((resource) => !isPods(resource));
    const rest = await this.#emptyKinds(namespace, others);
    return { ...rest, failures: [...left.failures, ...rest.failures] };
  }

  async #emptyKinds(namespace: string, resources: readonly DiscoveredResource[]): Promise<Left> {
    const counts = new Map<string, number>();
    const finalizers = new Map<string, number>();
    const failures: string[] = [];
    const one = async (resource: DiscoveredResource): Promise<void> => {
      const label = `${resource.ref.resource}.${resource.ref.group}`;
      try {
        const objects = await this.#emptyKind(namespace, resource);
        if (objects.length > 0) counts.set(label, objects.length);
        for (const object of objects) countFinalizers(finalizers, object);
      } catch (error) {
        failures.push(`${label}: ${textOf(error)}`);
      }
    };
    await Promise.all(resources.map(one));
    return { counts, finalizers, failures };
  }

  /** Deletes all of one kind and returns what is still there afterwards. */
  async #emptyKind(
    namespace: string,
    resource: DiscoveredResource,
  ): Promise<readonly KubeObject[]> {
    const before = await this.#client.list<KubeObject>(resource.ref, { namespace });
    if (before.items.every((object) => object.metadata?.deletionTimestamp !== undefined))
      return before.items;
    await this.#deleteAll(namespace, resource, before.items);
    const after = await this.#client.list<KubeObject>(resource.ref, { namespace });
    return after.items;
  }

  async #deleteAll(
    namespace: string,
    { ref, verbs }: DiscoveredResource,
    items: readonly KubeObject[],
  ): Promise<void> {
    const options = { propagationPolicy } as const;
    if (verbs.includes("deletecollection"))
      return this.#client.deleteCollection(ref, namespace, options);
    const deleteOne = ({ metadata }: KubeObject): Promise<unknown> =>
      this.#client.delete(ref, namespace, metadata?.name ?? "", options).catch(ignoreGone);
    await Promise.all(items.map(deleteOne));
  }
}

function isDeletable({ namespaced, verbs }: DiscoveredResource): boolean {
  return namespaced && verbs.includes("delete") && verbs.includes("list");
}

function isPods({ ref }: DiscoveredResource): boolean {
  return ref.group === "" && ref.resource === "pods";
}

function countFinalizers(finalizers: Map<string, number>, object: KubeObject): void {
  for (const name of object.metadata?.finalizers ?? [])
    finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
}
