/**
 * EndpointSlice mirroring: hand-made Endpoints of Services without a selector appear as slices too, so
 * that clients which read only slices (such as kube-proxy) find them.
 *
 * Safe  only slices with our own managed-by label are written or deleted; Endpoints with the skip-mirror
 *       label, and locks of old leader elections, are ignored.
 */
import type { Endpoints, EndpointSlice, Service } from "#api/gen/types.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import { isNamespaceGoing } from "../framework/api-errors.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { unsatisfied } from "../framework/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { serviceIndex, serviceKeys } from "./labels.ts";
import {
  createSlice,
  isMirror,
  isMirrored,
  marksOf,
  mirroredMax,
  mirrorOf,
  planMirror,
  updateSlice,
  type MirroredSlice,
} from "./mirror.ts";
import { SliceControl } from "./slice-control.ts";

export const endpointSliceMirroringRole: ControllerRole = {
  account: "endpointslicemirroring-controller",
  rules: [
    "read | core | endpoints,services",
    "update | core | services/finalizers",
    "update | core | endpoints/finalizers",
    "create,delete,get,list,update,watch | discovery.k8s.io | endpointslices",
    "events",
  ],
};

const workers = 5;

export class EndpointSliceMirroringController implements Controller {
  readonly name = "endpointslicemirroring-controller";
  readonly #recorder: EventRecorder;
  readonly #services: Informer<Service>;
  readonly #endpoints: Informer<Endpoints>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #control: SliceControl;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    const { name } = this;
    this.#recorder = deps.recorder;
    this.#services = deps.informers.informer<Service>(refs.services);
    this.#endpoints = deps.informers.informer<Endpoints>(refs.endpoints);
    this.#slices = deps.informers.informer<EndpointSlice>(refs.endpointslices);
    this.#slices.addIndex(serviceIndex, serviceKeys);
    this.#control = new SliceControl(deps, this.#slices);
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#addHandlers();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  /** Service and Endpoints have the same key; slices name it in a label. */
  #addHandlers(): void {
    const { queue } = this.#loop;
    const add = (object: Service | Endpoints): void => queue.add(keyOf(object));
    const addKey = (slice: EndpointSlice): void => {
      if (isMirror(slice)) for (const key of serviceKeys(slice)) queue.add(key);
    };
    this.#services.addHandler({ add, update: (_old, service) => add(service), delete: add });
    this.#endpoints.addHandler({ add, update: (_old, object) => add(object), delete: add });
    this.#slices.addHandler({
      add: addKey,
      update: (_old, slice) => addKey(slice),
      delete: addKey,
    });
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    if (!this.#control.isSatisfied(key)) return unsatisfied;
    const object = this.#endpoints.getByKey(key);
    const existing = this.#slices.byIndex(serviceIndex, key).filter(isMirror);
    if (object === undefined || !isMirrored(object, this.#services.getByKey(key)))
      return this.#removeAll(key, existing);
    const { slices, skipped } = mirrorOf(object);
    if (skipped > 0) this.#reportSkipped(object, skipped);
    await this.#write(key, object, slices, existing);
  }

  #reportSkipped(object: Endpoints, skipped: number): void {
    const text = `A max of ${mirroredMax} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`;
    this.#recorder.event(object, "Warning", "TooManyAddressesToMirror", text);
  }

  async #write(
    key: string,
    object: Endpoints,
    wanted: readonly MirroredSlice[],
    existing: readonly EndpointSlice[],
  ): Promise<void> {
    const marks = marksOf(object);
    const { create, update, remove } = planMirror(wanted, existing, marks);
    try {
      for (const content of create)
        await this.#control.create(key, createSlice(object, content, marks));
      for (const { slice, content } of update)
        await this.#control.update(key, updateSlice(slice, content, marks));
      await this.#removeAll(key, remove);
    } catch (error) {
      if (!isNamespaceGoing(error)) throw error;
    }
  }

  async #removeAll(key: string, slices: readonly EndpointSlice[]): Promise<void> {
    for (const slice of slices) await this.#control.remove(key, slice);
  }
}
