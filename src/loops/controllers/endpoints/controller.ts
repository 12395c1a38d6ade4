/**
 * Maintains EndpointSlices and Endpoints of Services with a selector: their pods, and whether these are ready. One loop
 * for both reads the pods once; there are two service accounts, as in upstream.
 *
 * In    Services, Pods, Nodes (for zones), and the slices and Endpoints it writes.
 * Safe  slices of other managers are not changed. A reconcile waits until the cache shows its last writes
 *       (client/expectations.ts), so it never makes a second set.
 */
import type { Endpoints, EndpointSlice, Node, Pod, Service } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { labelsMatch, selectorFromMap } from "#api/selectors/label-selector.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { unsatisfied } from "#client/expectations.ts";
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

/** Retry delay for a pod on an unknown node: the node will appear, or the pod be deleted. */
const incompleteMs = 1_000;

export class EndpointSliceController implements ControllerOptions<Service> {
  readonly name = "endpointslice-controller";
  readonly workers = 10;
  readonly ref = refs.services;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #sliceControl: SliceControl;
  readonly #endpointsControl: EndpointsControl;
  /** Number of pods of each Service when last counted. */
  readonly #sizes = new Map<string, number>();

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const services = deps.informers.informer<Service>(refs.services);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#nodes = deps.informers.informer<Node>(refs.nodes);
    this.#slices = deps.informers.informer<EndpointSlice>(refs.endpointslices);
    const endpoints = deps.informers.informer<Endpoints>(refs.endpoints);
    this.#slices.addIndex(serviceIndex, serviceKeys);
    this.#sliceControl = new SliceControl(deps, this.#slices);
    this.#endpointsControl = new EndpointsControl(deps, endpoints);
    const selectingKeys = (pod: Pod): readonly string[] =>
      services
        .list(pod.metadata?.namespace)
        .filter((service) => selects(service, pod))
        .map(keyOf);
    const sizeOf = (key: string): number => this.#sizes.get(key) ?? 0;
    this.sources = [
      watch(this.#pods, selectingKeys, { changed: hasOtherView, sizeOf }),
      watch(this.#slices, serviceKeys, { only: isManaged, sizeOf }),
      // At the start, this also finds Endpoints of Services deleted while no controller ran.
      watch(endpoints, keyOf, { on: ["add", "update"], only: isManagedEndpoints }),
      watch(endpoints, keyOf, { on: ["delete"] }),
    ];
  }

  async reconcile({ key, object: service }: ReconcileRequest<Service>): Promise<ReconcileResult> {
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

  /** The garbage collector deletes slices with their owner, but Endpoints objects have none. */
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
    this.#deps.recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", text);
    throw error;
  }
}

/** Most updates of a pod are irrelevant for Services. */
function hasOtherView(old: Pod, pod: Pod): boolean {
  return !jsonEqual(endpointView(old), endpointView(pod));
}

/** Services without a selector are managed by others. */
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
