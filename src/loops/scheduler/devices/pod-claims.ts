/** Which claims a Pod uses, as upstream's scheduler looks for them, or why it has to wait for them. */
import type { Pod, PodResourceClaim, ResourceClaim } from "#api/gen/types.ts";
import { isControlledBy } from "#client/owner.ts";

type PodClaims =
  | { readonly kind: "claims"; readonly claims: readonly ResourceClaim[] }
  /** In upstream's words. */
  | { readonly kind: "refused"; readonly reason: string };

type ClaimOf = (namespace: string, name: string) => ResourceClaim | undefined;

export function usesClaims({ spec }: Pod): boolean {
  return (spec?.resourceClaims ?? []).length > 0;
}

export function claimsOfPod(pod: Pod, claimOf: ClaimOf): PodClaims {
  const claims: ResourceClaim[] = [];
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const found = claimOfEntry(pod, entry, claimOf);
    if (typeof found === "string") return { kind: "refused", reason: found };
    if (found !== undefined) claims.push(found);
  }
  return { kind: "claims", claims };
}

/** Undefined: the entry needs no claim. A text: why there is none yet. */
function claimOfEntry(
  pod: Pod,
  entry: PodResourceClaim,
  claimOf: ClaimOf,
): ResourceClaim | string | undefined {
  const { namespace = "", name: podName = "" } = pod.metadata ?? {};
  const status = pod.status?.resourceClaimStatuses?.find(({ name }) => name === entry.name);
  if (entry.resourceClaimName === undefined) {
    if (entry.resourceClaimTemplateName === undefined) {
      const where = `pod "${namespace}/${podName}", spec.resourceClaim "${entry.name}"`;
      return `${where}: none of the supported fields are set`;
    }
    const why = "ResourceClaim not created yet";
    if (status === undefined) return `pod "${namespace}/${podName}": ${why}`;
  }
  const name = entry.resourceClaimName ?? status?.resourceClaimName;
  if (name === undefined) return undefined;
  const claim = claimOf(namespace, name);
  if (claim === undefined) return `resourceclaim.resource.k8s.io "${name}" not found`;
  if (claim.metadata?.deletionTimestamp !== undefined) {
    return `resourceclaim "${name}" is being deleted`;
  }
  if (entry.resourceClaimName !== undefined || isControlledBy(claim, pod)) return claim;
  const where = `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName}`;
  return `${where} (Pod is not owner)`;
}

export function isReservedFor(pod: Pod, { status }: ResourceClaim): boolean {
  return (status?.reservedFor ?? []).some(({ uid }) => uid === pod.metadata?.uid);
}
