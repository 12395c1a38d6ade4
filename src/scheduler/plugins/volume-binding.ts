/**
 * Volumes of a Pod, as far as scheduling decides by them: claims that must exist and be bound, and
 * the node affinity of the PersistentVolumes behind them.
 *
 * Not done yet, and said so in the Pod's condition instead of placing it wrongly: binding of
 * WaitForFirstConsumer claims.
 */
import type { PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import { nodeSelectorMatches } from "#api/selectors/node-match.ts";
import type { VolumeLookup } from "../claims.ts";
import { claimNames, signClaims } from "../claims.ts";
import type { Cycle } from "../cycle.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import { reasonId } from "../reasons.ts";

const name = "VolumeBinding";
const conflict = reasonId(name, "node(s) didn't match PersistentVolume's node affinity", false);

export function volumeBinding({ volumes }: PluginDeps): Plugin {
  return {
    name,
    preFilter: ({ pod }) => (pod.spec?.volumes === undefined ? undefined : refusalOf(pod, volumes)),
    filter: (cycle) => keepReachable(cycle, volumes),
    sign: signClaims,
    hint({ kind }) {
      if (kind === "volumes") return "queue";
      return kind === "node" ? "queue-if-fits" : "skip";
    },
  };
}

/** What keeps the Pod from any node, in upstream's words; undefined when nothing does. */
function refusalOf(pod: Pod, lookup: VolumeLookup): string | undefined {
  const namespace = pod.metadata?.namespace ?? "";
  for (const wanted of claimNames(pod)) {
    const claim = lookup.claim(namespace, wanted);
    if (claim === undefined) return `persistentvolumeclaim "${wanted}" not found`;
    if (claim.metadata?.deletionTimestamp !== undefined) {
      return `persistentvolumeclaim "${wanted}" is being deleted`;
    }
    const refusal = claimRefusal(claim, lookup);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function claimRefusal(claim: PersistentVolumeClaim, lookup: VolumeLookup): string | undefined {
  const { name: claimName = "" } = claim.metadata ?? {};
  if (claim.status?.phase === "Lost")
    return `persistentvolumeclaim "${claimName}" bound to non-existent persistentvolume "${claim.spec?.volumeName ?? ""}"`;
  if ((claim.spec?.volumeName ?? "") === "" || claim.status?.phase !== "Bound") {
    const storageClass = lookup.storageClass(claim.spec?.storageClassName ?? "");
    if (storageClass?.volumeBindingMode !== "WaitForFirstConsumer") {
      return "pod has unbound immediate PersistentVolumeClaims";
    }
    return `persistentvolumeclaim "${claimName}" waits for its first consumer, which this scheduler does not support yet`;
  }
  return undefined;
}

/** Refuses nodes that a bound PersistentVolume cannot be used from. */
function keepReachable(cycle: Cycle, lookup: VolumeLookup): void {
  const { pod, namespace } = cycle.info;
  const { nodes } = cycle.cache;
  for (const claim of claimNames(pod)) {
    const volume = lookup.volume(lookup.claim(namespace, claim)?.spec?.volumeName ?? "");
    const required = volume?.spec?.nodeAffinity?.required;
    if (required === undefined) continue;
    cycle.keep((slot) => (nodeSelectorMatches(required, nodes.node(slot)) ? -1 : conflict));
  }
}
