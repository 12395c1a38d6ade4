/**
 * Decides for one node, pure: volumes to attach, volumes to detach, and the content of volumesAttached.
 *
 * Holds  a volume is detached only when no pod of the node wants it, and the node no longer uses it, is out of service,
 *        or has been unhealthy for `forceDetachMs`. A volume that only one node may use at a time is not attached while
 *        another node has it.
 * After  k/k pkg/controller/volume/attachdetach/reconciler/reconciler.go.
 */
import type { Node, PersistentVolume, Pod, VolumeAttachment } from "#api/gen/types.ts";
import { sha256Hex } from "#base/sha256.ts";

/** Upstream's maxWaitForUnmountDuration. */
export const forceDetachMs = 360_000;

const managedAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach";
const keepTerminatedAnnotation = "volumes.kubernetes.io/keep-terminated-pod-volumes";
const outOfService = "node.kubernetes.io/out-of-service";

export interface WantedVolume {
  readonly volume: PersistentVolume;
  readonly driver: string;
  readonly handle: string;
  readonly pods: readonly Pod[];
}

export interface NodeView {
  readonly nodeName: string;
  /** Undefined: the node does not exist. */
  readonly node: Node | undefined;
  readonly wanted: readonly WantedVolume[];
  /** Attachments to this node that were made by an attach-detach controller. */
  readonly attachments: readonly VolumeAttachment[];
  /** Other nodes to which the volume is attached. */
  nodesOf(volumeName: string): readonly string[];
  /** The volume in the form of its CSI driver. */
  volume(name: string): PersistentVolume | undefined;
  /** Since when no pod has wanted the attachment; undefined: not yet. */
  unwantedSinceMs(attachmentName: string): number | undefined;
  readonly nowMs: number;
}

export interface NodePlan {
  readonly attach: readonly WantedVolume[];
  /** Wanted volumes that are attached to another node. */
  readonly blocked: readonly WantedVolume[];
  readonly detach: readonly VolumeAttachment[];
  /** Unwanted attachments that are still in use. */
  readonly waiting: readonly VolumeAttachment[];
  /** Unique names for status.volumesAttached, sorted. */
  readonly attached: readonly string[];
}

export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${sha256Hex(`${handle}${driver}${nodeName}`)}`;
}

/** The name that the kubelet uses in volumesInUse. */
function uniqueName(driver: string, handle: string): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

function isManaged(node: Node | undefined): boolean {
  return node?.metadata?.annotations?.[managedAnnotation] === "true";
}

/** Whether the pod still needs its volumes attached. */
export function needsVolumes(pod: Pod, node: Node | undefined): boolean {
  const { phase } = pod.status ?? {};
  const isFinished = phase === "Succeeded" || phase === "Failed";
  return !isFinished || node?.metadata?.annotations?.[keepTerminatedAnnotation] === "true";
}

export function planNode(view: NodeView): NodePlan {
  const { nodeName, attachments } = view;
  const wantedNames = new Map(
    view.wanted.map((one) => [attachmentName(one.handle, one.driver, nodeName), one]),
  );
  const known = new Set(attachments.map(({ metadata }) => metadata?.name ?? ""));
  const missing = isManaged(view.node)
    ? [...wantedNames].filter(([name]) => !known.has(name)).map(([, one]) => one)
    : [];
  const isBlocked = ({ volume }: WantedVolume): boolean =>
    !allowsManyNodes(volume) && view.nodesOf(volume.metadata?.name ?? "").length > 0;
  const going = attachments.filter(({ metadata }) => metadata?.deletionTimestamp !== undefined);
  const live = attachments.filter((one) => !going.includes(one));
  const unwanted = live.filter(({ metadata }) => !wantedNames.has(metadata?.name ?? ""));
  const waiting = unwanted.filter((one) => !mayDetach(view, one));
  const detach = unwanted.filter((one) => !waiting.includes(one));
  const kept = live.filter((one) => one.status?.attached === true && !detach.includes(one));
  return {
    attach: missing.filter((one) => !isBlocked(one)),
    blocked: missing.filter(isBlocked),
    detach,
    waiting,
    attached: kept.flatMap((one) => nameOf(view, one) ?? []).sort(),
  };
}

function nameOf(view: NodeView, { spec }: VolumeAttachment): string | undefined {
  const csi = view.volume(spec.source.persistentVolumeName ?? "")?.spec?.csi;
  return csi === undefined ? undefined : uniqueName(csi.driver, csi.volumeHandle);
}

function mayDetach(view: NodeView, attachment: VolumeAttachment): boolean {
  const { node } = view;
  if (node?.spec?.taints?.some(({ key }) => key === outOfService) === true) return true;
  const name = nameOf(view, attachment);
  // It is unknown what a deleted node still uses.
  const isInUse =
    node === undefined || name === undefined || (node.status?.volumesInUse ?? []).includes(name);
  if (!isInUse) return true;
  const sinceMs = view.unwantedSinceMs(attachment.metadata?.name ?? "") ?? view.nowMs;
  return !isReady(node) && view.nowMs - sinceMs > forceDetachMs;
}

function isReady(node: Node | undefined): boolean {
  const conditions = node?.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function allowsManyNodes({ spec }: PersistentVolume): boolean {
  const modes = spec?.accessModes ?? [];
  return modes.length === 0 || modes.includes("ReadWriteMany") || modes.includes("ReadOnlyMany");
}
