/**
 * A controller, ours and other projects': the kinds that are watched, the keys that a change wakes, and `reconcile`.
 *
 *   informer of `ref` ─────── key of the object ───────┐
 *   informers of `owns` ───── key of its controller ───┼─► work queue ─► `workers` × reconcile
 *   `sources` ─────────────── keys as they say ────────┘
 *
 * Holds  what controller-frame.ts holds of every controller.
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
  /** `namespace/name`, or `name` of an object without a namespace; else as a source gave it. */
  readonly key: string;
  /** Aborts when the controller stops or loses its lease: write nothing after that. */
  readonly signal: AbortSignal;
}

export interface ReconcileRequest<T> extends KeyRequest {
  /** As the informer has it, frozen and perhaps a little old; undefined: it is gone. */
  readonly object: T | undefined;
}

/** A controller whose keys are not those of one kind. */
export interface KeyOptions extends FrameOptions {
  readonly sources: readonly Source[];
  /** Makes the world as it should be; running it twice is harmless. Throws to be tried again. */
  reconcile(request: KeyRequest): Promise<ReconcileResult>;
}

export interface ControllerOptions<T extends KubeObject> extends FrameOptions {
  /** A change of an object of this kind reconciles it. */
  readonly ref: ResourceRef;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Which objects of `ref` are watched; absent: all. */
  readonly fieldSelector?: string;
  /** Which changes of them count; absent: all. */
  readonly when?: WatchOptions<T>;
  /** A change of one of these reconciles the object that its controller reference names. */
  readonly owns?: readonly ResourceRef[];
  /** Further keys. */
  readonly sources?: readonly Source[];
  /** Makes the world as the object says; running it twice is harmless. Throws to be tried again. */
  reconcile(request: ReconcileRequest<T>): Promise<ReconcileResult>;
}

export type AnyControllerOptions = KeyOptions | ControllerOptions<KubeObject>;

export interface CustomController<T extends KubeObject> extends Controller {
  readonly informer: Informer<T>;
}

/** Asks for its informers at once; `deps.informers.run(signal)` is the caller's, because sets are shared. */
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
