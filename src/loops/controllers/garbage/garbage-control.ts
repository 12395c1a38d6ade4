/**
 * The garbage collector's writes. Each names the uid and the resourceVersion of the object on which it was decided. The
 * server refuses the write if the object has changed since, and the object is checked again.
 */
import { ApiError } from "#api/status.ts";
import type { OwnerReference } from "#api/object.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { GraphNode } from "./graph.ts";

/** A node observed by an informer, so that it can be read and written. */
export type ObservedNode = GraphNode & { readonly ref: ResourceRef };

export function isObserved(node: GraphNode | undefined): node is ObservedNode {
  return node?.isObserved === true && node.ref !== undefined;
}

export class GarbageControl {
  readonly #client: Client;

  constructor({ client }: { readonly client: Client }) {
    this.#client = client;
  }

  async setOwners(node: ObservedNode, ownerReferences: readonly OwnerReference[]): Promise<void> {
    const { uid, resourceVersion, ref, namespace, name } = node;
    const patch = { metadata: { uid, resourceVersion, ownerReferences } };
    await writeUnlessGone(() => this.#client.patch(ref, namespace, name, "merge", patch));
  }

  async delete(node: ObservedNode, propagationPolicy: GraphNode["policy"]): Promise<void> {
    const { uid, resourceVersion, ref, namespace, name } = node;
    const options = { propagationPolicy, preconditions: { uid, resourceVersion } };
    await writeUnlessGone(() => this.#client.delete(ref, namespace, name, options));
  }

  /** Reads the current object, because other finalizers may have been removed since it was observed. */
  async removeFinalizer(node: ObservedNode, finalizer: string): Promise<void> {
    const { uid, ref, namespace, name } = node;
    await writeUnlessGone(async () => {
      const { metadata } = await this.#client.get(ref, namespace, name);
      if (metadata?.uid !== uid) return;
      const finalizers = (metadata.finalizers ?? []).filter((one) => one !== finalizer);
      const { resourceVersion } = metadata;
      const patch = { metadata: { uid, resourceVersion, finalizers } };
      await this.#client.patch(ref, namespace, name, "merge", patch);
    });
  }
}

/** If it is gone, or another object has the name, nothing remains to be done. */
async function writeUnlessGone(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return;
    // After a conflict of resourceVersions the next attempt has a newer one.
    if (error instanceof ApiError && error.code === 409 && /\bUID\b/.test(error.message)) return;
    throw error;
  }
}
