/**
 * Decides whether a claim and a volume fit (class, access modes, selector) and whether they are bound to each other,
 * and makes the objects that a binding writes. Pure; the binder and the scheduler share it, so that both decide alike.
 *
 * Holds  no argument is changed; an object that already is as required is returned unchanged.
 * After  k/k component-helpers/storage/volume/pv_helpers.go.
 */
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../gen/types.ts";
import type { KubeObject } from "../object.ts";
import { tryParseQuantity } from "../values/quantity.ts";

/** The claim's binding is complete, and its volume will not change. */
export const bindCompleted = "pv.kubernetes.io/bind-completed";
/** The controller chose the binding, not the user, so it may be undone. */
export const boundByController = "pv.kubernetes.io/bound-by-controller";
export const provisionedBy = "pv.kubernetes.io/provisioned-by";
export const migratedTo = "pv.kubernetes.io/migrated-to";
/** The node for which the scheduler requests a volume. */
export const selectedNode = "volume.kubernetes.io/selected-node";

/** Provisioner of classes whose volumes are created by hand. */
export const noProvisioner = "kubernetes.io/no-provisioner";

const betaClass = "volume.beta.kubernetes.io/storage-class";

export function annotationOf(object: KubeObject, key: string): string | undefined {
  const all = object.metadata?.annotations;
  return all !== undefined && Object.hasOwn(all, key) ? all[key] : undefined;
}

export function hasAnnotation(object: KubeObject, key: string): boolean {
  return annotationOf(object, key) !== undefined;
}

export function withAnnotations<T extends KubeObject>(
  object: T,
  added: Readonly<Record<string, string>>,
): T {
  const annotations = { ...object.metadata?.annotations, ...added };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

export function withoutAnnotation<T extends KubeObject>(object: T, key: string): T {
  const { [key]: _, ...rest } = object.metadata?.annotations ?? {};
  const { annotations: __, ...metadata } = object.metadata ?? {};
  const kept = Object.keys(rest).length === 0 ? {} : { annotations: rest };
  return { ...object, metadata: { ...metadata, ...kept } };
}

/** "" is a class too: it selects only volumes without a class. */
export function classOfClaim(claim: PersistentVolumeClaim): string {
  return annotationOf(claim, betaClass) ?? claim.spec?.storageClassName ?? "";
}

export function hasClass(claim: PersistentVolumeClaim): boolean {
  return hasAnnotation(claim, betaClass) || claim.spec?.storageClassName !== undefined;
}

export function classOfVolume(volume: PersistentVolume): string {
  return annotationOf(volume, betaClass) ?? volume.spec?.storageClassName ?? "";
}

export function isDelayed(storageClass: StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === "WaitForFirstConsumer";
}

export function keyOfClaim(claim: PersistentVolumeClaim): string {
  return `${claim.metadata?.namespace ?? ""}/${claim.metadata?.name ?? ""}`;
}

/** The claim in the volume's claimRef, as `namespace/name`; undefined without one. */
export function claimKeyOf(volume: PersistentVolume): string | undefined {
  const reference = volume.spec?.claimRef;
  if (reference === undefined) return undefined;
  return `${reference.namespace ?? ""}/${reference.name ?? ""}`;
}

/** Whether the volume belongs to the claim: by uid, or by name while the reference has no uid. */
export function isVolumeOf(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  if (claimKeyOf(volume) !== keyOfClaim(claim)) return false;
  const uid = volume.spec?.claimRef?.uid ?? "";
  return uid === "" || uid === claim.metadata?.uid;
}

export function isFullyBound(claim: PersistentVolumeClaim): boolean {
  return (claim.spec?.volumeName ?? "") !== "" && hasAnnotation(claim, bindCompleted);
}

/** In billionths, so that no size is rounded; 0 if it cannot be parsed. */
export function storageNanos(list: Readonly<Record<string, string>> | undefined): bigint {
  return tryParseQuantity(list?.["storage"] ?? "0")?.nanos ?? 0n;
}

export function requestedNanos(claim: PersistentVolumeClaim): bigint {
  return storageNanos(claim.spec?.resources?.requests);
}

export function volumeMode(object: PersistentVolume | PersistentVolumeClaim): string {
  return object.spec?.volumeMode ?? "Filesystem";
}

export function attributesClass(object: PersistentVolume | PersistentVolumeClaim): string {
  return object.spec?.volumeAttributesClassName ?? "";
}

function hasAccessModes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const has = volume.spec?.accessModes ?? [];
  return (claim.spec?.accessModes ?? []).every((mode) => has.includes(mode));
}

/** Why a volume named by the claim cannot be bound to it, in upstream's words. */
export function mismatch(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): string | undefined {
  const name = volume.metadata?.name ?? "";
  if (volume.metadata?.deletionTimestamp !== undefined) {
    return `the volume is marked for deletion "${name}"`;
  }
  if (storageNanos(volume.spec?.capacity) < requestedNanos(claim)) {
    return "requested PV is too small";
  }
  if (classOfVolume(volume) !== classOfClaim(claim)) return "storageClassName does not match";
  if (attributesClass(volume) !== attributesClass(claim)) {
    return "volumeAttributesClassName does not match";
  }
  if (volumeMode(volume) !== volumeMode(claim)) return "incompatible volumeMode";
  return hasAccessModes(volume, claim) ? undefined : "incompatible accessMode";
}

/** The volume with its reference to the claim, marked if the user did not choose it. */
export function volumeBoundTo(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): PersistentVolume {
  const isChosenHere = !isVolumeOf(volume, claim) && !hasAnnotation(volume, boundByController);
  const marked = isChosenHere ? withAnnotations(volume, { [boundByController]: "yes" }) : volume;
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = claim.metadata ?? {};
  const isReferred = claimKeyOf(volume) === keyOfClaim(claim) && volume.spec?.claimRef?.uid === uid;
  if (isReferred) return marked;
  const kind = { kind: "PersistentVolumeClaim", apiVersion: "v1" };
  const claimRef = { ...kind, namespace, name, uid, resourceVersion };
  return { ...marked, spec: { ...marked.spec, claimRef } };
}

/** The claim with its volume, marked if the user did not name the volume. */
export function claimBoundTo(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): PersistentVolumeClaim {
  const volumeName = volume.metadata?.name ?? "";
  let bound = claim;
  if (claim.spec?.volumeName !== volumeName) {
    bound = { ...claim, spec: { ...claim.spec, volumeName } };
    if (!hasAnnotation(claim, boundByController)) {
      bound = withAnnotations(bound, { [boundByController]: "yes" });
    }
  }
  return hasAnnotation(bound, bindCompleted)
    ? bound
    : withAnnotations(bound, { [bindCompleted]: "yes" });
}
