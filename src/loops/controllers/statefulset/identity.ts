/** The identity of the n-th pod of a StatefulSet: name, labels, claims. Pure. */
import type { PersistentVolumeClaim, Pod, PodTemplateSpec, StatefulSet } from "#api/gen/types.ts";
import type { OwnerReference } from "#api/object.ts";
import { podFromTemplate } from "../pods/pod.ts";
import { revisionHashLabel } from "../pods/revisions.ts";

const podNameLabel = "statefulset.kubernetes.io/pod-name";
const podIndexLabel = "apps.kubernetes.io/pod-index";

export interface Ordinals {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

export function ordinalsOf(set: StatefulSet): Ordinals {
  const start = set.spec?.ordinals?.start ?? 0;
  return { start, end: start + (set.spec?.replicas ?? 1) };
}

export function podName(set: StatefulSet, ordinal: number): string {
  return `${set.metadata?.name ?? ""}-${ordinal}`;
}

/** The ordinal in the pod's name; undefined when the name does not belong to the set. */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const prefix = `${set.metadata?.name ?? ""}-`;
  const name = pod.metadata?.name ?? "";
  const tail = name.slice(prefix.length);
  // `web-01` does not belong to the set, because ordinals have no leading zeros.
  return name.startsWith(prefix) && /^(0|[1-9]\d{0,9})$/.test(tail) ? Number(tail) : undefined;
}

export function revisionOfPod(pod: Pod): string {
  return pod.metadata?.labels?.[revisionHashLabel] ?? "";
}

export function claimName(
  template: PersistentVolumeClaim,
  set: StatefulSet,
  ordinal: number,
): string {
  return `${template.metadata?.name ?? ""}-${podName(set, ordinal)}`;
}

/** The pod with this ordinal of the revision with this template. */
export function makePod(
  set: StatefulSet,
  template: PodTemplateSpec,
  options: { readonly ordinal: number; readonly revision: string; readonly owner: OwnerReference },
): Pod {
  const { ordinal, revision, owner } = options;
  const name = podName(set, ordinal);
  const pod = podFromTemplate(template, {
    namespace: set.metadata?.namespace ?? "",
    name,
    owner,
    labels: {
      [revisionHashLabel]: revision,
      [podNameLabel]: name,
      [podIndexLabel]: String(ordinal),
    },
  });
  const claims = set.spec?.volumeClaimTemplates ?? [];
  const claimed = new Set(claims.map((claim) => claim.metadata?.name ?? ""));
  const others = (pod.spec?.volumes ?? []).filter((volume) => !claimed.has(volume.name));
  const mounted = claims.map((claim) => ({
    name: claim.metadata?.name ?? "",
    persistentVolumeClaim: { claimName: claimName(claim, set, ordinal) },
  }));
  const volumes = [...mounted, ...others];
  const subdomain = set.spec?.serviceName;
  return {
    ...pod,
    spec: {
      ...(pod.spec ?? { containers: [] }),
      hostname: name,
      ...(subdomain === undefined || subdomain === "" ? {} : { subdomain }),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  };
}

/** The claims of the pod with this ordinal, as objects to create. */
export function makeClaims(
  set: StatefulSet,
  ordinal: number,
  owners: readonly OwnerReference[],
): readonly PersistentVolumeClaim[] {
  return (set.spec?.volumeClaimTemplates ?? []).map((template) => ({
    ...template,
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      ...template.metadata,
      name: claimName(template, set, ordinal),
      namespace: set.metadata?.namespace ?? "",
      labels: { ...template.metadata?.labels, ...set.spec?.selector?.matchLabels },
      ...(owners.length === 0 ? {} : { ownerReferences: owners }),
    },
  }));
}

/** The identity labels missing on a pod; undefined: none. */
export function missingIdentity(
  set: StatefulSet,
  pod: Pod,
): Readonly<Record<string, string>> | undefined {
  const ordinal = ordinalOf(set, pod);
  const name = pod.metadata?.name ?? "";
  if (ordinal === undefined || pod.metadata?.labels?.[podNameLabel] === name) return undefined;
  return { [podNameLabel]: name, [podIndexLabel]: String(ordinal) };
}
