/**
 * In-tree volumes as the scheduler sees them: as those of their CSI driver, for the plugins that upstream's
 * scheduler translates. Of Azure files and vSphere it does not.
 */
import type { CSINode, Node, PersistentVolume } from "#api/gen/types.ts";
import { asCsi, csiDriverOf, inTreePluginOf } from "#api/volumes/csi-migration.ts";

const translatedPlugins = new Set([
  "kubernetes.io/aws-ebs",
  "kubernetes.io/azure-disk",
  "kubernetes.io/cinder",
  "kubernetes.io/gce-pd",
  "kubernetes.io/portworx-volume",
]);

/** Written by a node's kubelet: plugins whose volumes a driver mounts there, comma separated. */
const migratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

export function schedulable(volume: PersistentVolume): PersistentVolume {
  return translatedPlugins.has(inTreePluginOf(volume) ?? "") ? asCsi(volume) : volume;
}

/** Of a provisioner; its own name when no driver does its work. */
export function schedulableDriver(provisioner: string): string {
  return translatedPlugins.has(provisioner)
    ? (csiDriverOf(provisioner) ?? provisioner)
    : provisioner;
}

/** Topology keys of the driver stand on nodes that have it; on others the volume is looked at as it is. */
export function asOnNode(
  volume: PersistentVolume,
  node: Node,
  lookup: { csiNode(name: string): CSINode | undefined },
): PersistentVolume {
  const plugin = inTreePluginOf(volume);
  if (plugin === undefined) return volume;
  const { annotations } = lookup.csiNode(node.metadata?.name ?? "")?.metadata ?? {};
  const isMigrated = (annotations?.[migratedPlugins] ?? "").split(",").includes(plugin);
  return isMigrated ? schedulable(volume) : volume;
}
