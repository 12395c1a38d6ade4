/** The PersistentVolumeClaims of a Pod, and the lookup of the objects that scheduling by volumes depends on. */
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  Volume,
  VolumeAttachment,
} from "#api/gen/types.ts";

/** Volume objects as the scheduler sees them, with its assumptions applied: see volumes.ts. */
export interface VolumeLookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
  csiDriver(name: string): CSIDriver | undefined;
  /** Returns the CSINode of the node of that name: the facts that CSI drivers report about the node. */
  csiNode(name: string): CSINode | undefined;
  attachmentsTo(nodeName: string): readonly VolumeAttachment[];
  storageCapacities(className: string): readonly CSIStorageCapacity[];
  /** Returns the volume that the claim would get on the node, without the volumes in `taken`. */
  bestVolume(
    claim: PersistentVolumeClaim,
    node: Node,
    taken: ReadonlySet<string>,
  ): PersistentVolume | undefined;
  /** Whether a placed Pod other than `uid` uses the claim. */
  claimInUse(namespace: string, name: string, uid: string): boolean;
  readonly binding: VolumeWrites;
}

/** Writes that bind a chosen volume to a claim. */
export interface VolumeWrites {
  /** Uses this version from now on, until the server shows a newer version or `restoreVolume` is called. */
  assumeVolume(volume: PersistentVolume): void;
  assumeClaim(claim: PersistentVolumeClaim): void;
  /** Drops the assumption about the object. */
  restoreVolume(name: string): void;
  restoreClaim(namespace: string, name: string): void;
  updateVolume(volume: PersistentVolume): Promise<PersistentVolume>;
  updateClaim(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim>;
  /** Returns the object as the server shows it, without assumptions. */
  shownVolume(name: string): PersistentVolume | undefined;
  shownClaim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  csiNode(name: string): CSINode | undefined;
  /**
   * Resolves when `isDone` returns true; it is called after each change of volumes or claims. Rejects when `isDone`
   * throws, and after `timeoutMs`.
   */
  until(isDone: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

export interface ClaimUse {
  readonly name: string;
  /** Whether the claim was made for this Pod and belongs to it. */
  readonly isEphemeral: boolean;
}

/** Returns the claims of a Pod's volumes. A generic ephemeral volume's claim is named after Pod and volume. */
export function claimUses(pod: Pod): ClaimUse[] {
  const uses: ClaimUse[] = [];
  for (const volume of pod.spec?.volumes ?? []) {
    const name = claimName(pod, volume);
    if (name !== undefined) uses.push({ name, isEphemeral: volume.ephemeral !== undefined });
  }
  return uses;
}

export function claimNames(pod: Pod): string[] {
  return claimUses(pod).map(({ name }) => name);
}

function claimName(pod: Pod, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  if (volume.ephemeral === undefined) return undefined;
  return `${pod.metadata?.name ?? ""}-${volume.name}`;
}

/** Returns a signature of the claims: Pods with equal signatures get equal verdicts. "" without claims. */
export function signClaims({ namespace, claims }: ClaimUser): string {
  return claims.length === 0 ? "" : JSON.stringify([namespace, ...claims]);
}

/** The fields of a Pod that a signature of its claims needs. */
interface ClaimUser {
  readonly namespace: string;
  readonly claims: readonly string[];
}
