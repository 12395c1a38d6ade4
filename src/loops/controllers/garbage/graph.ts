/**
 * The owner graph: objects, their owners and dependents, by uid. Pure.
 *
 * Holds  for every observed object n and owner reference o of n: n is in dependents(o.uid), whether or not o itself was
 *        observed (a *virtual* node stands for it until it is seen or proved absent). Dependents and owners are updated
 *        together, so a walk over all objects is never needed.
 * Cost   O(owner references) per event; a node is a few hundred bytes.
 */
import type { KubeObject, OwnerReference } from "#api/object.ts";
import { assert } from "#base/assert.ts";
import type { ResourceRef } from "#client/client.ts";

export const foregroundFinalizer = "foregroundDeletion";
export const orphanFinalizer = "orphan";

export interface GraphNode {
  readonly uid: string;
  ref: ResourceRef | undefined;
  namespace: string;
  name: string;
  /** The version observed last; writes and deletes name it, so that they never act on outdated owners. */
  resourceVersion: string;
  owners: readonly OwnerReference[];
  readonly dependents: Set<GraphNode>;
  /** Observed by an informer; false for an owner known only from references. */
  isObserved: boolean;
  isDeleting: boolean;
  /** In foreground deletion, waiting for its blocking dependents. */
  isWaiting: boolean;
  /** In deletion with the `orphan` finalizer. */
  isOrphaning: boolean;
  /** The deletion policy according to its finalizers. */
  policy: "Foreground" | "Orphan" | "Background";
}

/** Nodes to be processed after a change. */
export interface Dirty {
  /** Nodes that may be garbage, or may have waited for something that is gone. */
  readonly collect: readonly GraphNode[];
  readonly orphan: readonly GraphNode[];
}

const nothing: Dirty = { collect: [], orphan: [] };

export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();

  get size(): number {
    return this.#nodes.size;
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  observe(ref: ResourceRef, object: KubeObject): Dirty {
    const meta = object.metadata ?? {};
    const uid = meta.uid ?? "";
    if (uid === "") return nothing;
    const node = this.#nodes.get(uid) ?? this.#add(uid);
    const before = {
      isDeleting: node.isDeleting,
      isWaiting: node.isWaiting,
      isObserved: node.isObserved,
      owners: node.owners,
    };
    node.ref = ref;
    node.namespace = meta.namespace ?? "";
    node.name = meta.name ?? "";
    node.resourceVersion = meta.resourceVersion ?? "";
    node.isObserved = true;
    node.policy = policyOf(meta.finalizers ?? []);
    node.isDeleting = meta.deletionTimestamp !== undefined;
    node.isWaiting = node.isDeleting && (meta.finalizers ?? []).includes(foregroundFinalizer);
    node.isOrphaning = node.isDeleting && (meta.finalizers ?? []).includes(orphanFinalizer);
    this.#relink(node, meta.ownerReferences ?? []);
    return this.#dirtyAfter(node, before);
  }

  /** The object was deleted: its dependents may be garbage, and its owners may be waiting for it. */
  remove(uid: string): Dirty {
    const node = this.#nodes.get(uid);
    if (node === undefined) return nothing;
    const waiting = this.#ownersOf(node).filter((owner) => owner.isWaiting);
    this.#relink(node, []);
    const dependents = [...node.dependents];
    if (dependents.length === 0) this.#nodes.delete(uid);
    node.isObserved = false;
    node.isDeleting = false;
    node.isWaiting = false;
    node.isOrphaning = false;
    return { collect: [...dependents, ...waiting], orphan: [] };
  }

  /** The owner's existence becomes unknown, so its dependents look it up. Its own owners keep it. */
  forget(uid: string): Dirty {
    const node = this.#nodes.get(uid);
    if (node === undefined || node.dependents.size === 0) return nothing;
    node.isObserved = false;
    return { collect: [...node.dependents], orphan: [] };
  }

  /** Dependents that block the foreground deletion of `node`. */
  blocking(node: GraphNode): readonly GraphNode[] {
    return [...node.dependents].filter((dependent) => {
      return dependent.owners.some(
        (owner) => owner.uid === node.uid && owner.blockOwnerDeletion === true,
      );
    });
  }

  /** Throws AssertionError when an invariant of the header is violated. O(n); for tests. */
  check(): void {
    for (const node of this.#nodes.values()) {
      for (const { uid } of node.owners)
        assert(this.#nodes.get(uid)?.dependents.has(node) === true, "owner lacks dependent", {
          uid,
        });
      for (const dependent of node.dependents) {
        const owned = dependent.owners.some((owner) => owner.uid === node.uid);
        assert(owned && this.#nodes.get(dependent.uid) === dependent, "stray dependent", {
          uid: node.uid,
        });
      }
      assert(node.isObserved || node.dependents.size > 0, "virtual node of nobody", {
        uid: node.uid,
      });
    }
  }

  #add(uid: string): GraphNode {
    const node: GraphNode = {
      uid,
      ref: undefined,
      namespace: "",
      name: "",
      resourceVersion: "",
      policy: "Background",
      owners: [],
      dependents: new Set(),
      isObserved: false,
      isDeleting: false,
      isWaiting: false,
      isOrphaning: false,
    };
    this.#nodes.set(uid, node);
    return node;
  }

  #relink(node: GraphNode, owners: readonly OwnerReference[]): void {
    const kept = new Set(owners.map((owner) => owner.uid));
    for (const { uid } of node.owners) {
      if (kept.has(uid)) continue;
      const owner = this.#nodes.get(uid);
      owner?.dependents.delete(node);
      if (owner !== undefined && !owner.isObserved && owner.dependents.size === 0)
        this.#nodes.delete(uid);
    }
    for (const { uid } of owners) (this.#nodes.get(uid) ?? this.#add(uid)).dependents.add(node);
    node.owners = owners;
  }

  #ownersOf(node: GraphNode): readonly GraphNode[] {
    return node.owners.flatMap(({ uid }) => this.#nodes.get(uid) ?? []);
  }

  #dirtyAfter(
    node: GraphNode,
    before: Pick<GraphNode, "isDeleting" | "isWaiting" | "isObserved" | "owners">,
  ): Dirty {
    const collect: GraphNode[] = [];
    const owners = node.owners;
    const ownersChanged = !before.isObserved || !sameOwners(before.owners, owners);
    if (ownersChanged && owners.length > 0) collect.push(node);
    // A released dependent may have been the last one for which an owner waited.
    if (ownersChanged)
      for (const { uid } of before.owners) pushWaiting(collect, this.#nodes.get(uid));
    if (node.isWaiting) {
      collect.push(node);
      if (!before.isWaiting) collect.push(...node.dependents);
    }
    return { collect, orphan: node.isOrphaning ? [node] : [] };
  }
}

function policyOf(finalizers: readonly string[]): GraphNode["policy"] {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}

function pushWaiting(collect: GraphNode[], owner: GraphNode | undefined): void {
  if (owner?.isWaiting === true) collect.push(owner);
}

function sameOwners(a: readonly OwnerReference[], b: readonly OwnerReference[]): boolean {
  if (a.length !== b.length) return false;
  return a.every((owner, at) => {
    const other = b[at];
    return owner.uid === other?.uid && owner.blockOwnerDeletion === other.blockOwnerDeletion;
  });
}
