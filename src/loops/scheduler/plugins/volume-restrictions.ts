/** VolumeRestrictions: a ReadWriteOncePod claim is used by one Pod at a time. */
import { claimNames, signClaims } from "../claims.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import type { PodInfo } from "../pod-info.ts";

const inUse =
  "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode";

export function volumeRestrictions({ volumes }: PluginDeps): Plugin {
  const isInUse = ({ namespace, uid }: PodInfo, name: string): boolean => {
    const modes = volumes.claim(namespace, name)?.spec?.accessModes;
    if (modes?.includes("ReadWriteOncePod") !== true) return false;
    return volumes.claimInUse(namespace, name, uid);
  };
  const refusal = (info: PodInfo): string | undefined =>
    claimNames(info.pod).some((name) => isInUse(info, name)) ? inUse : undefined;
  return {
    name: "VolumeRestrictions",
    preFilter: refusal,
    sign: signClaims,
    hint(event, info) {
      if (event.kind !== "pod-gone" && event.kind !== "volumes") return "skip";
      return refusal(info) === undefined ? "queue" : "skip";
    },
  };
}
