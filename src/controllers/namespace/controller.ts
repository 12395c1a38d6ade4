/**
 * Namespace lifecycle: empties a namespace that is being deleted, kind by kind, and finishes it when
 * nothing is left.
 *
 * Order  pods go before everything else (KEP-5080): what protects or configures a pod outlives it.
 * Shows  the five conditions of the status say what is left and what could not be read.
 * Safe   the `kubernetes` finalizer is taken only after a pass that found nothing left in any kind the
 *        server serves, and with no kind unread.
 */
import type { Namespace, NamespaceCondition } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { withCondition } from "../shared/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { discover, type DiscoveredResource } from "../shared/discovery.ts";
import { jsonEqual } from "../shared/equal.ts";
import { refs } from "../shared/refs.ts";

const workers = 10;
const finalizer = "kubernetes";
/** Objects that end by themselves (pods with grace, finalizers) are looked at again this soon. */
const retryMs = 250;

/** What is left in a namespace after one pass. */
interface Remains {
  /** By `resource.group`. */
  readonly counts: ReadonlyMap<string, number>;
  /** By finalizer, over all kinds. */
  readonly finalizers: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
}

// long: one closure holds the client and the queue that the small functions below share
export function namespaceController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const namespaces = informers.informer<Namespace>(refs.namespaces);
  const controller = queueController(deps, { name: "namespace-controller", workers }, reconcile);
  const wake = (namespace: Namespace): void => {
    if (namespace.metadata?.deletionTimestamp !== undefined)
      controller.queue.add(namespace.metadata.name ?? "");
  };
  namespaces.addHandler({ add: wake, update: (_old, namespace) => wake(namespace) });
  return controller;

  async function reconcile(name: string): Promise<void | { readonly requeueAfterMs: number }> {
    const namespace = namespaces.get("", name);
    if (namespace?.metadata?.deletionTimestamp === undefined) return undefined;
    if (!(namespace.spec?.finalizers ?? []).includes(finalizer)) return undefined;
    const found = await discover(client);
    const remains = await empty(name, found.resources);
    const failures = [
      ...remains.failures,
      ...found.failed.map((gv) => `discovery of ${gv} failed`),
    ];
    await writeStatus(namespace, { ...remains, failures }, found.failed);
    const done = failures.length === 0 && remains.counts.size === 0;
    if (!done) return { requeueAfterMs: retryMs };
    await finish(namespace);
    return undefined;
  }

  async function empty(
    namespace: string,
    resources: readonly DiscoveredResource[],
  ): Promise<Remains> {
    const deletable = resources.filter(
      (resource) =>
        resource.namespaced && resource.verbs.includes("delete") && resource.verbs.includes("list"),
    );
    const isPods = ({ ref }: DiscoveredResource): boolean =>
      ref.group === "" && ref.resource === "pods";
    const pods = await emptyKinds(namespace, deletable.filter(isPods));
    if (pods.counts.size > 0) return pods;
    return emptyKinds(
      namespace,
      deletable.filter((resource) => !isPods(resource)),
    );
  }

  async function emptyKinds(
    namespace: string,
    resources: readonly DiscoveredResource[],
  ): Promise<Remains> {
    const counts = new Map<string, number>();
    const finalizers = new Map<string, number>();
    const failures: string[] = [];
    await Promise.all(
      resources.map(async (resource) => {
        const { group, resource: plural } = resource.ref;
        const label = group === "" ? plural : `${plural}.${group}`;
        try {
          const left = await emptyKind(namespace, resource);
          if (left.length > 0) counts.set(label, left.length);
          for (const object of left) countFinalizers(finalizers, object);
        } catch (error) {
          failures.push(`${label}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }),
    );
    return { counts, finalizers, failures };
  }

  /** Deletes all of one kind and returns what is still there afterwards. */
  async function emptyKind(
    namespace: string,
    resource: DiscoveredResource,
  ): Promise<readonly KubeObject[]> {
    const before = await client.list<KubeObject>(resource.ref, { namespace });
    if (before.items.length === 0) return [];
    if (before.items.every((object) => object.metadata?.deletionTimestamp !== undefined))
      return before.items;
    await deleteAll(namespace, resource, before.items);
    const after = await client.list<KubeObject>(resource.ref, { namespace });
    return after.items;
  }

  async function deleteAll(
    namespace: string,
    resource: DiscoveredResource,
    items: readonly KubeObject[],
  ): Promise<void> {
    const propagationPolicy = "Background";
    if (resource.verbs.includes("deletecollection")) {
      return client.deleteCollection(resource.ref, namespace, { propagationPolicy });
    }
    await Promise.all(
      items.map(async (object) => {
        const name = object.metadata?.name ?? "";
        await client.delete(resource.ref, namespace, name, { propagationPolicy }).catch(ignoreGone);
      }),
    );
  }

  async function writeStatus(
    namespace: Namespace,
    remains: Remains,
    unread: readonly string[],
  ): Promise<void> {
    const now = formatTime(clock.nowMs());
    const conditions = conditionsOf(remains, unread, now).reduce(
      (all, condition) => withCondition(all, condition) as readonly NamespaceCondition[],
      namespace.status?.conditions ?? [],
    );
    if (jsonEqual(conditions, namespace.status?.conditions)) return;
    const next = { ...namespace, status: { ...namespace.status, conditions } };
    await client
      .update<Namespace>(refs.namespaces, "", next, { subresource: "status" })
      .catch(ignoreGone);
  }

  async function finish(namespace: Namespace): Promise<void> {
    const current = await client
      .get<Namespace>(refs.namespaces, "", namespace.metadata?.name ?? "")
      .catch(ignoreGone);
    if (current === undefined) return;
    const finalizers = (current.spec?.finalizers ?? []).filter((name) => name !== finalizer);
    const next = { ...current, spec: { ...current.spec, finalizers } };
    await client.update(refs.namespaces, "", next, { subresource: "finalize" }).catch(ignoreGone);
  }
}

function countFinalizers(finalizers: Map<string, number>, object: KubeObject): void {
  for (const name of object.metadata?.finalizers ?? [])
    finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
}

/** Types, reasons and texts are upstream's: people and scripts match on them. */
function conditionsOf(
  remains: Remains,
  unread: readonly string[],
  now: string,
): readonly NamespaceCondition[] {
  const join = (
    counts: ReadonlyMap<string, number>,
    text: (key: string, count: number) => string,
  ): string =>
    [...counts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, count]) => text(key, count))
      .join(", ");
  const condition = (
    type: string,
    bad: boolean,
    badReason: string,
    goodReason: string,
    badText: string,
    goodText: string,
  ) => ({
    type,
    status: bad ? "True" : "False",
    reason: bad ? badReason : goodReason,
    message: bad ? badText : goodText,
    lastTransitionTime: now,
  });
  const left = join(remains.counts, (kind, count) => `${kind} has ${count} resource instances`);
  const held = join(remains.finalizers, (name, count) => `${name} in ${count} resource instances`);
  return [
    condition(
      "NamespaceDeletionDiscoveryFailure",
      unread.length > 0,
      "DiscoveryFailed",
      "ResourcesDiscovered",
      `Discovery failed for some groups, ${unread.length} failing: ${unread.join(", ")}`,
      "All resources successfully discovered",
    ),
    condition(
      "NamespaceDeletionGroupVersionParsingFailure",
      false,
      "",
      "ParsedGroupVersions",
      "",
      "All legacy kube types successfully parsed",
    ),
    condition(
      "NamespaceDeletionContentFailure",
      remains.failures.length > 0,
      "ContentDeletionFailed",
      "ContentDeleted",
      `Failed to delete all resource types, ${remains.failures.length} remaining: ${remains.failures.join(", ")}`,
      "All content successfully deleted, may be waiting on finalization",
    ),
    condition(
      "NamespaceContentRemaining",
      remains.counts.size > 0,
      "SomeResourcesRemain",
      "ContentRemoved",
      `Some resources are remaining: ${left}`,
      "All content successfully removed",
    ),
    condition(
      "NamespaceFinalizersRemaining",
      remains.finalizers.size > 0,
      "SomeFinalizersRemain",
      "ContentHasNoFinalizers",
      `Some content in the namespace has finalizers remaining: ${held}`,
      "All content-preserving finalizers finished",
    ),
  ];
}

function ignoreGone(error: unknown): undefined {
  if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return undefined;
  throw error;
}
