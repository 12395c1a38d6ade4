/** The PersistentVolumeClaims of a Pod, and the objects that decide about them. */
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

/** What is known of volumes, with what is assumed of them: see volumes.ts. */
export interface VolumeLookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
  csiDriver(name: string): CSIDriver | undefined;
  /** What drivers say of the node of that name. */
  csiNode(name: string): CSINode | undefined;
  attachmentsTo(nodeName: string): readonly VolumeAttachment[];
  storageCapacities(className: string): readonly CSIStorageCapacity[];
  /** The volume that the claim would get on the node, without those `taken`. */
  bestVolume(
    claim: PersistentVolumeClaim,
    node: Node,
    taken: ReadonlySet<string>,
  ): PersistentVolume | undefined;
  /** True when a placed Pod other than `uid` uses the claim. */
  claimInUse(namespace: string, name: string, uid: string): boolean;
  readonly binding: VolumeWrites;
}

/** How a chosen volume becomes the claim's. */
export interface VolumeWrites {
  /** Counts from now on, until the server shows a newer version or `restore`. */
  assumeVolume(volume: PersistentVolume): void;
  assumeClaim(claim: PersistentVolumeClaim): void;
  /** Forgets what is assumed of the objects. */
  restoreVolume(name: string): void;
  restoreClaim(namespace: string, name: string): void;
  updateVolume(volume: PersistentVolume): Promise<PersistentVolume>;
  updateClaim(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim>;
  /** What the server shows, without what is assumed. */
  shownVolume(name: string): PersistentVolume | undefined;
  shownClaim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  csiNode(name: string): CSINode | undefined;
  /**
   * Resolves when `isDone`, asked after each change of volumes or claims, is true; rejects as it throws, and
   * after `timeoutMs`.
   */
  until(isDone: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

export interface ClaimUse {
  readonly name: string;
  /** The claim is made for this Pod and is its own. */
  readonly isEphemeral: boolean;
}

/** The claims a Pod's volumes name; a generic ephemeral volume's is called after Pod and volume. */
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

/** What two Pods must have in common to be judged alike by their claims; "" without claims. */
export function signClaims({ namespace, claims }: ClaimUser): string {
  return claims.length === 0 ? "" : JSON.stringify([namespace, ...claims]);
}

/** Of a Pod as the scheduler reads it. */
interface ClaimUser {
  readonly namespace: string;
  readonly claims: readonly string[];
}
