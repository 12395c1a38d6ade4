/**
 * Protection of claims and volumes in use: the finalizer that admission puts on them is taken off only
 * when nothing needs them any more.
 *
 * Safe  before a claim's finalizer goes, the pods of its namespace are listed live: a pod that the
 *       cache does not show yet must not lose its volume.
 */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import type { ResourceRef } from "#client/client.ts";
import { keyOf } from "#client/indexer.ts";
import { isNotFound } from "#client/api-errors.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import { claimsOf, usesClaim } from "./claims.ts";

const workers = 5;
const claimFinalizer = "kubernetes.io/pvc-protection";
const volumeFinalizer = "kubernetes.io/pv-protection";
const claimIndex = "controllers.claim";

export function claimProtectionController(deps: ControllerDeps): Controller {
  const { client, informers } = deps;
  const claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
  const pods = informers.informer<Pod>(refs.pods);
  pods.addIndex(claimIndex, claimsOf);
  const options = { name: "pvc-protection-controller", workers };
  const controller = queueController(deps, options, reconcile);
  const wake = (claim: PersistentVolumeClaim): void => {
    if (needsWork(claim, claimFinalizer)) controller.queue.add(keyOf(claim));
  };
  claims.addHandler({ add: wake, update: (_old, claim) => wake(claim) });
  const wakeClaims = (pod: Pod): void => {
    for (const key of claimsOf(pod)) {
      const claim = claims.getByKey(key);
      if (claim !== undefined) wake(claim);
    }
  };
  pods.addHandler({ update: (_old, pod) => wakeClaims(pod), delete: wakeClaims });
  return controller;

  async function reconcile(key: string): Promise<void> {
    const claim = claims.getByKey(key);
    if (claim === undefined || !needsWork(claim, claimFinalizer)) return;
    if (claim.metadata?.deletionTimestamp === undefined) return addFinalizer(claim);
    if (pods.byIndex(claimIndex, key).some((pod) => usesClaim(pod, claim))) return;
    const { namespace = "" } = claim.metadata;
    const live = await client.list<Pod>(refs.pods, { namespace });
    if (live.items.some((pod) => usesClaim(pod, claim))) return;
    await writeFinalizers(deps, refs.persistentvolumeclaims, claim, without(claim, claimFinalizer));
  }

  function addFinalizer(claim: PersistentVolumeClaim): Promise<void> {
    const finalizers = [...(claim.metadata?.finalizers ?? []), claimFinalizer];
    return writeFinalizers(deps, refs.persistentvolumeclaims, claim, finalizers);
  }
}

export function volumeProtectionController(deps: ControllerDeps): Controller {
  const volumes = deps.informers.informer<PersistentVolume>(refs.persistentvolumes);
  const options = { name: "pv-protection-controller", workers };
  const controller = queueController(deps, options, reconcile);
  const wake = (volume: PersistentVolume): void => {
    if (needsWork(volume, volumeFinalizer)) controller.queue.add(keyOf(volume));
  };
  volumes.addHandler({ add: wake, update: (_old, volume) => wake(volume) });
  return controller;

  async function reconcile(key: string): Promise<void> {
    const volume = volumes.getByKey(key);
    if (volume === undefined || !needsWork(volume, volumeFinalizer)) return;
    const going = volume.metadata?.deletionTimestamp !== undefined;
    if (going && volume.status?.phase === "Bound") return;
    const finalizers = going
      ? without(volume, volumeFinalizer)
      : [...(volume.metadata?.finalizers ?? []), volumeFinalizer];
    await writeFinalizers(deps, refs.persistentvolumes, volume, finalizers);
  }
}

/** Going with the finalizer, or living without (made before admission put it on). */
function needsWork(object: KubeObject, finalizer: string): boolean {
  const has = (object.metadata?.finalizers ?? []).includes(finalizer);
  return has === (object.metadata?.deletionTimestamp !== undefined);
}

function without(object: KubeObject, finalizer: string): readonly string[] {
  return (object.metadata?.finalizers ?? []).filter((name) => name !== finalizer);
}

async function writeFinalizers(
  { client }: ControllerDeps,
  ref: ResourceRef,
  object: KubeObject,
  finalizers: readonly string[],
): Promise<void> {
  const next = { ...object, metadata: { ...object.metadata, finalizers } };
  try {
    await client.update(ref, object.metadata?.namespace ?? "", next);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
