/**
 * Garbage collector: objects whose owners are all gone are deleted; foreground deletion waits for
 * blocking dependents; orphaning takes the owner references away.
 *
 * In    every resource that can be listed, watched and deleted, found by discovery every 30 s.
 * Out   deletes with uid preconditions, patches of ownerReferences and finalizers.
 * Safe  an owner that the graph has not seen is asked for by a live GET before its dependents die:
 *       "absent" is the server's word, never the cache's. Nothing is collected before all informers
 *       known so far have synced.
 */
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { ResourceRef } from "#client/client.ts";
import { sleep } from "#platform/clock.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { discover, type DiscoveredResource } from "../shared/discovery.ts";
import {
  foregroundFinalizer,
  orphanFinalizer,
  OwnerGraph,
  type Dirty,
  type GraphNode,
} from "./graph.ts";

const workers = 20;
/** How soon a new kind of object is collected too; upstream's resync. */
const discoveryMs = 30_000;
/** Uids proved absent, so that a thousand dependents of one owner ask once. */
const absentMax = 10_000;
/** Never collected: events have no owners, and there are many. */
const ignored = new Set(["events", "leases"]);

// long: one closure holds the graph, the kinds and the queue that the small functions below share
export function garbageCollector(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const graph = new OwnerGraph();
  const kinds = new Map<string, DiscoveredResource>();
  const absent = new Set<string>();
  const base = queueController(deps, { name: "garbage-collector", workers }, reconcile);
  const { queue } = base;

  return { name: base.name, metrics: base.metrics, run };

  async function run(signal: AbortSignal): Promise<void> {
    await watchKinds();
    await informers.synced();
    await Promise.all([base.run(signal), rediscover(signal)]);
  }

  async function rediscover(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(clock, "controllers.resync", discoveryMs, signal);
      if (signal.aborted) return;
      await watchKinds();
    }
  }

  async function watchKinds(): Promise<void> {
    const found = await discover(client).catch((error: unknown) => {
      deps.log.warn("discovery failed", { error: String(error) });
      return { resources: [], failed: [] };
    });
    for (const resource of found.resources) {
      const key = kindKey(resource.ref.group, resource.kind);
      if (kinds.has(key)) continue;
      kinds.set(key, resource);
      if (isCollectable(resource)) watchKind(resource.ref);
    }
  }

  function watchKind(ref: ResourceRef): void {
    informers.informer<KubeObject>(ref).addHandler({
      add: (object) => mark(graph.observe(ref, object)),
      update: (_old, object) => mark(graph.observe(ref, object)),
      delete(object) {
        const uid = object.metadata?.uid ?? "";
        rememberAbsent(uid);
        mark(graph.remove(uid));
      },
    });
  }

  function mark(dirty: Dirty): void {
    for (const node of dirty.collect) queue.add(node.uid);
    for (const node of dirty.orphan) queue.add(node.uid);
  }

  function rememberAbsent(uid: string): void {
    if (absent.size >= absentMax) absent.delete(absent.values().next().value ?? "");
    absent.add(uid);
  }

  async function reconcile(uid: string): Promise<void> {
    const node = graph.get(uid);
    if (node === undefined || !node.observed || node.ref === undefined) return;
    if (node.orphaning) return orphan(node, node.ref);
    if (node.waiting) return finishForeground(node, node.ref);
    if (node.deleting || node.owners.length === 0) return;
    await collect(node, node.ref);
  }

  async function collect(node: GraphNode, ref: ResourceRef): Promise<void> {
    const verdicts = await Promise.all(node.owners.map((owner) => verdictOf(node, owner)));
    const by = (wanted: string): OwnerReference[] =>
      node.owners.filter((_owner, at) => verdicts[at] === wanted);
    const solid = by("solid");
    if (solid.length === node.owners.length) return;
    if (solid.length > 0) return patchMeta(node, ref, { ownerReferences: solid });
    if (by("waiting").length > 0 && node.dependents.size > 0)
      return remove(node, ref, "Foreground");
    await remove(node, ref, "Background");
  }

  /** `solid` keeps a dependent alive, `absent` and `waiting` (for its dependents to go) do not. */
  async function verdictOf(
    node: GraphNode,
    owner: OwnerReference,
  ): Promise<"solid" | "absent" | "waiting"> {
    const known = graph.get(owner.uid);
    if (known?.observed === true) {
      if (isForeignNamespace(node, known)) return "absent";
      return known.waiting ? "waiting" : "solid";
    }
    if (absent.has(owner.uid)) return "absent";
    return (await isLive(node, owner)) ? "solid" : "absent";
  }

  /** Asks the server. A kind it does not serve may come back: its dependents live. */
  async function isLive(node: GraphNode, owner: OwnerReference): Promise<boolean> {
    const group = parseApiVersion(owner.apiVersion)?.group ?? "";
    const kind = kinds.get(kindKey(group, owner.kind));
    if (kind === undefined) return true;
    const namespace = kind.namespaced ? node.namespace : "";
    if (kind.namespaced && namespace === "") return true;
    try {
      const found = await client.get(kind.ref, namespace, owner.name);
      if (found.metadata?.uid === owner.uid) return true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error;
    }
    rememberAbsent(owner.uid);
    return false;
  }

  async function finishForeground(node: GraphNode, ref: ResourceRef): Promise<void> {
    const blocking = graph.blocking(node);
    if (blocking.length === 0) return dropFinalizer(node, ref, foregroundFinalizer);
    for (const dependent of blocking) if (!dependent.deleting) queue.add(dependent.uid);
  }

  async function orphan(node: GraphNode, ref: ResourceRef): Promise<void> {
    await Promise.all(
      [...node.dependents].map(async (dependent) => {
        if (dependent.ref === undefined) return;
        const rest = dependent.owners.filter((owner) => owner.uid !== node.uid);
        await patchMeta(dependent, dependent.ref, { ownerReferences: rest });
      }),
    );
    await dropFinalizer(node, ref, orphanFinalizer);
  }

  async function dropFinalizer(
    node: GraphNode,
    ref: ResourceRef,
    finalizer: string,
  ): Promise<void> {
    await ignoringGone(async () => {
      const current = await client.get(ref, node.namespace, node.name);
      if (current.metadata?.uid !== node.uid) return;
      const finalizers = (current.metadata.finalizers ?? []).filter((name) => name !== finalizer);
      const { resourceVersion } = current.metadata;
      const patch = { metadata: { uid: node.uid, resourceVersion, finalizers } };
      await client.patch(ref, node.namespace, node.name, "merge", patch);
    });
  }

  async function patchMeta(node: GraphNode, ref: ResourceRef, change: object): Promise<void> {
    const patch = { metadata: { uid: node.uid, ...change } };
    await ignoringGone(() => client.patch(ref, node.namespace, node.name, "merge", patch));
  }

  async function remove(
    node: GraphNode,
    ref: ResourceRef,
    propagationPolicy: "Foreground" | "Background",
  ): Promise<void> {
    const preconditions = { uid: node.uid };
    await ignoringGone(() =>
      client.delete(ref, node.namespace, node.name, { propagationPolicy, preconditions }),
    );
  }
}

/** A namespaced object cannot own one of another namespace, nor one without any. */
function isForeignNamespace(node: GraphNode, owner: GraphNode): boolean {
  return owner.namespace !== "" && owner.namespace !== node.namespace;
}

function isCollectable({ ref, verbs }: DiscoveredResource): boolean {
  const needed = ["list", "watch", "delete", "patch"];
  return needed.every((verb) => verbs.includes(verb)) && !ignored.has(ref.resource);
}

function kindKey(group: string, kind: string): string {
  return `${group}/${kind}`;
}

/** Gone, or another object under the same name by now: nothing of ours is left to do. */
async function ignoringGone(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return;
    if (error instanceof ApiError && error.code === 409 && /[Uu][Ii][Dd]/.test(error.message))
      return;
    throw error;
  }
}
