/** Decides whether a protection finalizer must be added or removed, and writes it. */
import type { KubeObject } from "#api/object.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { isNotFound } from "#client/api-errors.ts";

/** Whether it is deleted but still protected, or unprotected (created before admission added it). */
export function needsWork(object: KubeObject, finalizer: string): boolean {
  const has = (object.metadata?.finalizers ?? []).includes(finalizer);
  return has === (object.metadata?.deletionTimestamp !== undefined);
}

export class FinalizerControl {
  readonly #client: Client;
  readonly #ref: ResourceRef;
  readonly #finalizer: string;

  constructor(deps: { readonly client: Client }, ref: ResourceRef, finalizer: string) {
    this.#client = deps.client;
    this.#ref = ref;
    this.#finalizer = finalizer;
  }

  add(object: KubeObject): Promise<void> {
    return this.#write(object, [...(object.metadata?.finalizers ?? []), this.#finalizer]);
  }

  remove(object: KubeObject): Promise<void> {
    const all = object.metadata?.finalizers ?? [];
    return this.#write(
      object,
      all.filter((name) => name !== this.#finalizer),
    );
  }

  async #write(object: KubeObject, finalizers: readonly string[]): Promise<void> {
    const next = { ...object, metadata: { ...object.metadata, finalizers } };
    try {
      await this.#client.update(this.#ref, object.metadata?.namespace ?? "", next);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
