/** Resource names, amounts, and requirements of containers and pods. */
import type { Quantity } from "../values/quantity.ts";
import { compareQuantities, formatQuantity, tryParseQuantity, value } from "../values/quantity.ts";
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import { dns1123LabelErrors } from "../names.ts";
import { isPodLevelResource } from "../defaults/pod-resources.ts";
import type { Fields } from "./fields.ts";
import { items, part, sortKeys, text } from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  key,
  notFoundField,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { nonNegativeText } from "./text.ts";

const standardContainer = new Set(["cpu", "memory", "ephemeral-storage"]);
const standardQuota = new Set([
  "cpu",
  "memory",
  "ephemeral-storage",
  "requests.cpu",
  "requests.memory",
  "requests.storage",
  "requests.ephemeral-storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "persistentvolumeclaims",
  "configmaps",
  "services.nodeports",
  "services.loadbalancers",
]);
const standard = new Set([...standardQuota, "storage"]);
const integers = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);

const invalidQuantityText =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function isHugePage(name: string): boolean {
  return name.startsWith("hugepages-");
}

function isQuotaHugePage(name: string): boolean {
  return isHugePage(name) || name.startsWith("requests.hugepages-");
}

export function isNativeResource(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

/** Extended resources and huge pages cannot be overcommitted: limit and request are equal. */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePage(name);
}

export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith("requests.")) return false;
  return qualifiedNameErrors(`requests.${name}`).length === 0;
}

export function isStandardQuotaResource(name: string): boolean {
  return standardQuota.has(name) || isQuotaHugePage(name);
}

export type NameCheck = (out: FieldError[], name: string, path: string) => void;

export const checkResourceName: NameCheck = (out, name, path) => {
  const errors = qualifiedNameErrors(name);
  append(out, invalidEach(path, name, errors));
  if (errors.length > 0 || name.includes("/")) return;
  if (standard.has(name) || isQuotaHugePage(name)) return;
  out.push(invalidValue(path, name, "must be a standard resource type or fully qualified"));
};

export const checkContainerResourceName: NameCheck = (out, name, path) => {
  checkResourceName(out, name, path);
  if (!name.includes("/")) {
    if (standardContainer.has(name) || isHugePage(name)) return;
    out.push(invalidValue(path, name, "must be a standard resource for containers"));
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    out.push(invalidValue(path, name, "doesn't follow extended resource name standard"));
  }
};

const checkPodResourceName: NameCheck = (out, name, path) => {
  const before = out.length;
  checkResourceName(out, name, path);
  if (out.length > before || isPodLevelResource(name)) return;
  out.push(notSupported(path, name, ["cpu", "hugepages-", "memory"]));
};

export const checkQuotaResourceName: NameCheck = (out, name, path) => {
  checkResourceName(out, name, path);
  if (name.includes("/") || isStandardQuotaResource(name)) return;
  out.push(invalidValue(path, name, "must be a standard resource for quota"));
};

/** The amount; undefined after reporting that it is invalid. */
export function readQuantity(
  out: FieldError[],
  amount: unknown,
  path: string,
): Quantity | undefined {
  const quantity =
    typeof amount === "string" || typeof amount === "number" ? tryParseQuantity(amount) : undefined;
  if (quantity === undefined) out.push(invalidValue(path, amount, invalidQuantityText));
  return quantity;
}

export function checkResourceAmount(
  out: FieldError[],
  name: string,
  amount: Quantity,
  path: string,
): void {
  if (amount.nanos < 0n) out.push(invalidValue(path, formatQuantity(amount), nonNegativeText));
  const whole = integers.has(name) || isExtendedResource(name);
  if (whole && amount.nanos % 1_000_000_000n !== 0n) {
    out.push(invalidValue(path, formatQuantity(amount), "must be an integer"));
  }
}

/** Checks names and amounts of a list; returns the amounts that can be parsed. */
export function checkResourceList(
  out: FieldError[],
  list: Fields,
  checkName: NameCheck,
  path: string,
): Map<string, Quantity> {
  const amounts = new Map<string, Quantity>();
  for (const name of sortKeys(list)) {
    const at = key(path, name);
    checkName(out, name, at);
    const amount = readQuantity(out, list[name], at);
    if (amount === undefined) continue;
    amounts.set(name, amount);
    checkResourceAmount(out, name, amount, at);
    if (isHugePage(name)) checkHugePage(out, name, amount, at);
  }
  return amounts;
}

