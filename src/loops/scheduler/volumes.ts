/**
 * The scheduler's view of volumes, claims and storage classes: the server's state plus assumed objects. Also makes the
 * writes that turn a choice into a binding.
 *
 * Holds  an assumed object is used until the server shows one with a higher resourceVersion, or until it is restored. A
 *        volume is never given to two Pods.
 * Bounds one assumed entry per claim of Pods between decision and bind; one waiter per such Pod.
 * After  k/k pkg/scheduler/util/assumecache.
 */
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttachment,
} from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { VolumeIndex } from "#api/volumes/volume-index.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { keyOf, objectKey } from "#client/indexer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import type { Clock } from "#platform/clock.ts";
import type { VolumeLookup, VolumeWrites } from "./claims.ts";
import { claimNames } from "./claims.ts";
import type { ClusterEvent } from "./hints.ts";

const core = (resource: string): ResourceRef => ({ group: "", version: "v1", resource });
const storage = (resource: string): ResourceRef => ({
  group: "storage.k8s.io",
  version: "v1",
  resource,
});
const claimsRef = core("persistentvolumeclaims");
const volumesRef = core("persistentvolumes");
const claimIndex = "scheduler.claim";
const capacityIndex = "scheduler.capacity";
const attachmentIndex = "scheduler.attachment";

interface VolumesDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly informers: InformerSet;
  readonly pods: Informer<Pod>;
}

interface Waiter {
  readonly isDone: () => boolean;
  readonly end: (error?: unknown) => void;
}

export class Volumes implements VolumeLookup, VolumeWrites {
  readonly binding: VolumeWrites = this;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #drivers: Informer<CSIDriver>;
  readonly #capacities: Informer<CSIStorageCapacity>;
  readonly #csiNodes: Informer<CSINode>;
  readonly #attachments: Informer<VolumeAttachment>;
  readonly #index = new VolumeIndex();
  readonly #assumedVolumes = new Map<string, PersistentVolume>();
  readonly #assumedClaims = new Map<string, PersistentVolumeClaim>();
  readonly #waiters = new Set<Waiter>();

  constructor({ client, clock, informers, pods }: VolumesDeps) {
    this.#client = client;
    this.#clock = clock;
    this.#pods = pods;
    this.#claims = informers.informer<PersistentVolumeClaim>(claimsRef);
    this.#volumes = informers.informer<PersistentVolume>(volumesRef);
    this.#classes = informers.informer<StorageClass>(storage("storageclasses"));
    this.#drivers = informers.informer<CSIDriver>(storage("csidrivers"));
    this.#capacities = informers.informer<CSIStorageCapacity>(storage("csistoragecapacities"));
    this.#csiNodes = informers.informer<CSINode>(storage("csinodes"));
    this.#attachments = informers.informer<VolumeAttachment>(storage("volumeattachments"));
    this.#attachments.addIndex(attachmentIndex, ({ spec }) => [spec.nodeName]);
    this.#capacities.addIndex(capacityIndex, (one) => [one.storageClassName]);
    pods.addIndex(claimIndex, claimKeysOfPlaced);
  }

