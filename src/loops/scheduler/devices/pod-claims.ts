/** The claims of a Pod, found as upstream's scheduler finds them, or the reason why the Pod must wait for them. */
import type { Pod, PodResourceClaim, ResourceClaim } from "#api/gen/types.ts";
import { claimOf } from "#api/pods/resource-claims.ts";
import { isControlledBy } from "#client/owner.ts";

type PodClaims =
  | { readonly kind: "claims"; readonly claims: readonly ResourceClaim[] }
  /** `reason` is upstream's text. */
  | { readonly kind: "refused"; readonly reason: string };

type Lookup = (namespace: string, name: string) => ResourceClaim | undefined;

export function claimsOfPod(pod: Pod, lookup: Lookup): PodClaims {
  const claims: ResourceClaim[] = [];
  for (const entry of pod.spec?.resourceClaims ?? []) {
    const found = claimOfEntry(pod, entry, lookup);
    if (typeof found === "string") return { kind: "refused", reason: found };
    if (found !== undefined) claims.push(found);
  }
  return { kind: "claims", claims };
}

/** Returns the claim of an entry. Undefined: the entry needs no claim. A text: why no claim exists yet. */
function claimOfEntry(
  pod: Pod,
  entry: PodResourceClaim,
  lookup: Lookup,
): ResourceClaim | string | undefined {
  const { namespace = "", name: podName = "" } = pod.metadata ?? {};
  const named = claimOf(pod, entry);
  if (named.kind === "unsupported") return named.message;
  if (named.kind === "unmade")
    return `pod "${namespace}/${podName}": ResourceClaim not created yet`;
  if (named.kind === "unneeded") return undefined;
  const { name, isGenerated } = named;
  const claim = lookup(namespace, name);
  if (claim === undefined) return `resourceclaim.resource.k8s.io "${name}" not found`;
  if (claim.metadata?.deletionTimestamp !== undefined) {
    return `resourceclaim "${name}" is being deleted`;
  }
  if (!isGenerated || isControlledBy(claim, pod)) return claim;
  const where = `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName}`;
  return `${where} (Pod is not owner)`;
}
