/**
 * Claims that ask for more room than they have: handed over to the resizer outside, as all that is left in
 * upstream's controller.
 *
 * In    bound PersistentVolumeClaims and their volumes. Out: the event ExternalExpanding; of volumes of in-tree
 *       sources whose work a CSI driver does, the annotation that names the driver for its external-resizer.
 * Safe  a claim that its volume is not bound to is only looked at again: nothing is written.
 * After  k/k pkg/controller/volume/expand. Not here: in-tree plugins that resize by themselves; 1.36 has none
 *        that a node is not asked for (the admission plugin refuses what its class does not allow).
 */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import { annotationOf, requestedNanos, storageNanos } from "#api/volumes/binding.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { csiDriverOf } from "#api/volumes/csi-migration.ts";

export const expandRole: ControllerRole = {
  account: "expand-controller",
  rules: [
    "get,list,patch,update,watch | core | persistentvolumes",
    "patch,update | core | persistentvolumeclaims/status",
    "read | core | persistentvolumeclaims",
    "events",
  ],
};

const workers = 2;
const resizer = "volume.kubernetes.io/storage-resizer";
const preResizeCapacity = "volume.alpha.kubernetes.io/pre-resize-capacity";

export class ExpandController implements Controller {
  readonly name = "persistentvolume-expander-controller";
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    const { informers } = deps;
    this.#client = deps.client;
    this.#recorder = deps.recorder;
    this.#claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#volumes = informers.informer<PersistentVolume>(refs.persistentvolumes);
    const { name } = this;
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    const enqueue = (claim: PersistentVolumeClaim): void => {
      if (claim.status?.phase === "Bound") this.#loop.queue.add(keyOf(claim));
    };
    this.#claims.addHandler({
      add: enqueue,
      update: (old, claim) => {
        const hasGrown = storageNanos(claim.status?.capacity) > storageNanos(old.status?.capacity);
        if (hasGrown || requestedNanos(claim) > requestedNanos(old)) enqueue(claim);
      },
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const claim = this.#claims.getByKey(key);
    if (claim === undefined) return undefined;
    const volumeName = claim.spec?.volumeName ?? "";
    const volume = this.#volumes.get("", volumeName);
    if (volume === undefined) throw new Error(`persistentvolume "${volumeName}" not found`);
    const { namespace, uid } = volume.spec?.claimRef ?? {};
    if (namespace !== claim.metadata?.namespace || uid !== claim.metadata?.uid) {
      throw new Error(`persistent Volume is not bound to PVC being updated : ${key}`);
    }
    if (isExpanding(claim, volume)) await this.#handOver(claim, volume);
    return undefined;
  }

  async #handOver(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const plugin = inTreePlugin(volume);
    const driver = plugin === undefined ? undefined : csiDriverOf(plugin);
    if (plugin === undefined || driver === undefined) {
      const text = "waiting for an external controller to expand this PVC";
      this.#recorder.event(claim, "Normal", "ExternalExpanding", text);
      return;
    }
    const text = `CSI migration enabled for ${plugin}; waiting for external resizer to expand the pvc`;
    this.#recorder.event(claim, "Normal", "ExternalExpanding", text);
    if (annotationOf(claim, resizer) === driver) return;
    const { namespace = "", name = "", uid, resourceVersion } = claim.metadata ?? {};
    const metadata = { uid, resourceVersion, annotations: { [resizer]: driver } };
    const status = { subresource: "status" } as const;
    const ref = refs.persistentvolumeclaims;
    await this.#client.patch(ref, namespace, name, "strategic", { metadata }, status);
  }
}

function isExpanding(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  if (requestedNanos(claim) > storageNanos(claim.status?.capacity)) return true;
  return annotationOf(volume, preResizeCapacity) !== undefined;
}

/** By the field of the source. */
const inTreePlugins: readonly (readonly [keyof NonNullable<PersistentVolume["spec"]>, string])[] = [
  ["awsElasticBlockStore", "kubernetes.io/aws-ebs"],
  ["azureDisk", "kubernetes.io/azure-disk"],
  ["azureFile", "kubernetes.io/azure-file"],
  ["cinder", "kubernetes.io/cinder"],
  ["gcePersistentDisk", "kubernetes.io/gce-pd"],
  ["portworxVolume", "kubernetes.io/portworx-volume"],
  ["vsphereVolume", "kubernetes.io/vsphere-volume"],
];

function inTreePlugin({ spec }: PersistentVolume): string | undefined {
  return inTreePlugins.find(([source]) => spec?.[source] !== undefined)?.[1];
}
