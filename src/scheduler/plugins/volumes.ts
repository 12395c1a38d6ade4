/**
 * Volumes of a Pod, as far as scheduling decides by them: claims that must exist and be bound, and
 * the node affinity of the PersistentVolumes behind them.
 *
 * Not done yet, and said so in the Pod's condition instead of placing it wrongly: binding of
 * WaitForFirstConsumer claims.
 */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  Volume,
} from "#api/gen/types.ts";
import type { FilterPlugin } from "../framework.ts";
import { nodeSelectorMatches } from "#api/selectors/node-match.ts";
import { reasonId } from "../reasons.ts";

export interface VolumeLookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
  /** True when a placed Pod other than `uid` uses the claim. */
  claimInUse(namespace: string, name: string, uid: string): boolean;
}

const conflict = reasonId(
  "VolumeBinding",
  "node(s) didn't match PersistentVolume's node affinity",
  false,
);

/** The claims a Pod's volumes name; a generic ephemeral volume's is called after Pod and volume. */
export function claimNames(pod: Pod): string[] {
  const names: string[] = [];
  for (const volume of pod.spec?.volumes ?? []) {
    const name = claimName(pod, volume);
    if (name !== undefined) names.push(name);
  }
  return names;
}

function claimName(pod: Pod, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  if (volume.ephemeral === undefined) return undefined;
  return `${pod.metadata?.name ?? ""}-${volume.name}`;
}

/** What keeps the Pod from any node, in upstream's words; undefined when nothing does. */
export function volumesRefusal(pod: Pod, lookup: VolumeLookup): string | undefined {
  const namespace = pod.metadata?.namespace ?? "";
  for (const name of claimNames(pod)) {
    const claim = lookup.claim(namespace, name);
    if (claim === undefined) return `persistentvolumeclaim "${name}" not found`;
    if (claim.metadata?.deletionTimestamp !== undefined) {
      return `persistentvolumeclaim "${name}" is being deleted`;
    }
    const refusal = claimRefusal(pod, claim, lookup);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function claimRefusal(
  pod: Pod,
  claim: PersistentVolumeClaim,
  lookup: VolumeLookup,
): string | undefined {
  const { namespace = "", name = "" } = claim.metadata ?? {};
  if (claim.status?.phase === "Lost")
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName ?? ""}"`;
  if ((claim.spec?.volumeName ?? "") === "" || claim.status?.phase !== "Bound") {
    const storageClass = lookup.storageClass(claim.spec?.storageClassName ?? "");
    if (storageClass?.volumeBindingMode !== "WaitForFirstConsumer") {
      return "pod has unbound immediate PersistentVolumeClaims";
    }
    return `persistentvolumeclaim "${name}" waits for its first consumer, which this scheduler does not support yet`;
  }
  const exclusive = claim.spec?.accessModes?.includes("ReadWriteOncePod") === true;
  if (exclusive && lookup.claimInUse(namespace, name, pod.metadata?.uid ?? "")) {
    return "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode";
  }
  return undefined;
}

/** Refuses nodes that a bound PersistentVolume cannot be used from. */
export function volumesFilter(lookup: VolumeLookup): FilterPlugin {
  return {
    name: "VolumeBinding",
    filter(cycle) {
      const { pod, namespace } = cycle.info;
      for (const name of claimNames(pod)) {
        const volume = lookup.volume(lookup.claim(namespace, name)?.spec?.volumeName ?? "");
        const required = volume?.spec?.nodeAffinity?.required;
        if (required === undefined) continue;
        const { nodes } = cycle.cache;
        cycle.keep((slot) => (nodeSelectorMatches(required, nodes.node(slot)) ? -1 : conflict));
      }
    },
  };
}
