/** The PersistentVolumeClaims of a Pod, and the objects that decide about them. */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  Volume,
} from "#api/gen/types.ts";
import type { PodInfo } from "./pod-info.ts";

export interface VolumeLookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
  /** True when a placed Pod other than `uid` uses the claim. */
  claimInUse(namespace: string, name: string, uid: string): boolean;
}

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

/** What two Pods must have in common to be judged alike by their claims; "" without claims. */
export function signClaims(info: PodInfo): string {
  const names = claimNames(info.pod);
  return names.length === 0 ? "" : JSON.stringify([info.namespace, ...names]);
}
