/**
 * Namespace lifecycle: empties a namespace that is being deleted, kind by kind, and finishes it when
 * nothing is left.
 *
 * Order  pods go before everything else (KEP-5080): what protects or configures a pod outlives it.
 * Shows  the five conditions of the status say what is left and what could not be read.
 * Safe   the `kubernetes` finalizer is taken only after a pass that found nothing left in any kind the
 *        server serves, and with no kind unread.
 * Pace   a pass after the last pod has gone, else after 0.25 s doubling to 15 s.
 */
import type { Namespace, NamespaceStatus, Pod } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { discover, type DiscoveredResource } from "../framework/discovery.ts";
import { jsonEqual } from "../framework/equal.ts";
import { ignoreGone, textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import { namespaceConditions, type Remains } from "./conditions.ts";

const workers = 10;
const finalizer = "kubernetes";
/** Objects that end by themselves (pods with grace, finalizers) are looked at again this soon. */
const retryFirstMs = 250;
const retryMostMs = 15_000;

interface Left {
  readonly counts: Map<string, number>;
  readonly finalizers: Map<string, number>;
  readonly failures: string[];
}

// long: one closure holds the client, the queue and the passes that the small functions below share
export function namespaceController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const namespaces = informers.informer<Namespace>(refs.namespaces);
  const pods = informers.informer<Pod>(refs.pods);
  /** Passes so far, by name of a namespace on its way out. */
  const passes = new Map<string, number>();
  const controller = queueController(deps, { name: "namespace-controller", workers }, reconcile);
  const wake = (namespace: Namespace | undefined): void => {
    if (namespace?.metadata?.deletionTimestamp !== undefined)
      controller.queue.add(namespace.metadata.name ?? "");
  };
  namespaces.addHandler({
    add: wake,
    update(old, namespace) {
      // Its status is our own news.
      const going = old.metadata?.deletionTimestamp !== undefined;
      if (!going || !jsonEqual(old.spec, namespace.spec)) wake(namespace);
    },
    delete: (namespace) => void passes.delete(namespace.metadata?.name ?? ""),
  });
  pods.addHandler({ delete: (pod) => wakeLastPod(pod.metadata?.namespace ?? "") });
  return controller;

  function wakeLastPod(name: string): void {
    const namespace = namespaces.get("", name);
    if (namespace?.metadata?.deletionTimestamp === undefined) return;
    if (pods.list(name).length === 0) wake(namespace);
  }

  async function reconcile(name: string): Promise<ReconcileResult> {
    const namespace = namespaces.get("", name);
    if (namespace?.metadata?.deletionTimestamp === undefined) return undefined;
    if (!(namespace.spec?.finalizers ?? []).includes(finalizer)) return undefined;
    const found = await discover(client);
    const left = await empty(name, found.resources);
    const remains = { ...left, unread: found.failed };
    await writeStatus(namespace, remains);
    if (left.failures.length + left.counts.size + found.failed.length === 0)
      return finish(namespace);
    const pass = passes.get(name) ?? 0;
    passes.set(name, pass + 1);
    return { requeueAfterMs: Math.min(retryMostMs, retryFirstMs * 2 ** Math.min(pass, 10)) };
  }

  async function empty(namespace: string, resources: readonly DiscoveredResource[]): Promise<Left> {
    const deletable = resources.filter(
      ({ namespaced, verbs }) => namespaced && verbs.includes("delete") && verbs.includes("list"),
    );
    const left = await emptyKinds(namespace, deletable.filter(isPods));
    if (left.counts.size > 0) return left;
    const others = await emptyKinds(
      namespace,
      deletable.filter((resource) => !isPods(resource)),
    );
    return { ...others, failures: [...left.failures, ...others.failures] };
  }

  async function emptyKinds(
    namespace: string,
    resources: readonly DiscoveredResource[],
  ): Promise<Left> {
    const left: Left = { counts: new Map(), finalizers: new Map(), failures: [] };
    await Promise.all(
      resources.map(async (resource) => {
        const label = `${resource.ref.resource}.${resource.ref.group}`;
        try {
          const objects = await emptyKind(namespace, resource);
          if (objects.length > 0) left.counts.set(label, objects.length);
          for (const object of objects) countFinalizers(left.finalizers, object);
        } catch (error) {
          left.failures.push(`${label}: ${textOf(error)}`);
        }
      }),
    );
    return left;
  }

  /** Deletes all of one kind and returns what is still there afterwards. */
  async function emptyKind(
    namespace: string,
    resource: DiscoveredResource,
  ): Promise<readonly KubeObject[]> {
    const before = await client.list<KubeObject>(resource.ref, { namespace });
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

  /** Best effort: what a conflict keeps from being said now, the next pass says. */
  async function writeStatus(namespace: Namespace, remains: Remains): Promise<void> {
    const old = namespace.status?.conditions ?? [];
    const conditions = namespaceConditions(old, remains, formatTime(clock.nowMs()));
    if (conditions === old) return;
    const status: NamespaceStatus = { ...namespace.status, conditions };
    const options = { subresource: "status" };
    await client
      .update(refs.namespaces, "", { ...namespace, status }, options)
      .catch((error: unknown) => {
        if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
      });
  }

  async function finish(namespace: Namespace): Promise<undefined> {
    const name = namespace.metadata?.name ?? "";
    passes.delete(name);
    try {
      const current = await client.get<Namespace>(refs.namespaces, "", name);
      if (current.metadata?.uid !== namespace.metadata?.uid) return;
      const finalizers = (current.spec?.finalizers ?? []).filter((one) => one !== finalizer);
      const next = { ...current, spec: { ...current.spec, finalizers } };
      await client.update(refs.namespaces, "", next, { subresource: "finalize" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function isPods({ ref }: DiscoveredResource): boolean {
  return ref.group === "" && ref.resource === "pods";
}

function countFinalizers(finalizers: Map<string, number>, object: KubeObject): void {
  for (const name of object.metadata?.finalizers ?? [])
    finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
}
