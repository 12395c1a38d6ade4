/** Protection of volumes in use: the finalizer of a deleted volume stays while it is bound. */
import type { PersistentVolume } from "#api/gen/types.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { FinalizerControl, needsWork } from "./finalizer-control.ts";

export const volumeProtectionRole: ControllerRole = {
  account: "pv-protection-controller",
  rules: ["get,list,update,watch | core | persistentvolumes", "events"],
};

const workers = 5;
const finalizer = "kubernetes.io/pv-protection";

export class VolumeProtectionController implements Controller {
  readonly name = "pv-protection-controller";
  readonly #volumes: Informer<PersistentVolume>;
  readonly #finalizers: FinalizerControl;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    this.#volumes = deps.informers.informer<PersistentVolume>(refs.persistentvolumes);
    this.#finalizers = new FinalizerControl(deps, refs.persistentvolumes, finalizer);
    const { name } = this;
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    const enqueue = (volume: PersistentVolume): void => {
      if (needsWork(volume, finalizer)) this.#loop.queue.add(keyOf(volume));
    };
    this.#volumes.addHandler({ add: enqueue, update: (_old, volume) => enqueue(volume) });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #reconcile(key: string): Promise<void> {
    const volume = this.#volumes.getByKey(key);
    if (volume === undefined || !needsWork(volume, finalizer)) return;
    if (volume.metadata?.deletionTimestamp === undefined) return this.#finalizers.add(volume);
    if (volume.status?.phase !== "Bound") await this.#finalizers.remove(volume);
  }
}
