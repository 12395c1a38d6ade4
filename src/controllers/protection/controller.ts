/**
 * Storage in use is not deleted: takes the protection finalizer off a claim that no pod uses any more,
 * and off a volume that is not bound. Admission puts the finalizers on.
 *
 * Safe  a claim is in use while any unfinished pod of its namespace names it, bound to a node or not;
 *       before the finalizer goes, the server is asked once more, past the cache.
 */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import { keyOf, splitKey } from "#client/local-store.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { refs } from "../shared/refs.ts";

const workers = 5;
const claimFinalizer = "kubernetes.io/pvc-protection";
const volumeFinalizer = "kubernetes.io/pv-protection";
const claimIndex = "controllers.claim";

export function claimProtectionController(deps: ControllerDeps): Controller {
  const { client, informers } = deps;
  const claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
  const pods = informers.informer<Pod>(refs.pods);
  pods.addIndex(claimIndex, claimKeys);
  const options = { name: "pvc-protection-controller", workers };
  const controller = queueController(deps, options, reconcile);
  const { queue } = controller;
  const wakeClaim = (claim: PersistentVolumeClaim): void => {
    if (isReleasable(claim, claimFinalizer)) queue.add(keyOf(claim));
  };
  const wakePod = (pod: Pod): void => {
    for (const key of claimKeys(pod)) queue.add(key);
  };
  claims.addHandler({ add: wakeClaim, update: (_old, claim) => wakeClaim(claim) });
  pods.addHandler({ update: (old) => wakePod(old), delete: wakePod });
  return controller;

  async function reconcile(key: string): Promise<void> {
    const claim = claims.getByKey(key);
    if (
      claim === undefined ||
      !isReleasable(claim, claimFinalizer) ||
      isUsed(pods.byIndex(claimIndex, key))
    )
      return;
    const { namespace } = splitKey(key);
    const live = await client.list<Pod>(refs.pods, { namespace });
    if (
      isUsed(
        live.items.filter((pod) =>
          claimKeys({ ...pod, metadata: { ...pod.metadata, namespace } }).includes(key),
        ),
      )
    )
      return;
    await release(deps, refs.persistentvolumeclaims, claim, claimFinalizer);
  }
}

export function volumeProtectionController(deps: ControllerDeps): Controller {
  const volumes = deps.informers.informer<PersistentVolume>(refs.persistentvolumes);
  const options = { name: "pv-protection-controller", workers };
  const controller = queueController(deps, options, async (name) => {
    const volume = volumes.get("", name);
    if (volume === undefined || !isReleasable(volume, volumeFinalizer)) return;
    if (volume.status?.phase === "Bound") return;
    await release(deps, refs.persistentvolumes, volume, volumeFinalizer);
  });
  const wake = (volume: PersistentVolume): void => {
    if (isReleasable(volume, volumeFinalizer)) controller.queue.add(keyOf(volume));
  };
  volumes.addHandler({ add: wake, update: (_old, volume) => wake(volume) });
  return controller;
}

type Stored = PersistentVolume | PersistentVolumeClaim;

/** Being deleted, and held by nothing but the finalizer asked about. */
function isReleasable(object: Stored, finalizer: string): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata ?? {};
  return deletionTimestamp !== undefined && finalizers.includes(finalizer);
}

function isUsed(users: readonly Pod[]): boolean {
  return users.some((pod) => pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed");
}

/** `namespace/name` of every claim a pod mounts, its own ephemeral ones included. */
function claimKeys(pod: Pod): readonly string[] {
  const { namespace = "", name = "" } = pod.metadata ?? {};
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    if (volume.ephemeral !== undefined) return [`${namespace}/${name}-${volume.name}`];
    const claim = volume.persistentVolumeClaim?.claimName;
    return claim === undefined ? [] : [`${namespace}/${claim}`];
  });
}

async function release(
  { client }: ControllerDeps,
  ref: typeof refs.persistentvolumes,
  object: Stored,
  finalizer: string,
): Promise<void> {
  const { namespace = "", finalizers = [] } = object.metadata ?? {};
  const rest = finalizers.filter((name) => name !== finalizer);
  const next = { ...object, metadata: { ...object.metadata, finalizers: rest } };
  try {
    await client.update(ref, namespace, next);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 404) throw error;
  }
}
