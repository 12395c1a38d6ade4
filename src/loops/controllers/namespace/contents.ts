/**
 * The objects of a namespace, kind by kind: deletes all of them and counts what is left.
 *
 * Order  pods are deleted before all other objects (KEP-5080): objects that protect or configure a pod outlive it.
 */
import type { Pod } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { ignoreGone, textOf } from "../framework/api-errors.ts";
import type { DiscoveredResource } from "../framework/discovery.ts";
import type { Remains } from "./conditions.ts";

type Left = Omit<Remains, "unread">;

interface GoingNamespace {
  readonly name: string;
  readonly goingForMs: number;
}

/** Dependents are deleted in the background, in any order. */
const propagationPolicy = "Background";

export class NamespaceContents {
  readonly #client: Client;

  constructor({ client }: { readonly client: Client }) {
    this.#client = client;
  }

  /** One pass over `resources`; only pods while there are any. Never rejects. */
  async empty(namespace: GoingNamespace, resources: readonly DiscoveredResource[]): Promise<Left> {
    const deletable = resources.filter(isDeletable);
    const left = await this.#emptyKinds(namespace, deletable.filter(isPods));
    if (left.counts.size > 0) return left;
    const others = deletable.filter((resource) => !isPods(resource));
    const rest = await this.#emptyKinds(namespace, others);
    return { ...rest, failures: [...left.failures, ...rest.failures] };
  }

  async #emptyKinds(
    namespace: GoingNamespace,
    resources: readonly DiscoveredResource[],
  ): Promise<Left> {
    const counts = new Map<string, number>();
    const finalizers = new Map<string, number>();
    const failures: string[] = [];
    const one = async (resource: DiscoveredResource): Promise<void> => {
      const label = `${resource.ref.resource}.${resource.ref.group}`;
      try {
        const objects = await this.#emptyKind(namespace.name, resource);
        if (objects.length > 0) counts.set(label, objects.length);
        for (const object of objects) countFinalizers(finalizers, object);
        if (areUnexpected(objects, resource, namespace))
          failures.push(unexpectedText(namespace.name, resource));
      } catch (error) {
        failures.push(textOf(error));
      }
    };
    await Promise.all(resources.map(one));
    return { counts, finalizers, failures };
  }

  /** Deletes all objects of a kind and returns those that still exist. */
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

/** Whether objects without finalizers exist after they were deleted. */
function areUnexpected(
  objects: readonly KubeObject[],
  resource: DiscoveredResource,
  { goingForMs }: GoingNamespace,
): boolean {
  if (objects.length === 0) return false;
  if (objects.some(({ metadata }) => (metadata?.finalizers ?? []).length > 0)) return false;
  if (!isPods(resource)) return true;
  return objects.every((pod) => graceMs(pod) <= goingForMs);
}

/** Remaining grace period of a pod; as upstream, counted from the namespace's deletion. */
function graceMs({ spec, status }: Pod): number {
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  return hasEnded ? 0 : Number(spec?.terminationGracePeriodSeconds ?? 0) * 1_000;
}

function unexpectedText(namespace: string, { ref }: DiscoveredResource): string {
  const resource = `${ref.group}/${ref.version}, Resource=${ref.resource}`;
  return `unexpected items still remain in namespace: ${namespace} for gvr: ${resource}`;
}

function countFinalizers(finalizers: Map<string, number>, object: KubeObject): void {
  for (const name of object.metadata?.finalizers ?? [])
    finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
}
