/**
 * The resource claims of a Pod: which claim stands behind each entry of `spec.resourceClaims`, which are still
 * needed, and the claim that a template makes. Pure.
 *
 * After  k8s.io/dynamic-resource-allocation/resourceclaim; k/k pkg/controller/resourceclaim/controller.go.
 */
import type {
  Pod,
  PodResourceClaim,
  ResourceClaim,
  ResourceClaimTemplate,
} from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { isControlledBy } from "#client/owner.ts";

/** On a generated claim: the entry of `spec.resourceClaims` that it is for. */
export const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";
/** Held while a claim is allocated, so that its devices are not given away under a Pod. */
export const deleteProtection = "resource.kubernetes.io/delete-protection";

type ClaimOf =
  /** `isGenerated`: made from a template, so its owner must be the Pod. */
  | { readonly kind: "named"; readonly name: string; readonly isGenerated: boolean }
  /** Of a template, and not made yet. */
  | { readonly kind: "unmade" }
  /** The status says that this entry needs no claim. */
  | { readonly kind: "unneeded" }
  /** Neither a name nor a template: of a newer API. */
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

/** `namespace/name` of each claim that the Pod names so far, without the one of its extended resources. */
export function claimKeysOf(pod: Pod): readonly string[] {
  const namespace = pod.metadata?.namespace ?? "";
  const keys = (pod.spec?.resourceClaims ?? []).flatMap((entry) => {
    const claim = claimOf(pod, entry);
    return claim.kind === "named" ? [`${namespace}/${claim.name}`] : [];
  });
  return [...new Set(keys)];
}

export function templateKeysOf(pod: Pod): readonly string[] {
  const namespace = pod.metadata?.namespace ?? "";
  const names = (pod.spec?.resourceClaims ?? []).flatMap(
    ({ resourceClaimTemplateName }) => resourceClaimTemplateName ?? [],
  );
  return [...new Set(names)].map((name) => `${namespace}/${name}`);
}

/** It will not run any more, or never did. */
export function isDone({ metadata, spec, status }: Pod): boolean {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return true;
  return metadata?.deletionTimestamp !== undefined && (spec?.nodeName ?? "") === "";
}

export function isReservedFor(pod: Pod, { status }: ResourceClaim): boolean {
  return (status?.reservedFor ?? []).some(({ uid }) => uid === pod.metadata?.uid);
}

/** Why the claim is not the Pod's own; undefined: it is. */
export function notOwned(pod: Pod, claim: ResourceClaim): string | undefined {
  if (isControlledBy(claim, pod)) return undefined;
  const { namespace = "", name = "" } = claim.metadata ?? {};
  const podKey = `${pod.metadata?.namespace ?? ""}/${pod.metadata?.name ?? ""}`;
  return `ResourceClaim ${namespace}/${name} was not created for Pod ${podKey} (Pod is not owner)`;
}

/** The claim that the template makes for the entry of this name; the server completes its name. */
export function generatedClaim(
  pod: Pod,
  entryName: string,
  template: ResourceClaimTemplate,
): ResourceClaim {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const { annotations, labels } = template.spec.metadata ?? {};
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      generateName: generateName(name, entryName),
      namespace,
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid, controller: true }],
      annotations: { ...annotations, [podClaimAnnotation]: entryName },
      ...given({ labels }),
    },
    spec: template.spec.spec,
  };
}

/** Room for the five random characters and a hyphen in a name of 63. */
const baseMax = 57;

/** Pod and entry give up letters in proportion when both do not fit. */
function generateName(podName: string, entryName: string): string {
  const whole = `${podName}-${entryName}-`;
  if (whole.length <= baseMax) return whole;
  const part = (text: string): string =>
    text.slice(0, Math.floor((text.length * baseMax) / whole.length));
  return `${part(podName)}-${part(entryName)}`;
}
