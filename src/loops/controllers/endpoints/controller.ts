/**
 * EndpointSlices and Endpoints of Services with a selector: which pods answer, and whether they are
 * ready. One loop for both, over one look at the pods; two service accounts, as upstream has two.
 *
 * In    Services, Pods, Nodes (for zones), and the slices and Endpoints it writes.
 * Safe  slices that others manage are not touched; a reconcile waits until the cache shows what it
 *       wrote last (framework/expectations.ts), so it never makes a second set.
 */
import type { Endpoints, EndpointSlice, Node, Pod, Service } from "#api/gen/types.ts";
import { labelsMatch, selectorFromMap } from "#api/selectors/label-selector.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import { isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { jsonEqual } from "#api/json-value.ts";
import { unsatisfied } from "../framework/expectations.ts";
import { addGathered } from "#client/gather.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { memoSelector } from "../ownership/selectors.ts";
import { endpointView } from "./desired.ts";
import { EndpointsControl } from "./endpoints-control.ts";
import { serviceIndex, serviceKeys } from "./labels.ts";
import { isManagedEndpoints } from "./legacy.ts";
import { isManaged, planService, type ServicePlan, type ServiceRound } from "./plan.ts";
import { SliceControl } from "./slice-control.ts";

export const endpointSliceRole: ControllerRole = {
  account: "endpointslice-controller",
  rules: [
    "read | core | nodes,pods,services",
    "update | core | services/finalizers",
    "create,delete,get,list,update,watch | discovery.k8s.io | endpointslices",
    "events",
  ],
};

const workers = 10;
/** Retry delay for a pod on an unknown node: the node will appear, or the pod will be collected. */
const incompleteMs = 1_000;

export class EndpointSliceController implements Controller {
  readonly name = "endpointslice-controller";
  readonly #recorder: EventRecorder;
  readonly #services: Informer<Service>;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #endpoints: Informer<Endpoints>;
  readonly #sliceControl: SliceControl;
  readonly #endpointsControl: EndpointsControl;
  /** Pods of each Service, as last counted. */
  readonly #sizes = new Map<string, number>();
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    const { name } = this;
    this.#recorder = deps.recorder;
    this.#services = deps.informers.informer<Service>(refs.services);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    this.#slices = deps.informers.informer<EndpointSlice>(refs.endpointslices);
    this.#endpoints = deps.informers.informer<Endpoints>(refs.endpoints);
    this.#slices.addIndex(serviceIndex, serviceKeys);
    this.#sliceControl = new SliceControl(deps, this.#slices);
    this.#endpointsControl = new EndpointsControl(deps, this.#endpoints);
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#watchServices();
    this.#watchPods();
    this.#watchWritten();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  #watchServices(): void {
    const enqueue = (service: Service): void => this.#loop.queue.add(keyOf(service));
    this.#services.addHandler({
      add: enqueue,
      update: (_old, service) => enqueue(service),
      delete: enqueue,
    });
  }

  #watchPods(): void {
    const enqueue = (pod: Pod): void => this.#enqueueServicesOf(pod);
    this.#pods.addHandler({
      add: enqueue,
      delete: enqueue,
      update(old, pod) {
        // Most updates of a pod change nothing for a Service.
        if (jsonEqual(endpointView(old), endpointView(pod))) return;
        enqueue(old);
        enqueue(pod);
      },
    });
  }

  #watchWritten(): void {
    const enqueueSlice = (slice: EndpointSlice): void => this.#enqueueServiceOf(slice);
    this.#slices.addHandler({
      add: enqueueSlice,
      update: (_old, slice) => enqueueSlice(slice),
      delete: enqueueSlice,
    });
    const { queue } = this.#loop;
    // Also finds, at the start, what a Service deleted while no controller ran has left.
    const enqueueManaged = (object: Endpoints): void => {
      if (isManagedEndpoints(object)) queue.add(keyOf(object));
    };
    this.#endpoints.addHandler({
      add: enqueueManaged,
      update: (_old, object) => enqueueManaged(object),
      delete: (object) => queue.add(keyOf(object)),
    });
  }

  #enqueueServicesOf(pod: Pod): void {
    for (const service of this.#services.list(pod.metadata?.namespace))
      if (selects(service, pod)) this.#enqueueGathered(keyOf(service));
  }

  #enqueueServiceOf(slice: EndpointSlice): void {
    if (!isManaged(slice)) return;
    for (const key of serviceKeys(slice)) this.#enqueueGathered(key);
  }

  #enqueueGathered(key: string): void {
    addGathered(this.#loop.queue, key, this.#sizes.get(key) ?? 0);
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const service = this.#services.getByKey(key);
    if (service === undefined) return this.#forget(key);
    if (!hasManagedEndpoints(service)) return undefined;
    if (!this.#isSatisfied(key)) return unsatisfied;
    const plan = planService(this.#gather(key, service));
    try {
      await this.#carryOut(key, service, plan);
    } catch (error) {
      return this.#reportFailure(key, service, error);
    }
    return plan.isIncomplete ? { requeueAfterMs: incompleteMs } : undefined;
  }

  /** The slices are collected with their owner; Endpoints objects have none. */
  async #forget(key: string): Promise<undefined> {
    this.#sizes.delete(key);
    this.#sliceControl.forget(key);
    await this.#endpointsControl.remove(key);
  }

  #isSatisfied(key: string): boolean {
    return this.#sliceControl.isSatisfied(key) && this.#endpointsControl.isSatisfied(key);
  }

  #gather(key: string, service: Service): ServiceRound {
    const inNamespace = this.#pods.list(service.metadata?.namespace);
    const pods = inNamespace.filter((pod) => selects(service, pod));
    this.#sizes.set(key, pods.length);
    const existing = this.#slices.byIndex(serviceIndex, key).filter(isManaged);
    return { service, pods, existing, nodeOf: (name) => this.#nodes.get("", name) };
  }

  async #carryOut(key: string, service: Service, plan: ServicePlan): Promise<void> {
    const control = this.#sliceControl;
    for (const { create, update, remove } of plan.families) {
      for (const slice of create) await control.create(key, slice);
      for (const slice of update) await control.update(key, slice);
      for (const slice of remove) await control.remove(key, slice);
    }
    for (const slice of plan.strangers) await control.remove(key, slice);
    await this.#endpointsControl.write(key, service, plan.primary);
  }

  #reportFailure(key: string, service: Service, error: unknown): undefined {
    if (isNamespaceGoing(error)) return;
    const text = `Error updating Endpoint Slices for Service ${key}: ${textOf(error)}`;
    this.#recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", text);
    throw error;
  }
}

/** Others take care of Services without a selector. */
function hasManagedEndpoints({ spec, metadata }: Service): boolean {
  const hasSelector = Object.keys(spec?.selector ?? {}).length > 0;
  const isGoing = metadata?.deletionTimestamp !== undefined;
  return hasSelector && spec?.type !== "ExternalName" && !isGoing;
}

function selects(service: Service, pod: Pod): boolean {
  const selector = service.spec?.selector ?? {};
  if (Object.keys(selector).length === 0) return false;
  const parsed = memoSelector(service, () => selectorFromMap(selector));
  return labelsMatch(parsed, pod.metadata?.labels ?? {});
}
