/**
 * Protection of VolumeAttributesClasses: a class that is being deleted stays while a volume or a claim names it as its
 * current, wanted or target class.
 */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttributesClass,
} from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import { watch, type Source } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
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

const finalizer = "kubernetes.io/vac-protection";
const classIndex = "controllers.attributes-class";

export class AttributesClassProtectionController implements ControllerOptions<VolumeAttributesClass> {
  readonly name = "volumeattributesclass-protection-controller";
  readonly workers = 1;
  readonly ref = refs.volumeattributesclasses;
  readonly when = { on: ["add", "update"], only: isOpen } as const;
  readonly sources: readonly Source[];
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #finalizers: FinalizerControl;

  constructor(deps: ControllerDeps) {
    const { informers } = deps;
    this.#claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#volumes = informers.informer<PersistentVolume>(refs.persistentvolumes);
    this.#claims.addIndex(classIndex, classesOfClaim);
    this.#volumes.addIndex(classIndex, classesOfVolume);
    this.#finalizers = new FinalizerControl(deps, refs.volumeattributesclasses, finalizer);
    this.sources = [
      watchLeft(this.#claims, classesOfClaim),
      watchLeft(this.#volumes, classesOfVolume),
    ];
  }

  async reconcile({ key, object: one }: ReconcileRequest<VolumeAttributesClass>): Promise<void> {
    if (one === undefined || !isOpen(one)) return;
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

/** Adds a class when an object no longer refers to it. */
function watchLeft<T extends KubeObject>(
  informer: Informer<T>,
  classesOf: (object: T) => readonly string[],
): Source {
  return watch(informer, classesOf, {
    on: ["update", "delete"],
    changed: (old, object) => !new Set(classesOf(old)).isSubsetOf(new Set(classesOf(object))),
  });
}

function isOpen(one: VolumeAttributesClass): boolean {
  return needsWork(one, finalizer);
}
