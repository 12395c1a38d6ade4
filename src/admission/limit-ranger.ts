/**
 * LimitRanger: defaults and bounds a namespace sets for what its containers, pods and claims ask for.
 *
 * Holds  defaults fill what a container left out, first LimitRange first; bounds are checked after.
 * Pods are looked at when made (and resized): their containers cannot change later.
 */
import { ownEntry } from "#base/own.ts";
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
} from "#api/gen/types.ts";
import type { Lookup } from "#api/lookup.ts";
import type { AnyObject } from "#api/object.ts";
import type { Quantity } from "#api/quantity.ts";
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  tryParseQuantity,
  zeroQuantity,
} from "#api/quantity.ts";
import { podAmounts } from "#api/quota-usage.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isCore, isSubresource, refusal } from "./request.ts";

const annotation = "kubernetes.io/limit-ranger";

type Texts = Readonly<Record<string, string>>;
type Amounts = Readonly<Record<string, Quantity>>;

export function limitRanger(deps: { readonly lookup: Lookup }): AdmissionPlugin {
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

function rangesOf(lookup: Lookup, request: AdmissionRequest): readonly LimitRange[] {
  return lookup.list({ group: "", resource: "limitranges" }, request.namespace);
}

function itemsOf(range: LimitRange, type: string): readonly LimitRangeItem[] {
  return (range.spec?.limits ?? []).filter((item) => item.type === type);
}

// ---- defaults

function applyDefaults(object: AnyObject, range: LimitRange): AnyObject {
  const spec = (object as Pod).spec;
  if (spec === undefined) return object;
  const items = itemsOf(range, "Container");
  const requests = Object.assign({}, ...items.map((item) => item.defaultRequest)) as Texts;
  const limits = Object.assign({}, ...items.map((item) => item.default)) as Texts;
  const notes: string[] = [];
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
  const distinct = [...new Set(faults)];
  if (distinct.length === 0) return;
  throw refusal(request, distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`);
}

function podFaults(range: LimitRange, pod: Pod): readonly string[] {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const perContainer = itemsOf(range, "Container").flatMap((item) =>
    containers.flatMap(({ resources }) =>
      itemFaults(item, amounts(resources?.requests), amounts(resources?.limits)),
    ),
  );
  const perPod = itemsOf(range, "Pod").flatMap((item) =>
    itemFaults(item, podAmounts(pod, "requests"), podAmounts(pod, "limits")),
  );
  return [...perContainer, ...perPod];
}

/** A claim has requests only, and its maximum is held against them. */
function claimFaults(range: LimitRange, claim: PersistentVolumeClaim): readonly string[] {
  const requests = amounts(claim.spec?.resources?.requests);
  return itemsOf(range, "PersistentVolumeClaim").flatMap((item) => [
    ...each(item.min, (name, bound) => minFault(item.type, name, bound, requests, {})),
    ...each(item.max, (name, bound) => maxRequestFault(item.type, name, bound, requests)),
  ]);
}

function itemFaults(item: LimitRangeItem, requests: Amounts, limits: Amounts): readonly string[] {
  const { type } = item;
  return [
    ...each(item.min, (name, bound) => minFault(type, name, bound, requests, limits)),
    ...each(item.max, (name, bound) => maxFault(type, name, bound, requests, limits)),
    ...each(item.maxLimitRequestRatio, (name, bound) =>
      ratioFault(type, name, bound, requests, limits),
    ),
  ];
}

function each(
  bounds: Texts | undefined,
  fault: (name: string, bound: Quantity) => string | undefined,
): readonly string[] {
  return Object.entries(bounds ?? {})
    .map(([name, text]) => fault(name, parseQuantity(text)))
    .filter((text): text is string => text !== undefined);
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
  // limit / request > bound, without leaving whole numbers.
  if (limit.nanos * 1_000_000_000n <= bound.nanos * request.nanos) return undefined;
  const ratio = Number(limit.nanos) / Number(request.nanos);
  return `${text}, but provided ratio is ${ratio.toFixed(6)}`;
}
