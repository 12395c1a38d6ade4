/**
 * EndpointSlice mirroring: copies manually created Endpoints of Services without a selector to slices, for clients that
 * read only slices (such as kube-proxy).
 *
 * Safe  only slices with our own managed-by label are written or deleted; Endpoints with the skip-mirror
 *       label, and locks of old leader elections, are ignored.
 */
import type { Endpoints, EndpointSlice, Service } from "#api/gen/types.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { isNamespaceGoing } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { unsatisfied } from "#client/expectations.ts";
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

export class EndpointSliceMirroringController implements ControllerOptions<Endpoints> {
  readonly name = "endpointslicemirroring-controller";
  readonly workers = 5;
  readonly ref = refs.endpoints;
  /** Service and Endpoints have the same key; slices name it in a label. */
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #control: SliceControl;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#services = deps.informers.informer<Service>(refs.services);
    this.#slices = deps.informers.informer<EndpointSlice>(refs.endpointslices);
    this.#slices.addIndex(serviceIndex, serviceKeys);
    this.#control = new SliceControl(deps, this.#slices);
    this.sources = [
      watch(this.#services, keyOf),
      watch(this.#slices, serviceKeys, { only: isMirror }),
    ];
  }

  async reconcile({ key, object }: ReconcileRequest<Endpoints>): Promise<ReconcileResult> {
    if (!this.#control.isSatisfied(key)) return unsatisfied;
    const existing = this.#slices.byIndex(serviceIndex, key).filter(isMirror);
    if (object === undefined || !isMirrored(object, this.#services.getByKey(key)))
      return this.#removeAll(key, existing);
    const { slices, skipped } = mirrorOf(object);
    if (skipped > 0) this.#reportSkipped(object, skipped);
    await this.#write(key, object, slices, existing);
  }

  #reportSkipped(object: Endpoints, skipped: number): void {
    const text = `A max of ${mirroredMax} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`;
    this.#deps.recorder.event(object, "Warning", "TooManyAddressesToMirror", text);
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
