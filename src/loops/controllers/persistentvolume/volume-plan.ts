/**
 * The next step of a volume, pure: its phase, and its treatment after its claim is deleted.
 * After  k/k pkg/controller/volume/persistentvolume/pv_controller.go, syncVolume and reclaimVolume.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import {
  annotationOf,
  boundByController,
  hasAnnotation,
  migratedTo,
  provisionedBy,
  volumeMode,
  withoutAnnotation,
} from "#api/volumes/binding.ts";
import type { EventText } from "./claim-plan.ts";
import { csiDriverOf } from "#api/volumes/csi-migration.ts";

type VolumeStep =
  | { readonly kind: "phase"; readonly phase: "Available" | "Bound" }
  /** Phase Released, then the reclaim policy is applied. */
  | { readonly kind: "reclaim" }
  /** The claim's reconcile decides. */
  | { readonly kind: "wake-claim" }
  | { readonly kind: "unbind" }
  | { readonly kind: "refused"; readonly onVolume: EventText; readonly onClaim: EventText };

/** `claim`: the claim in claimRef by name and uid; undefined when it is gone. */
export function planVolume(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim | undefined,
): VolumeStep {
  if ((volume.spec?.claimRef?.uid ?? "") === "") return { kind: "phase", phase: "Available" };
  if (claim === undefined) return { kind: "reclaim" };
  const name = volume.metadata?.name ?? "";
  const volumeName = claim.spec?.volumeName ?? "";
  if (volumeName === name) return { kind: "phase", phase: "Bound" };
  if (volumeName === "") {
    if (volumeMode(volume) === volumeMode(claim)) return { kind: "wake-claim" };
    return modesDiffer(name, claim.metadata?.name ?? "");
  }
  const isDeleted = volume.spec?.persistentVolumeReclaimPolicy === "Delete";
  const isProvisioned = hasAnnotation(volume, provisionedBy);
  return { kind: isDeleted && isProvisioned ? "reclaim" : "unbind" };
}

function modesDiffer(volume: string, claim: string): VolumeStep {
  const event = (message: string): EventText => ({
    type: "Warning",
    reason: "VolumeMismatch",
    message,
  });
  return {
    kind: "refused",
    onVolume: event(
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim}" due to incompatible volumeMode.`,
    ),
    onClaim: event(
      `Cannot bind PersistentVolume "${volume}" to requested PersistentVolumeClaim due to incompatible volumeMode.`,
    ),
  };
}

/** The volume without its claim: no reference if the controller set it, otherwise the user's without uid. */
export function unboundVolume(volume: PersistentVolume): PersistentVolume {
  const { claimRef, ...spec } = volume.spec ?? {};
  if (hasAnnotation(volume, boundByController)) {
    return { ...withoutAnnotation(volume, boundByController), spec };
  }
  const { uid: _, ...reference } = claimRef ?? {};
  return { ...volume, spec: { ...spec, claimRef: reference } };
}

type ReclaimStep =
  /** The volume is retained, or deleted by an external deleter. */
  | { readonly kind: "keep" }
  | { readonly kind: "delete" }
  | { readonly kind: "fail"; readonly reason: string; readonly message: string };

/** The only paths that upstream's hostPath deleter removes. */
const deletablePath = /^\/tmp\/.+/;

export function planReclaim(volume: PersistentVolume): ReclaimStep {
  if ((annotationOf(volume, migratedTo) ?? "") !== "") return { kind: "keep" };
  switch (volume.spec?.persistentVolumeReclaimPolicy) {
    case "Retain":
      return { kind: "keep" };
    case "Delete":
      return planDelete(volume);
    case "Recycle":
      // Upstream runs a pod that empties the volume; the policy is deprecated since 1.15.
      return {
        kind: "fail",
        reason: "VolumeFailedRecycle",
        message: "No recycler plugin found for the volume!",
      };
    default:
      return {
        kind: "fail",
        reason: "VolumeUnknownReclaimPolicy",
        message: "Volume has unrecognized PersistentVolumeReclaimPolicy",
      };
  }
}

function planDelete(volume: PersistentVolume): ReclaimStep {
  const name = volume.metadata?.name ?? "";
  const fail = (message: string): ReclaimStep => ({
    kind: "fail",
    reason: "VolumeFailedDelete",
    message,
  });
  const provisioner = annotationOf(volume, provisionedBy) ?? "";
  if (provisioner !== "" && provisioner !== "kubernetes.io/host-path") {
    const isExternal =
      csiDriverOf(provisioner) !== undefined || !provisioner.startsWith("kubernetes.io/");
    return isExternal ? { kind: "keep" } : fail(`no volume plugin matched name: ${provisioner}`);
  }
  if (hasAnnotation(volume, migratedTo) || volume.spec?.csi !== undefined) return { kind: "keep" };
  const { hostPath, nfs } = volume.spec ?? {};
  if (hostPath !== undefined) {
    if (deletablePath.test(hostPath.path)) return { kind: "delete" };
    return fail(`host_path deleter only supports /tmp/.+ but received provided ${hostPath.path}`);
  }
  const error =
    nfs === undefined ? "no volume plugin matched" : "no deletable volume plugin matched";
  return fail(`error getting deleter volume plugin for volume "${name}": ${error}`);
}
