/**
 * A queue of namespaces, each of which must have one object of a given name: a namespace is looked at
 * when it changes, and when its object changes or is deleted.
 */
import type { Namespace } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Informer } from "#client/informer.ts";
import {
  queueController,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";

const workers = 5;

interface PerNamespaceOptions<T extends KubeObject> {
  readonly controllerName: string;
  readonly objects: Informer<T>;
  /** The object's name in every namespace. */
  readonly objectName: string;
  /** Called for namespaces that are not being deleted. */
  readonly ensure: (namespace: string) => Promise<void>;
}

export function perNamespaceController<T extends KubeObject>(
  deps: ControllerDeps,
  { controllerName, objects, objectName, ensure }: PerNamespaceOptions<T>,
): QueueController {
  const namespaces = deps.informers.informer<Namespace>(refs.namespaces);
  const controller = queueController(deps, { name: controllerName, workers }, async (namespace) => {
    const found = namespaces.get("", namespace);
    if (found === undefined || found.metadata?.deletionTimestamp !== undefined) return;
    await ensure(namespace);
  });
  const enqueue = ({ metadata }: Namespace): void => controller.queue.add(metadata?.name ?? "");
  namespaces.addHandler({ add: enqueue, update: (_old, namespace) => enqueue(namespace) });
  const enqueueOwn = ({ metadata }: T): void => {
    if (metadata?.name === objectName) controller.queue.add(metadata.namespace ?? "");
  };
  objects.addHandler({ update: (_old, object) => enqueueOwn(object), delete: enqueueOwn });
  return controller;
}

/** For creates: the object was made by another client meanwhile, or the namespace is being deleted. */
export function ignoreLate(error: unknown): void {
  if (error instanceof ApiError && [403, 404, 409].includes(error.code)) return;
  throw error;
}
