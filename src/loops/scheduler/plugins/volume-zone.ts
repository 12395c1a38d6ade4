/**
 * VolumeZone: volumes with zone or region labels are usable on nodes of that zone and region.
 *
 * A node without any such label takes all volumes: a cluster of one zone may have none. Claims that wait for their
 * first consumer have no volume yet; as in upstream, generic ephemeral volumes are not checked.
 * After  k/k pkg/scheduler/framework/plugins/volumezone.
 */
import type { Node, PersistentVolume } from "#api/gen/types.ts";
import { ownEntry } from "#base/own.ts";
import type { VolumeLookup } from "../claims.ts";
import { claimNames, claimUses, signClaims } from "../claims.ts";
import type { Cycle } from "../cycle.ts";
import type { Plugin, PluginDeps } from "../plugin.ts";
import type { PodInfo } from "../pod-info.ts";
import { reasonId } from "../reasons.ts";

const name = "VolumeZone";
const zoneConflict = reasonId(name, "node(s) had no available volume zone", false);

const betaZone = "failure-domain.beta.kubernetes.io/zone";
const betaRegion = "failure-domain.beta.kubernetes.io/region";
/** By label: the current label that replaced it. */
const labels: readonly (readonly [label: string, current: string])[] = [
  [betaZone, "topology.kubernetes.io/zone"],
  [betaRegion, "topology.kubernetes.io/region"],
  ["topology.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  ["topology.kubernetes.io/region", "topology.kubernetes.io/region"],
];

interface Topology {
  readonly label: string;
  readonly current: string;
  readonly values: readonly string[];
}

export function volumeZone({ volumes }: PluginDeps): Plugin {
  return {
    name,
    preFilter: (info) => missingVolume(info, volumes),
    filter: (cycle) => keepZones(cycle, volumes),
    isIdle: ({ claims, disks }) => claims.length === 0 && disks.length === 0,
    sign: signClaims,
    hint(event, info) {
      if (event.kind === "node") return "queue-if-fits";
      if (event.kind !== "volumes") return "skip";
      const { claims } = event;
      if (claims === undefined) return "queue";
      const isOwn = claimNames(info.pod).some((claim) => claims.has(`${info.namespace}/${claim}`));
      return isOwn ? "queue" : "skip";
    },
  };
}

function volumeNames({ pod, namespace }: PodInfo, lookup: VolumeLookup): readonly string[] {
  if (pod.spec?.volumes === undefined) return [];
  return claimUses(pod).flatMap((use) => {
    if (use.isEphemeral) return [];
    const volume = lookup.claim(namespace, use.name)?.spec?.volumeName ?? "";
    return volume === "" ? [] : [volume];
  });
}

function missingVolume(info: PodInfo, lookup: VolumeLookup): string | undefined {
  const missing = volumeNames(info, lookup).find((volume) => lookup.volume(volume) === undefined);
  return missing === undefined ? undefined : `persistentvolume "${missing}" not found`;
}

function keepZones(cycle: Cycle, lookup: VolumeLookup): void {
  const topologies = volumeNames(cycle.info, lookup).flatMap((volume) =>
    topologiesOf(lookup.volume(volume)),
  );
  if (topologies.length === 0) return;
  const { nodes } = cycle.cache;
  cycle.keep((slot) => (isInZones(nodes.node(slot), topologies) ? -1 : zoneConflict));
}

function topologiesOf(volume: PersistentVolume | undefined): readonly Topology[] {
  const own = volume?.metadata?.labels ?? {};
  return labels.flatMap(([label, current]) => {
    const values = (ownEntry(own, label) ?? "").split("__").map((value) => value.trim());
    // A label that upstream cannot parse (absent, or with an empty zone) is not a topology.
    return values.includes("") ? [] : [{ label, current, values }];
  });
}

function isInZones(node: Node, topologies: readonly Topology[]): boolean {
  const own = node.metadata?.labels ?? {};
  if (!labels.some(([label]) => Object.hasOwn(own, label))) return true;
  return topologies.every(({ label, current, values }) => {
    const value = ownEntry(own, label) ?? ownEntry(own, current);
    return value !== undefined && values.includes(value);
  });
}
