/**
 * Garbage collector: objects whose owners are all gone are deleted; foreground deletion waits for
 * blocking dependents; orphaning takes the owner references away.
 *
 * In    every resource that can be listed, watched and deleted, found by discovery every 30 s.
 * Out   deletes and patches that name uid and resourceVersion: an object that has got another owner
 *       meanwhile is looked at again, never deleted for its old ones.
 * Safe  an owner that the graph has not seen is asked for by a live GET before its dependents die:
 *       "absent" is the server's word, never the cache's. Dependents are orphaned only when every
 *       kind is known, so that none is forgotten and collected later.
 * Slow  kinds that cannot be listed (a dead aggregated API) hold up the start by `syncMs` at most.
 */
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { ResourceRef } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { isNotFound } from "#client/api-errors.ts";
import { runWorkers, type ReconcileResult } from "#client/run-workers.ts";
import { WorkQueue } from "#client/workqueue.ts";
import { sleep } from "#platform/clock.ts";
import type { Controller, ControllerDeps } from "../framework/controller.ts";
import { discover, type DiscoveredResource } from "../framework/discovery.ts";
import {
  foregroundFinalizer,
  orphanFinalizer,
  OwnerGraph,
  type Dirty,
  type GraphNode,
} from "./graph.ts";

const workers = 20;
/** Questions about one object under way at once. */
const batch = 20;
/** How soon a new kind of object is collected too; upstream's resync. */
const discoveryMs = 30_000;
const syncMs = 30_000;
/** An owner that lives but was not seen, or is of a kind not known yet: look again. */
const unseenMs = 30_000;
/** Orphaning waits for kinds that are still being read. */
const unreadMs = 1_000;
/** Uids proved absent, so that a thousand dependents of one owner ask once. */
const absentMax = 10_000;
/** Never collected: events have no owners, and there are many. */
const ignored = new Set(["events"]);

type Verdict = "solid" | "absent" | "waiting" | "unseen";

function nextTurn(clock: ControllerDeps["clock"]): Promise<void> {
  return new Promise((resolve) => void clock.after("controllers.delay", 0, resolve));
}

