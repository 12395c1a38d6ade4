/**
 * A controller for namespaces that must each have one object of a given name. A namespace is checked when it changes,
 * and when its object changes or is deleted.
 */
import type { Namespace } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { ControllerOptions } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import { watch } from "#client/sources.ts";
import { refs } from "../framework/refs.ts";

interface PerNamespaceOptions<T extends KubeObject> {
  readonly name: string;
  readonly objects: Informer<T>;
  /** The object's name in every namespace. */
  readonly objectName: string;
  /** Called for namespaces that are not being deleted. */
  readonly ensure: (namespace: string) => Promise<void>;
}

export function perNamespaceController<T extends KubeObject>({
  name,
  objects,
  objectName,
  ensure,
}: PerNamespaceOptions<T>): ControllerOptions<Namespace> {
  return {
    name,
    workers: 5,
    ref: refs.namespaces,
    when: { on: ["add", "update"] },
    sources: [
      watch(objects, ({ metadata }) => metadata?.namespace, {
        on: ["update", "delete"],
        only: ({ metadata }) => metadata?.name === objectName,
      }),
    ],
    async reconcile({ key, object: namespace }) {
      if (namespace === undefined || namespace.metadata?.deletionTimestamp !== undefined) return;
      await ensure(key);
    },
  };
}

/** Ignores errors of a create: the object was created concurrently, or the namespace is being deleted. */
export function ignoreLate(error: unknown): void {
  if (error instanceof ApiError && [403, 404, 409].includes(error.code)) return;
  throw error;
}
