/**
 * Creates a controller, for this project and for others: the watched kinds, the keys that a change wakes, and
 * `reconcile`.
 *
 *   informer of `ref` ─────── key of the object ───────┐
 *   informers of `owns` ───── key of its controller ───┼─► work queue ─► `workers` × reconcile
 *   `sources` ─────────────── keys that they return ────┘
 *
 * Holds  the invariants that controller-frame.ts states for every controller.
 */
import type { KubeObject } from "#api/object.ts";
import { given } from "#base/given.ts";
import type { ResourceRef } from "./client.ts";
import {
  ControllerFrame,
  type Controller,
  type ControllerDeps,
  type ControllerSettings,
  type FrameOptions,
  type FrameWork,
} from "./controller-frame.ts";
import { commonIndexes, keyOf } from "./indexer.ts";
import type { Informer } from "./informer.ts";
import type { InformerSet } from "./informer-set.ts";
import type { ReconcileResult } from "./run-workers.ts";
import { watch, type Source, type WatchOptions } from "./sources.ts";

export type { Controller, ControllerDeps } from "./controller-frame.ts";

export interface KeyRequest {
  /** `namespace/name`, or `name` for cluster-scoped objects; keys of other sources as they are. */
  readonly key: string;
  /** Aborts when the controller stops or loses its lease; do not write after that. */
  readonly signal: AbortSignal;
}

export interface ReconcileRequest<T> extends KeyRequest {
  /** The informer's object, frozen and possibly outdated; undefined: it does not exist. */
  readonly object: T | undefined;
}

/** A controller whose keys are not objects of one kind. */
export interface KeyOptions extends FrameOptions {
  readonly sources: readonly Source[];
  /** Establishes the desired state; must be idempotent. It is retried when it throws. */
  reconcile(request: KeyRequest): Promise<ReconcileResult>;
}

export interface ControllerOptions<T extends KubeObject> extends FrameOptions {
  /** Changes of this kind's objects cause their reconciliation. */
  readonly ref: ResourceRef;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Restricts the watched objects of `ref`; absent: all. */
  readonly fieldSelector?: string;
  /** Restricts the changes that cause a reconciliation; absent: all. */
  readonly when?: WatchOptions<T>;
  /** Changes of these kinds reconcile the object in their controller reference. */
  readonly owns?: readonly ResourceRef[];
  /** Additional sources of keys. */
  readonly sources?: readonly Source[];
  /** Establishes the state that the object describes; must be idempotent. It is retried when it throws. */
  reconcile(request: ReconcileRequest<T>): Promise<ReconcileResult>;
}

export type AnyControllerOptions = KeyOptions | ControllerOptions<KubeObject>;

export interface CustomController<T extends KubeObject> extends Controller {
  readonly informer: Informer<T>;
}

/** Creates its informers immediately; the caller runs `deps.informers.run(signal)`, because informer sets are shared. */
export function createController<T extends KubeObject>(
  deps: ControllerDeps,
  options: ControllerOptions<T>,
  settings?: ControllerSettings,
): CustomController<T>;
export function createController(
  deps: ControllerDeps,
  options: AnyControllerOptions,
  settings?: ControllerSettings,
): Controller;
export function createController(
  deps: ControllerDeps,
  options: AnyControllerOptions,
  settings: ControllerSettings = {},
): Controller {
  if (!("ref" in options)) return new ControllerFrame(deps, options, keyWork(options), settings);
  const { ref, namespace, fieldSelector } = options;
  const informer = deps.informers.informer(ref, {
    ...given({ namespace, fieldSelector }),
  });
  const work = kindWork(deps.informers, informer, options);
  return Object.assign(new ControllerFrame(deps, options, work, settings), { informer });
}

function keyWork(options: KeyOptions): FrameWork {
  return {
    sources: options.sources,
    reconcile: (key, signal) => options.reconcile({ key, signal }),
  };
}

function kindWork(
  informers: InformerSet,
  informer: Informer<KubeObject>,
  options: ControllerOptions<KubeObject>,
): FrameWork {
  const { namespace, when, owns = [], sources = [] } = options;
  const selection = given({ namespace });
  const owned = owns.map((ref) => informers.informer(ref, selection));
  if (owned.length > 0)
    informer.addIndex("uid", ({ metadata }) => (metadata?.uid ? [metadata.uid] : []));
  return {
    sources: [
      watch(informer, keyOf, when),
      ...owned.map((each) => watch(each, (part) => controllerKeys(informer, part))),
      ...sources,
    ],
    reconcile: (key, signal) => options.reconcile({ key, object: informer.getByKey(key), signal }),
  };
}

function controllerKeys(informer: Informer<KubeObject>, part: KubeObject): readonly string[] {
  const uids = commonIndexes.controllerUid(part);
  return uids.flatMap((uid) => informer.byIndex("uid", uid).map(keyOf));
}