// long: one closure holds the graph, the kinds and the queue that the small functions below share
export function garbageCollector(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const graph = new OwnerGraph();
  const kinds = new Map<string, DiscoveredResource>();
  const watched = new Map<string, Informer<KubeObject>>();
  const absent = new Set<string>();
  const name = "garbage-collector";
  const queue = new WorkQueue(deps, { name });

  return { name, metrics: () => queue.metrics(), run };

  async function run(signal: AbortSignal): Promise<void> {
    await watchKinds();
    const read = [...watched.values()].map((informer) => informer.synced);
    await Promise.race([Promise.all(read), sleep(clock, "controllers.resync", syncMs, signal)]);
    await Promise.all([runWorkers(queue, workers, reconcile, signal), rediscover(signal)]);
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
      kinds.set(kindKey(resource.ref.group, resource.kind), resource);
      const { group, version, resource: plural } = resource.ref;
      const key = `${group}/${version}/${plural}`;
      if (watched.has(key) || !isCollectable(resource)) continue;
      watched.set(key, watchKind(resource.ref));
    }
  }

  function watchKind(ref: ResourceRef): Informer<KubeObject> {
    const informer = informers.informer<KubeObject>(ref);
    informer.addHandler({
      add: (object) => mark(graph.observe(ref, object)),
      update: (_old, object) => mark(graph.observe(ref, object)),
      delete(object) {
        const uid = object.metadata?.uid ?? "";
        rememberAbsent(uid);
        mark(graph.remove(uid));
      },
    });
    return informer;
  }

  function mark(dirty: Dirty): void {
    for (const node of dirty.collect) queue.add(node.uid);
    for (const node of dirty.orphan) queue.add(node.uid);
  }

  function rememberAbsent(uid: string): void {
    if (absent.size >= absentMax) absent.delete(absent.values().next().value ?? "");
    absent.add(uid);
  }

  async function reconcile(uid: string): Promise<ReconcileResult> {
    const node = graph.get(uid);
    if (node === undefined || !node.observed || node.ref === undefined) return;
    if (node.orphaning) return orphan(node, node.ref);
    if (node.waiting) return finishForeground(node, node.ref);
    if (node.deleting || node.owners.length === 0) return;
    return collect(node, node.ref);
  }

  async function collect(node: GraphNode, ref: ResourceRef): Promise<ReconcileResult> {
    const { owners } = node;
    const verdicts = await inBatches(owners, (owner) => verdictOf(node, owner));
    const lives = (at: number): boolean => verdicts[at] === "solid" || verdicts[at] === "unseen";
    const solid = owners.filter((_owner, at) => lives(at));
    const again = verdicts.includes("unseen") ? { requeueAfterMs: unseenMs } : undefined;
    if (solid.length === owners.length) return again;
    if (solid.length > 0) await patchMeta(node, ref, { ownerReferences: solid });
    else if (verdicts.includes("waiting") && node.dependents.size > 0)
      await removeInForeground(node, ref);
    else await remove(node, ref, node.policy);
    return again;
  }

  /** Thousands of owners are asked for in steps: the server shares this loop. */
  async function inBatches<T, R>(all: readonly T[], ask: (one: T) => Promise<R>): Promise<R[]> {
    const answers: R[] = [];
    for (let at = 0; at < all.length; at += batch) {
      if (at > 0) await nextTurn(clock);
      for (const answer of await Promise.all(all.slice(at, at + batch).map(ask)))
        answers.push(answer);
    }
    return answers;
  }

  /** `solid` and `unseen` keep a dependent alive; `absent` and `waiting` (for it to go) do not. */
  async function verdictOf(node: GraphNode, owner: OwnerReference): Promise<Verdict> {
    const known = graph.get(owner.uid);
    if (known?.observed === true) return verdictOfSeen(node, known);
    if (absent.has(owner.uid)) return "absent";
    return askFor(node, owner);
  }

  /** Asks the server. A kind it does not serve may come back: its dependents live. */
  async function askFor(node: GraphNode, owner: OwnerReference): Promise<Verdict> {
    const group = parseApiVersion(owner.apiVersion)?.group ?? "";
    const kind = kinds.get(kindKey(group, owner.kind));
    if (kind === undefined) return "unseen";
    const namespace = kind.namespaced ? node.namespace : "";
    // An object of the cluster cannot have an owner in a namespace: an error that no retry mends.
    if (kind.namespaced && namespace === "") return "solid";
    try {
      const found = await client.get(kind.ref, namespace, owner.name);
      if (found.metadata?.uid === owner.uid) return "unseen";
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    rememberAbsent(owner.uid);
    return "absent";
  }

  async function finishForeground(node: GraphNode, ref: ResourceRef): Promise<void> {
    const blocking = graph.blocking(node);
    if (blocking.length === 0) return dropFinalizer(node, ref, foregroundFinalizer);
    for (const dependent of blocking) if (!dependent.deleting) queue.add(dependent.uid);
  }

  async function orphan(node: GraphNode, ref: ResourceRef): Promise<ReconcileResult> {
    const unread = [...watched.values()].some((informer) => !informer.hasSynced);
    if (unread) return { requeueAfterMs: unreadMs };
    await inBatches([...node.dependents], (dependent) => letGo(node, dependent));
    await dropFinalizer(node, ref, orphanFinalizer);
    return undefined;
  }

  async function letGo(node: GraphNode, dependent: GraphNode): Promise<void> {
    if (dependent.ref === undefined) return;
    const rest = dependent.owners.filter((owner) => owner.uid !== node.uid);
    await patchMeta(dependent, dependent.ref, { ownerReferences: rest });
  }

  async function dropFinalizer(
    node: GraphNode,
    ref: ResourceRef,
    finalizer: string,
  ): Promise<void> {
    await ignoreGone(async () => {
      const current = await client.get(ref, node.namespace, node.name);
      if (current.metadata?.uid !== node.uid) return;
      const finalizers = (current.metadata.finalizers ?? []).filter((name) => name !== finalizer);
      const { resourceVersion } = current.metadata;
      const patch = { metadata: { uid: node.uid, resourceVersion, finalizers } };
      await client.patch(ref, node.namespace, node.name, "merge", patch);
    });
  }

  async function patchMeta(node: GraphNode, ref: ResourceRef, change: object): Promise<void> {
    const { uid, resourceVersion } = node;
    const patch = { metadata: { uid, resourceVersion, ...change } };
    await ignoreGone(() => client.patch(ref, node.namespace, node.name, "merge", patch));
  }

  /** Foreground deletions in a circle would wait for each other: the object lets its owners go first. */
  async function removeInForeground(node: GraphNode, ref: ResourceRef): Promise<void> {
    const blocks = node.owners.some((owner) => owner.blockOwnerDeletion === true);
    if (blocks && [...node.dependents].some((dependent) => dependent.waiting)) {
      const free = node.owners.map((owner) => ({ ...owner, blockOwnerDeletion: false }));
      return patchMeta(node, ref, { ownerReferences: free });
    }
    await remove(node, ref, "Foreground");
  }

  async function remove(
    node: GraphNode,
    ref: ResourceRef,
    propagationPolicy: GraphNode["policy"],
  ): Promise<void> {
    const { uid, resourceVersion } = node;
    const preconditions = { uid, resourceVersion };
    await ignoreGone(() =>
      client.delete(ref, node.namespace, node.name, { propagationPolicy, preconditions }),
    );
  }
}

function verdictOfSeen(node: GraphNode, owner: GraphNode): Verdict {
  // A cluster-scoped object with a namespaced owner is an error, and never collected for it.
  if (owner.namespace !== "" && node.namespace === "") return "solid";
  if (owner.namespace !== "" && owner.namespace !== node.namespace) return "absent";
  return owner.waiting ? "waiting" : "solid";
}

function isCollectable({ ref, verbs }: DiscoveredResource): boolean {
  const needed = ["list", "watch", "delete", "patch"];
  return needed.every((verb) => verbs.includes(verb)) && !ignored.has(ref.resource);
}

function kindKey(group: string, kind: string): string {
  return `${group}/${kind}`;
}

/** Gone, or another object under the same name by now: nothing of ours is left to do. */
async function ignoreGone(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return;
    // A conflict of resourceVersions is another matter: the next look has a newer one.
    if (error instanceof ApiError && error.code === 409 && /\bUID\b/.test(error.message)) return;
    throw error;
  }
}
