/**
 * DefaultStorageClass: gives the default class to a claim without a class.
 * StorageObjectInUseProtection: adds the finalizers that keep claims and volumes in use after their deletion.
 * PersistentVolumeClaimResize: allows a larger request only for a claim that can be expanded.
 */
import { ownEntry } from "#base/own.ts";
import type { PersistentVolumeClaim, StorageClass } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject, KubeObject } from "#api/object.ts";
import { compareQuantities, tryParseQuantity, zeroQuantity } from "#api/values/quantity.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, isResource, forbiddenError, withSpec } from "./request.ts";

const group = "storage.k8s.io";
const classes = { group, resource: "storageclasses" };
const betaClass = "volume.beta.kubernetes.io/storage-class";
const defaultMarks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

export function defaultStorageClass(deps: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "DefaultStorageClass",
    mutate(request: AdmissionRequest): AnyObject {
      const object = request.object ?? {};
      const claim = object as PersistentVolumeClaim;
      if (!isCore(request, "persistentvolumeclaims") || request.operation !== "CREATE") {
        return object;
      }
      const named = claim.metadata?.annotations?.[betaClass] !== undefined;
      // An empty class name is an explicit choice of no class.
      if (named || claim.spec?.storageClassName !== undefined) return object;
      const marked = deps.lookup
        .list(classes, "")
        .filter((candidate) => isMarked(candidate, defaultMarks));
      const name = newest(marked)?.metadata?.name;
      return name === undefined ? object : withSpec(object, { storageClassName: name });
    },
  };
}

/** Whether one of `annotations` is "true". */
export function isMarked(object: KubeObject, annotations: readonly string[]): boolean {
  return annotations.some((key) => object.metadata?.annotations?.[key] === "true");
}

/** The newest candidate; names break a tie. */
export function newest<T extends KubeObject>(candidates: readonly T[]): T | undefined {
  const born = (object: T): string => object.metadata?.creationTimestamp ?? "";
  const name = (object: T): string => object.metadata?.name ?? "";
  return candidates.toSorted((a, b) =>
    born(a) === born(b) ? (name(a) < name(b) ? -1 : 1) : born(a) > born(b) ? -1 : 1,
  )[0];
}

const finalizers: Readonly<Record<string, string>> = {
  "/persistentvolumes": "kubernetes.io/pv-protection",
  "/persistentvolumeclaims": "kubernetes.io/pvc-protection",
  [`${group}/volumeattributesclasses`]: "kubernetes.io/vac-protection",
};

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  mutate(request: AdmissionRequest): AnyObject {
    const object = request.object ?? {};
    const finalizer = ownEntry(finalizers, `${request.info.group}/${request.info.resource}`);
    if (finalizer === undefined || request.operation !== "CREATE") return object;
    const present = object.metadata?.finalizers ?? [];
    if (request.subresource !== "" || present.includes(finalizer)) return object;
    return { ...object, metadata: { ...object.metadata, finalizers: [...present, finalizer] } };
  },
};

export function persistentVolumeClaimResize(deps: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "PersistentVolumeClaimResize",
    validate(request: AdmissionRequest): void {
      if (!isResource(request, "", "persistentvolumeclaims")) return;
      if (request.operation !== "UPDATE") return;
      validateResize(deps.lookup, request);
    },
  };
}

function validateResize(lookup: Lister, request: AdmissionRequest): void {
  const next = request.object as PersistentVolumeClaim;
  const old = request.oldObject as PersistentVolumeClaim;
  if (compareQuantities(sizeOf(next), sizeOf(old)) <= 0) return;
  if (old.status?.phase !== "Bound") {
    throw forbiddenError(request, "Only bound persistent volume claims can be expanded");
  }
  const name = classOf(next);
  const found = name === "" ? undefined : lookup.get(classes, "", name);
  const growable = (found as StorageClass | undefined)?.allowVolumeExpansion === true;
  if (name === classOf(old) && growable) return;
  throw forbiddenError(
    request,
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
  );
}

function sizeOf(claim: PersistentVolumeClaim) {
  const text = claim.spec?.resources?.requests?.["storage"] ?? "0";
  return tryParseQuantity(text) ?? zeroQuantity;
}

function classOf(claim: PersistentVolumeClaim): string {
  return claim.metadata?.annotations?.[betaClass] ?? claim.spec?.storageClassName ?? "";
}
