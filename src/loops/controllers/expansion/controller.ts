/**
 * Hands claims that request more capacity than they have over to the external resizer. Upstream's controller does
 * nothing else any more.
 *
 * In    bound PersistentVolumeClaims and their volumes. Out: the event ExternalExpanding; for volumes of in-tree
 *       sources that a CSI driver has replaced, the annotation that names the driver for its external-resizer.
 * Safe  if the volume is not bound to the claim, the claim is checked again later, and nothing is written.
 * After  k/k pkg/controller/volume/expand. Not here: in-tree plugins that resize by themselves; 1.36 has none
 *        that a node is not asked for (the admission plugin refuses what its class does not allow).
 */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/gen/types.ts";
import { annotationOf, requestedNanos, storageNanos } from "#api/volumes/binding.ts";
import { csiDriverOf } from "#api/volumes/csi-migration.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";

export const expandRole: ControllerRole = {
  account: "expand-controller",
  rules: [
    "get,list,patch,update,watch | core | persistentvolumes",
    "patch,update | core | persistentvolumeclaims/status",
    "read | core | persistentvolumeclaims",
    "events",
  ],
};

const resizer = "volume.kubernetes.io/storage-resizer";
const preResizeCapacity = "volume.alpha.kubernetes.io/pre-resize-capacity";

export class ExpandController implements ControllerOptions<PersistentVolumeClaim> {
  readonly name = "persistentvolume-expander-controller";
  readonly workers = 2;
  readonly ref = refs.persistentvolumeclaims;
  readonly when = { on: ["add", "update"], only: isBound, changed: asksForMore } as const;
  readonly #deps: ControllerDeps;
  readonly #volumes: Informer<PersistentVolume>;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#volumes = deps.informers.informer<PersistentVolume>(refs.persistentvolumes);
  }

  async reconcile({
    key,
    object: claim,
  }: ReconcileRequest<PersistentVolumeClaim>): Promise<ReconcileResult> {
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
      this.#deps.recorder.event(claim, "Normal", "ExternalExpanding", text);
      return;
    }
    const text = `CSI migration enabled for ${plugin}; waiting for external resizer to expand the pvc`;
    this.#deps.recorder.event(claim, "Normal", "ExternalExpanding", text);
    if (annotationOf(claim, resizer) === driver) return;
    const { namespace = "", name = "", uid, resourceVersion } = claim.metadata ?? {};
    const metadata = { uid, resourceVersion, annotations: { [resizer]: driver } };
    const status = { subresource: "status" } as const;
    const ref = refs.persistentvolumeclaims;
    await this.#deps.client.patch(ref, namespace, name, "strategic", { metadata }, status);
  }
}

function isBound({ status }: PersistentVolumeClaim): boolean {
  return status?.phase === "Bound";
}

function asksForMore(old: PersistentVolumeClaim, claim: PersistentVolumeClaim): boolean {
  const hasGrown = storageNanos(claim.status?.capacity) > storageNanos(old.status?.capacity);
  return hasGrown || requestedNanos(claim) > requestedNanos(old);
}

function isExpanding(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  if (requestedNanos(claim) > storageNanos(claim.status?.capacity)) return true;
  return annotationOf(volume, preResizeCapacity) !== undefined;
}

/** By field name of the source. */
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
