/**
 * The resource claims of a Pod, for their controller: decides which are still needed, and makes the claim of a
 * template. Pure.
 *
 * After  k8s.io/dynamic-resource-allocation/resourceclaim; k/k pkg/controller/resourceclaim/controller.go.
 */
import type { Pod, ResourceClaim, ResourceClaimTemplate } from "#api/gen/types.ts";
import { claimOf } from "#api/pods/resource-claims.ts";
import { given } from "#base/given.ts";
import { isControlledBy } from "#client/owner.ts";

/** Annotation of a generated claim: its entry in `spec.resourceClaims`. */
export const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";
/** `namespace/name` of each claim that the Pod names so far, without that of its extended resources. */
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

/** Whether the Pod will not run any more, or never did. */
export function isDone({ metadata, spec, status }: Pod): boolean {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return true;
  return metadata?.deletionTimestamp !== undefined && (spec?.nodeName ?? "") === "";
}

/** Why the claim does not belong to the Pod; undefined: it does. */
export function notOwned(pod: Pod, claim: ResourceClaim): string | undefined {
  if (isControlledBy(claim, pod)) return undefined;
  const { namespace = "", name = "" } = claim.metadata ?? {};
  const podKey = `${pod.metadata?.namespace ?? ""}/${pod.metadata?.name ?? ""}`;
  return `ResourceClaim ${namespace}/${name} was not created for Pod ${podKey} (Pod is not owner)`;
}

/** The claim created from the template for this entry; the server completes its name. */
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

/** Leaves room for a hyphen and five random characters in a name of 63. */
const baseMax = 57;

/** Truncates the names of Pod and entry in proportion if both do not fit. */
function generateName(podName: string, entryName: string): string {
  const whole = `${podName}-${entryName}-`;
  if (whole.length <= baseMax) return whole;
  const part = (text: string): string =>
    text.slice(0, Math.floor((text.length * baseMax) / whole.length));
  return `${part(podName)}-${part(entryName)}`;
}
