/**
 * Shows in-tree volumes as volumes of their CSI driver, for the plugins that upstream's scheduler translates. Volumes
 * of Azure files and vSphere are not translated.
 */
import type { CSINode, Node, PersistentVolume, Pod } from "#api/gen/types.ts";
import {
  asCsi,
  csiDriverOf,
  inlineDisk,
  type InlineDisk,
  inTreePluginOf,
} from "#api/volumes/csi-migration.ts";

const translatedPlugins = new Set([
  "kubernetes.io/aws-ebs",
  "kubernetes.io/azure-disk",
  "kubernetes.io/cinder",
  "kubernetes.io/gce-pd",
  "kubernetes.io/portworx-volume",
]);

/** Annotation by the node's kubelet: plugins whose volumes a CSI driver mounts on the node, comma separated. */
const migratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

export function schedulable(volume: PersistentVolume): PersistentVolume {
  return translatedPlugins.has(inTreePluginOf(volume) ?? "") ? asCsi(volume) : volume;
}

const noDisks: readonly InlineDisk[] = [];

/** Returns the disks that the Pod's volumes name directly, without a claim. */
export function disksOf({ spec }: Pod): readonly InlineDisk[] {
  const disks = (spec?.volumes ?? []).flatMap((volume) => inlineDisk(volume) ?? []);
  const found = disks.filter(({ plugin }) => translatedPlugins.has(plugin));
  return found.length === 0 ? noDisks : found;
}

/** Returns the CSI driver of a provisioner; the provisioner's own name when no driver replaces it. */
export function schedulableDriver(provisioner: string): string {
  return translatedPlugins.has(provisioner)
    ? (csiDriverOf(provisioner) ?? provisioner)
    : provisioner;
}

/**
 * Returns the volume in CSI form on a node where the driver replaces its plugin; on other nodes, unchanged. Only the
 * former nodes have the driver's topology keys.
 */
export function asOnNode(
  volume: PersistentVolume,
  node: Node,
  lookup: { csiNode(name: string): CSINode | undefined },
): PersistentVolume {
  const plugin = inTreePluginOf(volume);
  if (plugin === undefined) return volume;
  const isMigrated = isMigratedOn(lookup.csiNode(node.metadata?.name ?? ""), plugin);
  return isMigrated ? schedulable(volume) : volume;
}

/** Whether a CSI driver replaces the in-tree plugin on that node. */
export function isMigratedOn(node: CSINode | undefined, plugin: string): boolean {
  const { annotations } = node?.metadata ?? {};
  return (annotations?.[migratedPlugins] ?? "").split(",").includes(plugin);
}
