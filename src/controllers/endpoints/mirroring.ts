/**
 * EndpointSlice mirroring: hand-made Endpoints of Services without a selector appear as slices too, so
 * that clients which read only slices (such as kube-proxy) find them.
 *
 * Safe  only slices with our own managed-by label are written or deleted; Endpoints with the skip-mirror
 *       label, and locks of old leader elections, are ignored.
 */
import type { Endpoints, EndpointSlice, Service } from "#api/gen/types.ts";
import { keyOf } from "#client/indexer.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { Expectations, unfulfilled } from "../framework/expectations.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { controllerReference } from "../ownership/owner.ts";
import { isNamespaceGoing } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import {
  isElection,
  managedLabel,
  serviceIndex,
  serviceKeys,
  serviceLabel,
  skipMirrorLabel,
} from "./labels.ts";
import {
  mirroredMax,
  mirrorOf,
  planMirror,
  type MirroredSlice,
  type MirrorMarks,
} from "./mirror.ts";

const gvk = { group: "", version: "v1", kind: "Endpoints" };
const workers = 5;
const manager = "endpointslicemirroring-controller.k8s.io";
const notMirrored = new Set([
  "endpoints.kubernetes.io/last-change-trigger-time",
  "kubectl.kubernetes.io/last-applied-configuration",
]);

// long: one closure holds the informers and the expectations that the small functions below share
export function endpointSliceMirroringController(deps: ControllerDeps): Controller {
  const { client, informers, clock } = deps;
  const services = informers.informer<Service>(refs.services);
  const endpoints = informers.informer<Endpoints>(refs.endpoints);
  const slices = informers.informer<EndpointSlice>(refs.endpointslices);
  slices.addIndex(serviceIndex, serviceKeys);
  const expectations = new Expectations(slices, clock);
  const options = { name: "endpointslicemirroring-controller", workers };
  const controller = queueController(deps, options, reconcile);
  const wake = (object: Service | Endpoints): void => controller.queue.add(keyOf(object));
  services.addHandler({ add: wake, update: (_old, service) => wake(service), delete: wake });
  endpoints.addHandler({ add: wake, update: (_old, object) => wake(object), delete: wake });
  slices.addHandler({
    add: wakeSlice,
    update: (_old, slice) => wakeSlice(slice),
    delete: wakeSlice,
  });
  return controller;

  function wakeSlice(slice: EndpointSlice): void {
    if (isOurs(slice)) for (const key of serviceKeys(slice)) controller.queue.add(key);
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    if (!expectations.passed(key)) return unfulfilled;
    const object = endpoints.getByKey(key);
    const existing = slices.byIndex(serviceIndex, key).filter(isOurs);
    if (object === undefined || !isMirrored(object, services.getByKey(key)))
      return removeAll(key, existing);
    const { slices: wanted, skipped } = mirrorOf(object);
    if (skipped > 0) {
      const text = `A max of ${mirroredMax} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`;
      deps.recorder.event(object, "Warning", "TooManyAddressesToMirror", text);
    }
    await write(key, object, wanted, existing).catch((error: unknown) => {
      if (!isNamespaceGoing(error)) throw error;
    });
  }

  async function write(
    key: string,
    object: Endpoints,
    wanted: readonly MirroredSlice[],
    existing: readonly EndpointSlice[],
  ): Promise<void> {
    const namespace = object.metadata?.namespace ?? "";
    const marks = marksOf(object);
    const plan = planMirror(wanted, existing, marks);
    for (const { family, ...content } of plan.create) {
      const ownerReferences = [controllerReference(gvk, object)];
      const generateName = `${object.metadata?.name ?? ""}-`;
      const metadata = { generateName, namespace, ...marks, ownerReferences };
      const made = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata };
      const slice: EndpointSlice = { ...made, addressType: family, ...content };
      expectations.wrote(key, await client.create(refs.endpointslices, namespace, slice));
    }
    for (const { slice, content } of plan.update) {
      const { ports, endpoints: addresses } = content;
      const metadata = { ...slice.metadata, ...marks };
      const next: EndpointSlice = { ...slice, metadata, ports, endpoints: addresses };
      expectations.wrote(key, await client.update(refs.endpointslices, namespace, next));
    }
    await removeAll(key, plan.remove);
  }

  async function removeAll(key: string, gone: readonly EndpointSlice[]): Promise<void> {
    for (const slice of gone) {
      const { namespace = "", name = "", uid = "" } = slice.metadata ?? {};
      expectations.deleting(key, slice);
      try {
        await client.delete(refs.endpointslices, namespace, name, { preconditions: { uid } });
      } catch (error) {
        expectations.notDeleted(key, slice);
        if (!isNotFound(error)) throw error;
      }
    }
  }
}

function isOurs(slice: EndpointSlice): boolean {
  return slice.metadata?.labels?.[managedLabel] === manager;
}

function isMirrored(object: Endpoints, service: Service | undefined): boolean {
  const skip = object.metadata?.labels?.[skipMirrorLabel] === "true" || isElection(object);
  const going = object.metadata?.deletionTimestamp !== undefined;
  return !skip && !going && service !== undefined && service.spec?.selector === undefined;
}

function marksOf(object: Endpoints): MirrorMarks {
  const { name = "", labels, annotations = {} } = object.metadata ?? {};
  const kept = Object.entries(annotations).filter(([key]) => !notMirrored.has(key));
  return {
    labels: { ...labels, [serviceLabel]: name, [managedLabel]: manager },
    annotations: Object.fromEntries(kept),
  };
}
