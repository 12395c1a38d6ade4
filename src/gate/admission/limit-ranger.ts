/**
 * LimitRanger: applies a namespace's defaults and bounds for the resource requests of its containers, pods and claims.
 *
 * Holds  defaults fill in values that a container left out, in the order of the LimitRanges. Bounds are checked
 *        afterwards.
 * Pods are checked when they are created or resized: their containers cannot change otherwise.
 */
import { ownEntry } from "#base/own.ts";
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
} from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import type { Quantity } from "#api/values/quantity.ts";
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  tryParseQuantity,
  zeroQuantity,
} from "#api/values/quantity.ts";
import { podAmounts } from "#api/quota-usage.ts";
import { failure } from "#api/status.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, isSubresource, forbiddenError } from "./request.ts";

const annotation = "kubernetes.io/limit-ranger";

type Texts = Readonly<Record<string, string>>;
type Amounts = Readonly<Record<string, Quantity>>;

export function limitRanger(deps: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "LimitRanger",
    mutate(request: AdmissionRequest): AnyObject {
      const object = request.object ?? {};
      if (!concernsPod(request)) return object;
      return rangesOf(deps.lookup, request).reduce(applyDefaults, object);
    },
    validate(request: AdmissionRequest): void {
      const pod = concernsPod(request);
      const writes = request.operation === "CREATE" || request.operation === "UPDATE";
      if (!pod && !(writes && isCore(request, "persistentvolumeclaims"))) return;
      if (request.oldObject?.metadata?.deletionTimestamp !== undefined) return;
      for (const range of rangesOf(deps.lookup, request)) validateRange(request, range, pod);
    },
  };
}

function concernsPod(request: AdmissionRequest): boolean {
  const made = isCore(request, "pods") && request.operation === "CREATE";
  return made || (isSubresource(request, "", "pods", "resize") && request.operation === "UPDATE");
}

function rangesOf(lookup: Lister, request: AdmissionRequest): readonly LimitRange[] {
  return lookup.list({ group: "", resource: "limitranges" }, request.namespace);
}

function itemsOf(range: LimitRange, type: string): readonly LimitRangeItem[] {
  return (range.spec?.limits ?? []).filter((item) => item.type === type);
}

// ---- defaults

/** Maximum entries that defaults may add to a pod; with ten bytes each they fill the 1.5 MiB of an object. */
const filledMax = 150_000;

function applyDefaults(object: AnyObject, range: LimitRange): AnyObject {
  const spec = (object as Pod).spec;
  if (spec === undefined) return object;
  const items = itemsOf(range, "Container");
  const requests = Object.assign({}, ...items.map((item) => item.defaultRequest)) as Texts;
  const limits = Object.assign({}, ...items.map((item) => item.default)) as Texts;
  const notes: string[] = [];
  const count = spec.containers.length + (spec.initContainers ?? []).length;
  const names = Object.keys(requests).length + Object.keys(limits).length;
  // Each default would be added to each container and could exceed the size limit of an object.
  if (count * names > filledMax) throw tooManyDefaults(names, count);
  const fill = (title: string) => (container: Container) =>
    fillContainer(container, title, requests, limits, notes);
  const containers = spec.containers.map(fill("container"));
  const initContainers = (spec.initContainers ?? []).map(fill("init container"));
  if (notes.length === 0) return object;
  const annotations = {
    ...object.metadata?.annotations,
    [annotation]: `LimitRanger plugin set: ${notes.join("; ")}`,
  };
  return {
    ...object,
    metadata: { ...object.metadata, annotations },
    spec: {
      ...spec,
      containers,
      ...(spec.initContainers === undefined ? {} : { initContainers }),
    },
  };
}

function tooManyDefaults(names: number, containers: number): Error {
  const text = `Request entity too large: limits set defaults of ${names} resources for ${containers} containers`;
  return failure(413, "RequestEntityTooLarge", text);
}

function fillContainer(
  container: Container,
  title: string,
  requests: Texts,
  limits: Texts,
  notes: string[],
): Container {
  const own = container.resources ?? {};
  const missing = (defaults: Texts, given: Texts | undefined): readonly string[] =>
    Object.keys(defaults)
      .filter((name) => given?.[name] === undefined)
      .sort();
  const newRequests = missing(requests, own.requests);
  const newLimits = missing(limits, own.limits);
  const note = (names: readonly string[], what: string): void => {
    if (names.length > 0) notes.push(`${names.join(", ")} ${what} for ${title} ${container.name}`);
  };
  note(newRequests, "request");
  note(newLimits, "limit");
  if (newRequests.length === 0 && newLimits.length === 0) return container;
  const resources = {
    ...own,
    ...(newLimits.length === 0 ? {} : { limits: { ...limits, ...own.limits } }),
    ...(newRequests.length === 0 ? {} : { requests: { ...requests, ...own.requests } }),
  };
  return { ...container, resources };
}

// ---- bounds