  get synced(): readonly Promise<void>[] {
    const { synced } = this.#claims;
    const others = [this.#volumes, this.#classes, this.#drivers, this.#capacities];
    const perNode = [this.#csiNodes, this.#attachments];
    return [synced, ...[...others, ...perNode].map((informer) => informer.synced)];
  }

  /** `happened` receives changes in batches. Call once. @returns the removers of its handlers. */
  subscribe(happened: (event: ClusterEvent) => void): readonly (() => void)[] {
    const volumeSet = (volume: PersistentVolume): void => this.#volumeShown(volume);
    const claimSet = (claim: PersistentVolumeClaim): void => this.#claimShown(claim);
    const changed = { batch: () => happened({ kind: "volumes" }) };
    return [
      this.#volumes.addHandler({
        add: volumeSet,
        update: (_old, volume) => volumeSet(volume),
        delete: (volume) => this.#volumeGone(volume),
        batch: () => {
          this.#askWaiters();
          happened({ kind: "volumes" });
        },
      }),
      this.#claims.addHandler({
        add: claimSet,
        update: (_old, claim) => claimSet(claim),
        delete: (claim) => void this.#assumedClaims.delete(keyOf(claim)),
        batch: (changes) => {
          this.#askWaiters();
          const claims = new Set(changes.map(({ object }) => keyOf(object)));
          happened({ kind: "volumes", claims });
        },
      }),
      this.#classes.addHandler(changed),
      this.#drivers.addHandler(changed),
      this.#capacities.addHandler(changed),
      this.#csiNodes.addHandler(changed),
      // A created or attached VolumeAttachment only takes room, so only deletions can help.
      this.#attachments.addHandler({ delete: () => happened({ kind: "volumes" }) }),
    ];
  }

  claim(namespace: string, name: string): PersistentVolumeClaim | undefined {
    const key = objectKey(namespace, name);
    return this.#assumedClaims.get(key) ?? this.#claims.getByKey(key);
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#assumedVolumes.get(name) ?? this.#volumes.get("", name);
  }

  storageClass(name: string): StorageClass | undefined {
    return this.#classes.get("", name);
  }

  csiDriver(name: string): CSIDriver | undefined {
    return this.#drivers.get("", name);
  }

  csiNode(name: string): CSINode | undefined {
    return this.#csiNodes.get("", name);
  }

  attachmentsTo(nodeName: string): readonly VolumeAttachment[] {
    return this.#attachments.byIndex(attachmentIndex, nodeName);
  }

  storageCapacities(className: string): readonly CSIStorageCapacity[] {
    return this.#capacities.byIndex(capacityIndex, className);
  }

  bestVolume(
    claim: PersistentVolumeClaim,
    node: Node,
    taken: ReadonlySet<string>,
  ): PersistentVolume | undefined {
    return this.#index.bestOn(claim, node, taken);
  }

  claimInUse(namespace: string, name: string, uid: string): boolean {
    const users = this.#pods.byIndex(claimIndex, `${namespace}/${name}`);
    return users.some((pod) => pod.metadata?.uid !== uid);
  }

  assumeVolume(volume: PersistentVolume): void {
    this.#assumedVolumes.set(volume.metadata?.name ?? "", volume);
    this.#index.set(volume);
  }

  assumeClaim(claim: PersistentVolumeClaim): void {
    this.#assumedClaims.set(keyOf(claim), claim);
  }

  restoreVolume(name: string): void {
    this.#assumedVolumes.delete(name);
    const shown = this.#volumes.get("", name);
    if (shown === undefined) this.#index.delete(name);
    else this.#index.set(shown);
  }

  restoreClaim(namespace: string, name: string): void {
    this.#assumedClaims.delete(objectKey(namespace, name));
  }

  updateVolume(volume: PersistentVolume): Promise<PersistentVolume> {
    return this.#client.update(volumesRef, "", volume);
  }

  updateClaim(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    return this.#client.update(claimsRef, claim.metadata?.namespace ?? "", claim);
  }

  shownVolume(name: string): PersistentVolume | undefined {
    return this.#volumes.get("", name);
  }

  shownClaim(namespace: string, name: string): PersistentVolumeClaim | undefined {
    return this.#claims.get(namespace, name);
  }

  until(isDone: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (error?: unknown): void => {
        this.#waiters.delete(waiter);
        timer.cancel();
        signal.removeEventListener("abort", abort);
        if (error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error("waiting failed", { cause: error }));
      };
      const waiter: Waiter = { isDone, end };
      const abort = (): void => end(new Error("context canceled"));
      const timer = this.#clock.after("scheduler.backoff", timeoutMs, () =>
        end(new Error("context deadline exceeded")),
      );
      this.#waiters.add(waiter);
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
      askWaiter(waiter);
    });
  }

  #volumeShown(volume: PersistentVolume): void {
    const name = volume.metadata?.name ?? "";
    const assumed = this.#assumedVolumes.get(name);
    if (assumed !== undefined && !isNewer(volume, assumed)) return;
    this.#assumedVolumes.delete(name);
    this.#index.set(volume);
  }

  #volumeGone(volume: PersistentVolume): void {
    const name = volume.metadata?.name ?? "";
    this.#assumedVolumes.delete(name);
    this.#index.delete(name);
  }

  #claimShown(claim: PersistentVolumeClaim): void {
    const key = keyOf(claim);
    const assumed = this.#assumedClaims.get(key);
    if (assumed !== undefined && isNewer(claim, assumed)) this.#assumedClaims.delete(key);
  }

  #askWaiters(): void {
    for (const waiter of this.#waiters) askWaiter(waiter);
  }
}

function askWaiter({ isDone, end }: Waiter): void {
  try {
    if (isDone()) end();
  } catch (error) {
    end(error);
  }
}

/** resourceVersions of one resource are comparable integers (KEP-5504), of at most 2^53. */
function isNewer(a: KubeObject, b: KubeObject): boolean {
  return Number(a.metadata?.resourceVersion ?? 0) > Number(b.metadata?.resourceVersion ?? 0);
}

function claimKeysOfPlaced(pod: Pod): readonly string[] {
  const { phase } = pod.status ?? {};
  const isFinished = phase === "Succeeded" || phase === "Failed";
  if ((pod.spec?.nodeName ?? "") === "" || isFinished) return [];
  return claimNames(pod).map((name) => `${pod.metadata?.namespace ?? ""}/${name}`);
}
