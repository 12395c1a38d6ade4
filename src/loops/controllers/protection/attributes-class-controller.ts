/**
 * Protection of VolumeAttributesClasses: a deleted one stays while a volume or a claim names it, as the
 * class it has, wants or is being changed to.
 */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttributesClass,
} from "#api/gen/types.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { FinalizerControl, needsWork } from "./finalizer-control.ts";

export const attributesClassProtectionRole: ControllerRole = {
  account: "volumeattributesclass-protection-controller",
  rules: [
    "read | core | persistentvolumeclaims",
    "read | core | persistentvolumes",
    "get,list,update,watch | storage.k8s.io | volumeattributesclasses",
    "events",
  ],
};

const workers = 1;
const finalizer = "kubernetes.io/vac-protection";
const classIndex = "controllers.attributes-class";

export class AttributesClassProtectionController implements Controller {
  readonly name = "volumeattributesclass-protection-controller";
  readonly #classes: Informer<VolumeAttributesClass>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #finalizers: FinalizerControl;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    const { informers } = deps;
    this.#classes = informers.informer<VolumeAttributesClass>(refs.volumeattributesclasses);
    this.#claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#volumes = informers.informer<PersistentVolume>(refs.persistentvolumes);
    this.#claims.addIndex(classIndex, classesOfClaim);
    this.#volumes.addIndex(classIndex, classesOfVolume);
    this.#finalizers = new FinalizerControl(deps, refs.volumeattributesclasses, finalizer);
    const { name } = this;
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#addHandlers();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  #addHandlers(): void {
    const enqueue = (one: VolumeAttributesClass): void => {
      if (needsWork(one, finalizer)) this.#loop.queue.add(keyOf(one));
    };
    this.#classes.addHandler({ add: enqueue, update: (_old, one) => enqueue(one) });
    const left = (names: readonly string[]): void => {
      for (const name of names) this.#loop.queue.add(name);
    };
    this.#claims.addHandler({
      update: (old, claim) => left(without(classesOfClaim(old), classesOfClaim(claim))),
      delete: (claim) => left(classesOfClaim(claim)),
    });
    this.#volumes.addHandler({
      update: (old, volume) => left(without(classesOfVolume(old), classesOfVolume(volume))),
      delete: (volume) => left(classesOfVolume(volume)),
    });
  }

  async #reconcile(key: string): Promise<void> {
    const one = this.#classes.getByKey(key);
    if (one === undefined || !needsWork(one, finalizer)) return;
    if (one.metadata?.deletionTimestamp === undefined) return this.#finalizers.add(one);
    const users = [this.#volumes, this.#claims].map((all) => all.countByIndex(classIndex, key));
    if (users.every((count) => count === 0)) await this.#finalizers.remove(one);
  }
}

function classesOfClaim({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const all = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(all.flatMap((name) => (name === undefined || name === "" ? [] : [name])))];
}

function classesOfVolume({ spec }: PersistentVolume): readonly string[] {
  const name = spec?.volumeAttributesClassName ?? "";
  return name === "" ? [] : [name];
}

function without(names: readonly string[], others: readonly string[]): readonly string[] {
  return names.filter((name) => !others.includes(name));
}