function validateRange(request: AdmissionRequest, range: LimitRange, pod: boolean): void {
  const faults = pod
    ? podFaults(range, request.object as Pod)
    : claimFaults(range, request.object as PersistentVolumeClaim);
  const distinct: string[] = [];
  const seen = new Set<string>();
  for (const fault of faults) {
    if (!seen.has(fault)) distinct.push(fault);
    if (seen.add(fault).size >= faultsMax) break;
  }
  if (distinct.length === 0) return;
  throw forbiddenError(
    request,
    distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`,
  );
}

/** Maximum reported errors; thousands of names in thousands of containers could make millions. */
const faultsMax = 1000;

function* podFaults(range: LimitRange, pod: Pod): Generator<string> {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].map(
    ({ resources }) => [amounts(resources?.requests), amounts(resources?.limits)] as const,
  );
  for (const item of itemsOf(range, "Container")) {
    for (const [requests, limits] of containers) yield* itemFaults(item, requests, limits);
  }
  const ofPod = itemsOf(range, "Pod");
  if (ofPod.length === 0) return;
  const [requests, limits] = [podAmounts(pod, "requests"), podAmounts(pod, "limits")];
  for (const item of ofPod) yield* itemFaults(item, requests, limits);
}

/** A claim has only requests, which are compared with the maximum. */
function* claimFaults(range: LimitRange, claim: PersistentVolumeClaim): Generator<string> {
  const requests = amounts(claim.spec?.resources?.requests);
  for (const item of itemsOf(range, "PersistentVolumeClaim")) {
    yield* each(item.min, (name, bound) => minFault(item.type, name, bound, requests, {}));
    yield* each(item.max, (name, bound) => maxRequestFault(item.type, name, bound, requests));
  }
}

function* itemFaults(item: LimitRangeItem, requests: Amounts, limits: Amounts): Generator<string> {
  const { type } = item;
  yield* each(item.min, (name, bound) => minFault(type, name, bound, requests, limits));
  yield* each(item.max, (name, bound) => maxFault(type, name, bound, requests, limits));
  yield* each(item.maxLimitRequestRatio, (name, bound) =>
    ratioFault(type, name, bound, requests, limits),
  );
}

/** Lazy, because the caller stops after enough errors. */
function* each(
  bounds: Texts | undefined,
  fault: (name: string, bound: Quantity) => string | undefined,
): Generator<string> {
  if (bounds === undefined) return;
  for (const name of Object.keys(bounds)) {
    const found = fault(name, parseQuantity(bounds[name] ?? ""));
    if (found !== undefined) yield found;
  }
}

function amounts(texts: Texts | undefined): Amounts {
  const parsed = Object.entries(texts ?? {}).map(([name, text]) => [
    name,
    tryParseQuantity(text) ?? zeroQuantity,
  ]);
  return Object.fromEntries(parsed);
}

function minFault(
  type: string,
  name: string,
  bound: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const text = `minimum ${name} usage per ${type} is ${formatQuantity(bound)}`;
  const request = ownEntry(requests, name);
  const limit = ownEntry(limits, name);
  if (request === undefined) return `${text}.  No request is specified`;
  if (compareQuantities(request, bound) < 0)
    return `${text}, but request is ${formatQuantity(request)}`;
  if (limit === undefined || compareQuantities(limit, bound) >= 0) return undefined;
  return `${text}, but limit is ${formatQuantity(limit)}`;
}

function maxRequestFault(
  type: string,
  name: string,
  bound: Quantity,
  requests: Amounts,
): string | undefined {
  const text = `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`;
  const request = ownEntry(requests, name);
  if (request === undefined) return `${text}.  No request is specified`;
  if (compareQuantities(request, bound) <= 0) return undefined;
  return `${text}, but request is ${formatQuantity(request)}`;
}

function maxFault(
  type: string,
  name: string,
  bound: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const text = `maximum ${name} usage per ${type} is ${formatQuantity(bound)}`;
  const request = ownEntry(requests, name);
  const limit = ownEntry(limits, name);
  if (limit === undefined) return `${text}.  No limit is specified`;
  if (compareQuantities(limit, bound) > 0) return `${text}, but limit is ${formatQuantity(limit)}`;
  if (request === undefined || compareQuantities(request, bound) <= 0) return undefined;
  return `${text}, but request is ${formatQuantity(request)}`;
}

function ratioFault(
  type: string,
  name: string,
  bound: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const text = `${name} max limit to request ratio per ${type} is ${formatQuantity(bound)}`;
  const request = ownEntry(requests, name) ?? zeroQuantity;
  const limit = ownEntry(limits, name) ?? zeroQuantity;
  if (request.nanos === 0n) return `${text}, but no request is specified or request is 0`;
  if (limit.nanos === 0n) return `${text}, but no limit is specified or limit is 0`;
  // limit / request > bound, computed in whole numbers.
  if (limit.nanos * 1_000_000_000n <= bound.nanos * request.nanos) return undefined;
  const ratio = Number(limit.nanos) / Number(request.nanos);
  return `${text}, but provided ratio is ${ratio.toFixed(6)}`;
}
