/**
 * Detects owner references to an owner that an informer has shown in another namespace. Each is reported once, with
 * upstream's event, when the second of the two objects is seen.
 */
import type { KubeObject, OwnerReference } from "#api/object.ts";
import type { EventRecorder } from "#client/events.ts";
import { isObserved, type ObservedNode } from "./garbage-control.ts";
import type { OwnerGraph } from "./graph.ts";
import type { WatchedKinds } from "./kinds.ts";

export class ForeignOwners {
  readonly #recorder: EventRecorder;
  readonly #graph: OwnerGraph;
  readonly #kinds: WatchedKinds;

  constructor(deps: {
    readonly recorder: EventRecorder;
    readonly graph: OwnerGraph;
    readonly kinds: WatchedKinds;
  }) {
    this.#recorder = deps.recorder;
    this.#graph = deps.graph;
    this.#kinds = deps.kinds;
  }

  /** Called after `node` was observed. `before`: its previous state, undefined or without `isObserved` if it was new. */
  report(
    node: ObservedNode,
    before:
      | { readonly isObserved: boolean; readonly owners: readonly OwnerReference[] }
      | undefined,
  ): void {
    const known = new Set(before?.owners.map(({ uid }) => uid));
    const added = node.owners.filter(({ uid }) => !known.has(uid));
    const foreign = added.find((owner) => this.#isElsewhere(node, owner));
    if (foreign !== undefined) this.#tell(node, foreign);
    if (before?.isObserved !== true && node.namespace !== "") this.#reportDependents(node);
  }

  #isElsewhere(node: ObservedNode, { uid }: OwnerReference): boolean {
    const owner = this.#graph.get(uid);
    if (!isObserved(owner) || owner === node || owner.namespace === "") return false;
    return owner.namespace !== node.namespace;
  }

  #reportDependents(owner: ObservedNode): void {
    for (const dependent of owner.dependents) {
      if (!isObserved(dependent) || dependent.namespace === owner.namespace) continue;
      const reference = dependent.owners.find(({ uid }) => uid === owner.uid);
      if (reference !== undefined) this.#tell(dependent, reference);
    }
  }

  #tell({ ref, namespace, name, uid }: ObservedNode, owner: OwnerReference): void {
    const { group, version } = ref;
    const metadata = { name, uid, ...(namespace === "" ? {} : { namespace }) };
    const object: KubeObject = {
      apiVersion: group === "" ? version : `${group}/${version}`,
      kind: this.#kinds.kindOf(ref) ?? "",
      metadata,
    };
    const said = `[${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}]`;
    const text = `ownerRef ${said} does not exist in namespace ${JSON.stringify(namespace)}`;
    this.#recorder.event(object, "Warning", "OwnerRefInvalidNamespace", text);
  }
}
