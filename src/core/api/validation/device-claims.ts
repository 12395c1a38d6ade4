/** Claims of devices, their templates, and the classes that they name. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import { labelValueErrors, subdomainErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { has, items, maybe, maybeText, number, part, sortKeys, text, texts } from "./fields.ts";
import {
  append,
  child,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from "./errors.ts";
import {
  checkConfiguration,
  checkLabel,
  checkList,
  checkSelectors,
  checkSet,
  checkToleration,
  checkWholeName,
  configMax,
  itself,
  nameOf,
  requestsMax,
} from "./device-parts.ts";
import { checkImmutable } from "./immutable.ts";
import { isExtendedResource } from "./resources.ts";
import { checkLabelName } from "./scheduling.ts";

const alternativesMax = 8;
const constraintsMax = 32;

export function validateResourceClaim(claim: Fields): FieldError[] {
  return checkClaim(part(claim, "spec"), "spec");
}

export function validateResourceClaimUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkImmutable(out, next, old, { field: "spec", path: "" });
  return out;
}

export function validateClaimTemplate(template: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(template, "spec");
  const labels = part(part(spec, "metadata"), "labels");
  for (const name of sortKeys(labels)) {
    checkLabelName(out, name, "spec.metadata.labels");
    const value = text(labels, name);
    append(out, invalidEach("spec.metadata.labels", value, labelValueErrors(value)));
  }
  append(out, checkClaim(part(spec, "spec"), "spec.spec"));
  return out;
}

export function validateClaimTemplateUpdate(next: Fields, old: Fields): FieldError[] {
  return validateResourceClaimUpdate(next, old);
}

export function validateDeviceClass(deviceClass: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(deviceClass, "spec");
  checkSelectors(out, spec, "spec");
  checkList(
    out,
    items(spec, "config"),
    { path: "spec.config", max: configMax },
    checkConfiguration,
  );
  const name = maybeText(spec, "extendedResourceName");
  if (name !== undefined && !isExtendedResource(name)) {
    const detail = "must be a valid extended resource name";
    out.push(invalidValue("spec.extendedResourceName", name, detail));
  }
  return out;
}

function checkClaim(spec: Fields, path: string): FieldError[] {
  const out: FieldError[] = [];
  const devices = part(spec, "devices");
  const at = child(path, "devices");
  const names = requestNames(devices);
  const requests = { path: child(at, "requests"), max: requestsMax, keyOf: nameOf };
  checkSet(out, items(devices, "requests"), requests, checkRequest);
  const constraints = { path: child(at, "constraints"), max: constraintsMax };
  checkList(out, items(devices, "constraints"), constraints, (found, constraint, here) => {
    checkConstraint(found, constraint, names, here);
  });
  const configs = { path: child(at, "config"), max: configMax };
  checkList(out, items(devices, "config"), configs, (found, config, here) => {
    checkReferences(found, config, names, here);
    checkConfiguration(found, config, here);
  });
  return out;
}

/** `request`, and `request/alternative` for those with alternatives. */
export function requestNames(devices: Fields): ReadonlySet<string> {
  const names = new Set<string>();
  for (const request of items(devices, "requests")) {
    names.add(nameOf(request));
    for (const one of items(request, "firstAvailable"))
      names.add(`${nameOf(request)}/${nameOf(one)}`);
  }
  return names;
}

const oneOfText = "exactly one of `exactly` or `firstAvailable` is required";

function checkRequest(out: FieldError[], request: Fields, path: string): void {
  checkLabel(out, nameOf(request), child(path, "name"));
  const alternatives = items(request, "firstAvailable");
  const exactly = maybe(request, "exactly");
  if (exactly !== undefined && alternatives.length > 0) {
    out.push(invalidValue(path, null, `${oneOfText}, but multiple fields are set`));
  } else if (exactly !== undefined) checkDemand(out, exactly, child(path, "exactly"));
  else if (alternatives.length === 0) out.push(required(path, oneOfText));
  else {
    const at = { path: child(path, "firstAvailable"), max: alternativesMax, keyOf: nameOf };
    checkSet(out, alternatives, at, (found, one, here) => {
      checkLabel(found, nameOf(one), child(here, "name"));
      checkDemand(found, one, here);
    });
  }
}

function checkDemand(out: FieldError[], demand: Fields, path: string): void {
  const name = text(demand, "deviceClassName");
  const at = child(path, "deviceClassName");
  if (name === "") out.push(required(at));
  else append(out, invalidEach(at, name, subdomainErrors(name)));
  checkSelectors(out, demand, path);
  checkCount(out, demand, path);
  items(demand, "tolerations").forEach((toleration, i) => {
    checkToleration(out, toleration, index(child(path, "tolerations"), i));
  });
}

const modes = ["All", "ExactCount"];

function checkCount(out: FieldError[], demand: Fields, path: string): void {
  const mode = text(demand, "allocationMode");
  const count = number(demand, "count");
  const at = child(path, "count");
  if (!modes.includes(mode)) out.push(notSupported(child(path, "allocationMode"), mode, modes));
  else if (mode === "All" && count !== 0) {
    out.push(invalidValue(at, count, "must not be specified when allocationMode is 'All'"));
  } else if (mode === "ExactCount" && count <= 0) {
    out.push(invalidValue(at, count, "must be greater than zero"));
  }
}

const attributeText =
  'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';

function checkConstraint(
  out: FieldError[],
  constraint: Fields,
  names: ReadonlySet<string>,
  path: string,
): void {
  checkReferences(out, constraint, names, path);
  const field = ["matchAttribute", "distinctAttribute"].find((name) => has(constraint, name));
  if (field === undefined) out.push(required(path, attributeText));
  else checkWholeName(out, text(constraint, field), child(path, field));
}

export function checkReferences(
  out: FieldError[],
  owner: Fields,
  names: ReadonlySet<string>,
  path: string,
): void {
  const at = { path: child(path, "requests"), max: requestsMax, keyOf: itself };
  checkSet(out, texts(owner, "requests"), at, (found, name, here) => {
    checkReference(found, name, names, here);
  });
}

const referenceText =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

export function checkReference(
  out: FieldError[],
  name: string,
  names: ReadonlySet<string>,
  path: string,
): void {
  const segments = name.split("/", 3);
  if (segments.length <= 2) for (const segment of segments) checkLabel(out, segment, path);
  if (!names.has(name)) out.push(invalidValue(path, name, referenceText));
}