function checkHugePage(out: FieldError[], name: string, amount: Quantity, path: string): void {
  const size = tryParseQuantity(name.slice("hugepages-".length));
  const fits = size !== undefined && size.nanos > 0n && amount.nanos % size.nanos === 0n;
  if (fits) return;
  const printed = formatQuantity(amount);
  out.push(invalidValue(path, printed, `${printed} is not positive integer multiple of ${name}`));
}

export function checkContainerResources(
  out: FieldError[],
  resources: Fields,
  claims: ReadonlySet<string>,
  path: string,
): void {
  checkRequirements(out, resources, checkContainerResourceName, path);
  checkClaims(out, resources, claims, child(path, "claims"));
}

export function checkPodResources(
  out: FieldError[],
  resources: Fields,
  claims: ReadonlySet<string>,
  path: string,
): void {
  if (items(resources, "claims").length > 0) {
    const detail = "claims may not be set for Resources at pod-level";
    out.push(forbiddenField(child(path, "claims"), detail));
  }
  checkRequirements(out, resources, checkPodResourceName, path);
  checkClaims(out, resources, claims, child(path, "claims"));
}

function checkRequirements(
  out: FieldError[],
  resources: Fields,
  checkName: NameCheck,
  path: string,
): void {
  const limitsPath = child(path, "limits");
  const limits = checkResourceList(out, part(resources, "limits"), checkName, limitsPath);
  const requestsPath = child(path, "requests");
  const requests = checkResourceList(out, part(resources, "requests"), checkName, requestsPath);
  for (const [name, amount] of requests) {
    const limit = limits.get(name);
    if (limit !== undefined) checkWithinLimit(out, { name, amount, limit }, requestsPath);
    else if (!isOvercommitAllowed(name)) {
      out.push(required(limitsPath, "Limit must be set for non overcommitable resources"));
    }
  }
  const names = [...limits.keys(), ...requests.keys()];
  const computes = names.some((name) => name === "cpu" || name === "memory");
  if (!computes && names.some(isHugePage)) {
    out.push(forbiddenField(path, "HugePages require cpu or memory"));
  }
}

function checkWithinLimit(
  out: FieldError[],
  request: { readonly name: string; readonly amount: Quantity; readonly limit: Quantity },
  path: string,
): void {
  const { name, amount, limit } = request;
  const order = compareQuantities(amount, limit);
  const printed = formatQuantity(amount);
  const bound = `${name} limit of ${formatQuantity(limit)}`;
  if (order !== 0 && !isOvercommitAllowed(name)) {
    out.push(invalidValue(path, printed, `must be equal to ${bound}`));
  } else if (order > 0) {
    out.push(invalidValue(path, printed, `must be less than or equal to ${bound}`));
  }
}

function checkClaims(
  out: FieldError[],
  resources: Fields,
  claims: ReadonlySet<string>,
  path: string,
): void {
  const seen = new Set<string>();
  items(resources, "claims").forEach((claim, at) => {
    const here = index(path, at);
    const name = text(claim, "name");
    if (name === "") {
      out.push(required(here));
      return;
    }
    const request = text(claim, "request");
    if (request !== "") {
      const errors = dns1123LabelErrors(request);
      append(out, invalidEach(child(here, "request"), request, errors));
    }
    const full = request === "" ? name : `${name}/${request}`;
    if (seen.has(full) || seen.has(name)) out.push(duplicate(here, full));
    seen.add(full);
    if (!claims.has(name)) out.push(notFoundField(here, name, missingClaimText(claims)));
  });
}

function missingClaimText(claims: ReadonlySet<string>): string {
  const start = "must be one of the names in pod.spec.resourceClaims";
  return claims.size === 0
    ? `${start} which is empty`
    : `${start}: ${[...claims].sort().join(", ")}`;
}

/** Whether a resource counted in bytes or units has a fractional amount; for warnings. */
export function isFractionalBytes(name: string, amount: unknown): boolean {
  if (name !== "memory" && name !== "ephemeral-storage" && name !== "storage") return false;
  const quantity = typeof amount === "string" ? tryParseQuantity(amount) : undefined;
  return quantity !== undefined && BigInt(value(quantity)) * 1_000_000_000n !== quantity.nanos;
}
