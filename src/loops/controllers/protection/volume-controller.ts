/** Protection of volumes in use: a deleted volume keeps its finalizer while it is bound. */
import type { PersistentVolume } from "#api/gen/types.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { FinalizerControl, needsWork } from "./finalizer-control.ts";

export const volumeProtectionRole: ControllerRole = {
  account: "pv-protection-controller",
  rules: ["get,list,update,watch | core | persistentvolumes", "events"],
};

const finalizer = "kubernetes.io/pv-protection";

export class VolumeProtectionController implements ControllerOptions<PersistentVolume> {
  readonly name = "pv-protection-controller";
  readonly workers = 5;
  readonly ref = refs.persistentvolumes;
  readonly when = { on: ["add", "update"], only: isOpen } as const;
  readonly #finalizers: FinalizerControl;

  constructor(deps: ControllerDeps) {
    this.#finalizers = new FinalizerControl(deps, refs.persistentvolumes, finalizer);
  }

  async reconcile({ object: volume }: ReconcileRequest<PersistentVolume>): Promise<void> {
    if (volume === undefined || !isOpen(volume)) return;
    if (volume.metadata?.deletionTimestamp === undefined) return this.#finalizers.add(volume);
    if (volume.status?.phase !== "Bound") await this.#finalizers.remove(volume);
  }
}

function isOpen(volume: PersistentVolume): boolean {
  return needsWork(volume, finalizer);
}
