/**
 * The resource claims of a Pod: maps each entry of `spec.resourceClaims` to its claim.
 *
 * After  k8s.io/dynamic-resource-allocation/resourceclaim.
 */
import type { Pod, PodResourceClaim, ResourceClaim } from "../gen/types.ts";

/** Set while a claim is allocated, so that its devices are not given away while a Pod uses them. */
export const deleteProtection = "resource.kubernetes.io/delete-protection";

type ClaimOf =
  /** `isGenerated`: created from a template, so its owner must be the Pod. */
  | { readonly kind: "named"; readonly name: string; readonly isGenerated: boolean }
  /** From a template, and not created yet. */
  | { readonly kind: "unmade" }
  /** The status says that this entry needs no claim. */
  | { readonly kind: "unneeded" }
  /** Neither a name nor a template: a form of a newer API. */
  | { readonly kind: "unsupported"; readonly message: string };

export function claimOf(pod: Pod, entry: PodResourceClaim): ClaimOf {
  if (entry.resourceClaimName !== undefined) {
    return { kind: "named", name: entry.resourceClaimName, isGenerated: false };
  }
  const { namespace = "", name = "" } = pod.metadata ?? {};
  if (entry.resourceClaimTemplateName === undefined) {
    const where = `pod "${namespace}/${name}", spec.resourceClaim "${entry.name}"`;
    return { kind: "unsupported", message: `${where}: none of the supported fields are set` };
  }
  const status = pod.status?.resourceClaimStatuses?.find((one) => one.name === entry.name);
  if (status === undefined) return { kind: "unmade" };
  if (status.resourceClaimName === undefined) return { kind: "unneeded" };
  return { kind: "named", name: status.resourceClaimName, isGenerated: true };
}

export function usesClaims({ spec }: Pod): boolean {
  return (spec?.resourceClaims ?? []).length > 0;
}

export function isReservedFor(pod: Pod, { status }: ResourceClaim): boolean {
  return (status?.reservedFor ?? []).some(({ uid }) => uid === pod.metadata?.uid);
}
