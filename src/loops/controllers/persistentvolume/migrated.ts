/**
 * In-tree volume plugins that CSI drivers have replaced, and the marks on their objects: the annotation `migrated-to`,
 * and the finalizers by which external and in-tree deleters recognise their volumes. Pure.
 * After  k/k pkg/controller/volume/persistentvolume/pv_controller_base.go, csi-translation-lib.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import {
  annotationOf,
  migratedTo,
  provisionedBy,
  withAnnotations,
  withoutAnnotation,
} from "#api/volumes/binding.ts";
import type { KubeObject } from "#api/object.ts";
import { csiDriverOf } from "#api/volumes/csi-migration.ts";

export const storageProvisioner = "volume.kubernetes.io/storage-provisioner";
export const betaStorageProvisioner = "volume.beta.kubernetes.io/storage-provisioner";

const externalFinalizer = "external-provisioner.volume.kubernetes.io/finalizer";
const inTreeFinalizer = "kubernetes.io/pv-controller";

/** Returns the given claim when nothing has to be written. */
export function migrateClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const provisioner =
    annotationOf(claim, storageProvisioner) ?? annotationOf(claim, betaStorageProvisioner);
  return migrate(claim, provisioner);
}

export function migrateVolume(volume: PersistentVolume): PersistentVolume {
  const provisioner = annotationOf(volume, provisionedBy);
  const migrated = migrate(volume, provisioner);
  const now = volume.metadata?.finalizers ?? [];
  const finalizers = provisioner === undefined ? now : finalizersOf(volume, provisioner);
  if (finalizers === now) return migrated;
  return { ...migrated, metadata: { ...migrated.metadata, finalizers } };
}

function migrate<T extends KubeObject>(object: T, provisioner: string | undefined): T {
  if (provisioner === undefined) return object;
  const driver = csiDriverOf(provisioner);
  const now = annotationOf(object, migratedTo);
  if (driver === undefined) {
    return (now ?? "") === "" ? object : withoutAnnotation(object, migratedTo);
  }
  return now === driver ? object : withAnnotations(object, { [migratedTo]: driver });
}

/** Finalizers of a dynamically provisioned volume; the same list when nothing changes. */
function finalizersOf(volume: PersistentVolume, provisioner: string): readonly string[] {
  const now = volume.metadata?.finalizers ?? [];
  const isDeleted = volume.spec?.persistentVolumeReclaimPolicy === "Delete";
  if (csiDriverOf(provisioner) !== undefined) return without(now, inTreeFinalizer);
  if (!provisioner.startsWith("kubernetes.io/")) return now;
  const others = without(now, externalFinalizer);
  if (!isDeleted) return without(others, inTreeFinalizer);
  return others.includes(inTreeFinalizer) ? others : [...others, inTreeFinalizer];
}

/** The volume without the in-tree deleter's finalizer. */
export function withoutInTreeFinalizer(volume: PersistentVolume): PersistentVolume {
  const now = volume.metadata?.finalizers ?? [];
  const finalizers = without(now, inTreeFinalizer);
  return finalizers === now ? volume : { ...volume, metadata: { ...volume.metadata, finalizers } };
}

function without(list: readonly string[], name: string): readonly string[] {
  return list.includes(name) ? list.filter((other) => other !== name) : list;
}
