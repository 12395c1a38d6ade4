/** The claims that a pod uses. */
import type { PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import type { Informer } from "#client/informer.ts";

const claimIndex = "controllers.claim";

export function indexByClaim(pods: Informer<Pod>): void {
  pods.addIndex(claimIndex, claimsOf);
}

/** From the cache, after `indexByClaim`. `key`: `namespace/name` of the claim. */
export function podsOfClaim(pods: Informer<Pod>, key: string): readonly Pod[] {
  return pods.byIndex(claimIndex, key);
}

/** `namespace/name` of all claims the pod's volumes name, its ephemeral ones included. */
export function claimsOf(pod: Pod): readonly string[] {
  const { namespace = "", name = "" } = pod.metadata ?? {};
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined)
      return [`${namespace}/${volume.persistentVolumeClaim.claimName}`];
    return volume.ephemeral === undefined ? [] : [`${namespace}/${name}-${volume.name}`];
  });
}

/**
 * Whether the claim must stay for the pod. Only pods with a node count: no kubelet starts a pod with a claim that is
 * being deleted. A finished pod counts until it is deleted, because its volumes may still be mounted.
 */
export function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if ((pod.spec?.nodeName ?? "") === "") return false;
  const claimName = claim.metadata?.name ?? "";
  return (pod.spec?.volumes ?? []).some((volume) => {
    if (volume.persistentVolumeClaim?.claimName === claimName) return true;
    const own = `${pod.metadata?.name ?? ""}-${volume.name}`;
    if (volume.ephemeral === undefined || own !== claimName) return false;
    return isOwnedBy(claim, pod) && !isShutDown(pod);
  });
}

function isOwnedBy(claim: PersistentVolumeClaim, pod: Pod): boolean {
  const owners = claim.metadata?.ownerReferences ?? [];
  return owners.some(({ uid, controller }) => controller === true && uid === pod.metadata?.uid);
}

/** Whether only finalizers keep the pod: the kubelet has finished, or the deletion was forced. */
function isShutDown({ metadata }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;
}
