/** Slices: the devices that a driver offers, and their nodes. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import {
  compareQuantities,
  formatQuantity,
  type Quantity,
  zeroQuantity,
} from "../values/quantity.ts";
import { addQuantities, tryParseQuantity, value } from "../values/quantity.ts";
import { isLonger, subdomainErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { flag, has, items, maybe, maybeText, number, part, text, texts } from "./fields.ts";
import {
  append,
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  repeatedAt,
  required,
  tooLong,
} from "./errors.ts";
import {
  checkBindingConditions,
  checkLabel,
  checkList,
  checkMap,
  checkPoolName,
  checkQualifiedName,
  checkSet,
  checkTaint,
  nameOf,
} from "./device-parts.ts";
import { checkImmutable } from "./immutable.ts";
import { semanticEqual } from "./equal.ts";
import { checkNodeSelector } from "./scheduling.ts";
import { checkDriverName } from "./text.ts";

const devicesMax = 128;
/** Maximum devices where one has taints or consumes counters. */
const complexDevicesMax = 64;
const counterSetsMax = 8;
const countersMax = 32;
const consumptionsMax = 2;
const attributesMax = 32;
const taintsMax = 16;
const valueBytesMax = 64;
const optionsMax = 10;

export function validateResourceSlice(slice: Fields): FieldError[] {
  return checkSlice(part(slice, "spec"), undefined);
}

/** nodeName is immutable, because a node may write only its own slices. */
export function validateResourceSliceUpdate(next: Fields, old: Fields): FieldError[] {
  return checkSlice(part(next, "spec"), part(old, "spec"));
}

function checkSlice(spec: Fields, before: Fields | undefined): FieldError[] {
  const out: FieldError[] = [];
  checkDriverName(out, text(spec, "driver"), "spec.driver");
  checkPool(out, part(spec, "pool"));
  if (before !== undefined) checkUnchanged(out, spec, before);
  checkPlace(out, spec);
  const devices = items(spec, "devices");
  if (Array.isArray(spec["sharedCounters"]) && Array.isArray(spec["devices"])) {
    out.push(invalidValue("spec", "", "only one of `sharedCounters` or `devices` is allowed"));
  }
  const isComplex = devices.some(
    (device) => hasItems(device, "taints") || hasItems(device, "consumesCounters"),
  );
  const max = isComplex ? complexDevicesMax : devicesMax;
  const known = new Map(items(before ?? {}, "devices").map((device) => [nameOf(device), device]));
  const isPlaced = flag(spec, "perDeviceNodeSelection");
  const at = { path: "spec.devices", max, keyOf: nameOf };
  checkSet(out, devices, at, (found, device, path) => {
    checkDevice(found, device, path);
    const taints = items(device, "taints");
    if (!semanticEqual({ taints }, { taints: items(known.get(nameOf(device)) ?? {}, "taints") }))
      checkList(found, taints, { path: child(path, "taints"), max: taintsMax }, checkTaint);
    checkConsumptions(found, device, path);
    checkDevicePlace(found, device, isPlaced, path);
    checkBindingConditions(found, device, path);
  });
  const sets = { path: "spec.sharedCounters", max: counterSetsMax, keyOf: nameOf };
  checkSet(out, items(spec, "sharedCounters"), sets, (found, set, path) => {
    checkCounters(found, set, "name", path);
  });
  return out;
}

function hasItems(owner: Fields, field: string): boolean {
  return items(owner, field).length > 0;
}

function checkPool(out: FieldError[], pool: Fields): void {
  checkPoolName(out, text(pool, "name"), "spec.pool.name");
  const count = number(pool, "resourceSliceCount");
  if (count <= 0)
    out.push(invalidValue("spec.pool.resourceSliceCount", count, "must be greater than zero"));
  const generation = number(pool, "generation");
  if (generation < 0) {
    const detail = "must be greater than or equal to zero";
    out.push(invalidValue("spec.pool.generation", generation, detail));
  }
}

function checkUnchanged(out: FieldError[], spec: Fields, before: Fields): void {
  const pool = { field: "name", path: "spec.pool" };
  checkImmutable(out, part(spec, "pool"), part(before, "pool"), pool);
  checkImmutable(out, spec, before, { field: "driver", path: "spec" });
  checkImmutable(out, spec, before, { field: "nodeName", path: "spec" });
}

const placeText =
  "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

function checkPlace(out: FieldError[], spec: Fields): void {
  const emptyText = "must be either unset or set to a non-empty string";
  const set = givenPlaces(out, spec, { path: "spec", emptyText });
  const terms = items(part(spec, "nodeSelector"), "nodeSelectorTerms");
  if (set.includes("nodeSelector") && terms.length !== 1) {
    const at = "spec.nodeSelector.nodeSelectorTerms";
    out.push(invalidValue(at, terms, "must have exactly one node selector term"));
  }
  checkTrue(out, spec, "perDeviceNodeSelection", "spec");
  if (flag(spec, "perDeviceNodeSelection")) set.push("perDeviceNodeSelection");
  if (set.length === 0) out.push(required("spec", placeText));
  else if (set.length > 1) {
    out.push(invalidValue("spec", listText(set), `${placeText}, but multiple fields are set`));
  }
}

/** The fields among nodeName, nodeSelector and allNodes that are set. */
function givenPlaces(
  out: FieldError[],
  owner: Fields,
  { path, emptyText }: { readonly path: string; readonly emptyText: string },
): string[] {
  const set: string[] = [];
  const node = maybeText(owner, "nodeName");
  if (node === "") out.push(invalidValue(child(path, "nodeName"), node, emptyText));
  else if (node !== undefined) {
    set.push("nodeName");
    append(out, invalidEach(child(path, "nodeName"), node, subdomainErrors(node)));
  }
  const selector = maybe(owner, "nodeSelector");
  if (selector !== undefined) {
    set.push("nodeSelector");
    checkNodeSelector(out, selector, child(path, "nodeSelector"));
  }
  checkTrue(out, owner, "allNodes", path);
  if (flag(owner, "allNodes")) set.push("allNodes");
  return set;
}

function checkTrue(out: FieldError[], owner: Fields, field: string, path: string): void {
  if (owner[field] !== false) return;
  out.push(invalidValue(child(path, field), false, "must be either unset or set to true"));
}

function listText(names: readonly string[]): string {
  return `{${names.map((name) => `\`${name}\``).join(", ")}}`;
}

const devicePlaceText =
  "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
const noPlaceText =
  "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

function checkDevicePlace(
  out: FieldError[],
  device: Fields,
  isPlaced: boolean,
  path: string,
): void {
  if (!isPlaced) {
    const isGiven = ["nodeName", "nodeSelector", "allNodes"].some((name) => has(device, name));
    if (isGiven) out.push(invalidValue(path, null, noPlaceText));
    return;
  }
  const set = givenPlaces(out, device, { path, emptyText: "must not be empty" });
  if (set.length === 0) out.push(required(path, devicePlaceText));
  else if (set.length > 1) out.push(invalidValue(path, listText(set), devicePlaceText));
}

function checkDevice(out: FieldError[], device: Fields, path: string): void {
  checkLabel(out, nameOf(device), child(path, "name"));
  const attributes = part(device, "attributes");
  const capacity = part(device, "capacity");
  const total = Object.keys(attributes).length + Object.keys(capacity).length;
  if (total > attributesMax) {
    const detail = `the total number of attributes and capacities must not exceed ${attributesMax}`;
    out.push(invalidValue(path, total, detail));
  }
  const isShared = flag(device, "allowMultipleAllocations");
  checkMap(out, attributes, child(path, "attributes"), {
    name: checkQualifiedName,
    value: checkAttribute,
  });
  checkMap(out, capacity, child(path, "capacity"), {
    name: checkQualifiedName,
    value: (found, amount, at) => checkCapacity(found, amount, isShared, at),
  });
}

const versionNumber = "(?:0|[1-9][0-9]*)";
const preRelease = "(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)";
const semver = new RegExp(
  `^${versionNumber}\\.${versionNumber}\\.${versionNumber}(?:-${preRelease}(?:\\.${preRelease})*)?` +
    "(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$",
);
const attributeFields = ["bool", "int", "string", "version"];

function checkAttribute(out: FieldError[], attribute: Fields, path: string): void {
  const version = maybeText(attribute, "version");
  if (version !== undefined && !semver.test(version)) {
    const detail = "must be a string compatible with semver.org spec 2.0.0";
    out.push(invalidValue(child(path, "version"), version, detail));
  }
  for (const field of ["string", "version"]) {
    if (isLonger(text(attribute, field), valueBytesMax))
      out.push(tooLong(child(path, field), valueBytesMax));
  }
  const given = attributeFields.filter((field) => has(attribute, field));
  if (given.length === 1) return;
  const shown = given.length === 0 ? "" : attribute;
  out.push(invalidValue(path, shown, "exactly one value must be specified"));
}

function checkCapacity(out: FieldError[], capacity: Fields, isShared: boolean, path: string): void {
  const policy = maybe(capacity, "requestPolicy");
  if (policy === undefined) return;
  const at = child(path, "requestPolicy");
  if (!isShared) out.push(forbiddenField(at, "allowMultipleAllocations must be true"));
  else checkPolicy(out, policy, { whole: amount(capacity, "value"), path: at });
}

interface Policy {
  /** Total capacity of the device. */
  readonly whole: Quantity;
  readonly path: string;
}

function checkPolicy(out: FieldError[], policy: Fields, { whole, path }: Policy): void {
  const range = maybe(policy, "validRange");
  const isListed = Array.isArray(policy["validValues"]) && policy["validValues"].length > 0;
  if (isListed && range !== undefined) {
    const detail =
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    out.push(forbiddenField(path, detail));
    return;
  }
  const field = isListed ? "validValues" : "validRange";
  if (!isListed && range === undefined) return;
  if (!has(policy, "default")) {
    out.push(required(child(path, "default"), `required when ${field} is defined`));
    return;
  }
  const usual = amount(policy, "default");
  const at = { whole, usual, path: child(path, field) };
  if (range === undefined) checkOptions(out, policy, at);
  else checkRange(out, range, at);
}

interface Request extends Policy {
  /** The default amount when a request names none. */
  readonly usual: Quantity;
}

function checkOptions(out: FieldError[], policy: Fields, { whole, usual, path }: Request): void {
  const options = texts(policy, "validValues").map((one) => tryParseQuantity(one) ?? zeroQuantity);
  options.forEach((option, at) => {
    const last = options[at - 1];
    if (last === undefined || compareQuantities(last, option) <= 0) return;
    const detail = "values must be sorted in ascending order";
    out.push(invalidValue(index(path, at), formatQuantity(option), detail));
  });
  const isRead = checkList(out, options, { path, max: optionsMax }, (found, option, here) => {
    if (compareQuantities(option, whole) <= 0) return;
    const detail = `option is larger than capacity value: ${formatQuantity(whole)}`;
    found.push(invalidValue(here, formatQuantity(option), detail));
  });
  const keys = options.map((option) => String(value(option)));
  if (isRead) for (const at of repeatedAt(keys)) out.push(duplicate(index(path, at), keys[at]));
  if (isRead && options.some((option) => compareQuantities(option, usual) === 0)) return;
  const detail = "default value is not valid according to the requestPolicy";
  out.push(invalidValue(path, formatQuantity(usual), detail));
}

function checkRange(out: FieldError[], range: Fields, { whole, usual, path }: Request): void {
  if (!has(range, "min")) {
    out.push(required(child(path, "min"), "required when validRange is defined"));
    return;
  }
  const least = amount(range, "min");
  const most = has(range, "max") ? amount(range, "max") : undefined;
  const say = (field: string, bad: Quantity, detail: string): void => {
    out.push(invalidValue(child(path, field), formatQuantity(bad), detail));
  };
  const isAbove = (a: Quantity, b: Quantity): boolean => compareQuantities(a, b) > 0;
  const wholeText = `is larger than capacity value: ${formatQuantity(whole)}`;
  if (isAbove(least, whole)) say("min", least, `min ${wholeText}`);
  if (isAbove(least, usual))
    say("min", usual, `default is less than min: ${formatQuantity(least)}`);
  if (most !== undefined) {
    const mostText = formatQuantity(most);
    if (isAbove(least, most)) say("max", least, `min is larger than max: ${mostText}`);
    if (isAbove(most, whole)) say("max", most, `max ${wholeText}`);
    if (isAbove(usual, most)) say("max", usual, `default is more than max: ${mostText}`);
  }
  if (!has(range, "step")) return;
  const step = amount(range, "step");
  const first = addQuantities(least, step);
  if (isAbove(first, whole)) say("step", step, `one step ${formatQuantity(first)} ${wholeText}`);
  const stepText = `value is not a multiple of a given step (${formatQuantity(step)}) from (${formatQuantity(least)})`;
  for (const one of most === undefined ? [usual] : [usual, most]) {
    if ((value(one) - value(least)) % value(step) !== 0) say("step", one, stepText);
  }
}

function amount(owner: Fields, field: string): Quantity {
  const given = owner[field];
  const isQuantity = typeof given === "string" || typeof given === "number";
  return (isQuantity ? tryParseQuantity(given) : undefined) ?? zeroQuantity;
}

function checkConsumptions(out: FieldError[], device: Fields, path: string): void {
  const keyOf = (one: Fields): string => text(one, "counterSet");
  const at = { path: child(path, "consumesCounters"), max: consumptionsMax, keyOf };
  checkSet(out, items(device, "consumesCounters"), at, (found, one, here) => {
    checkCounters(found, one, "counterSet", here);
  });
}

function checkCounters(out: FieldError[], set: Fields, nameField: string, path: string): void {
  const name = text(set, nameField);
  if (name === "") out.push(required(child(path, nameField)));
  else checkLabel(out, name, child(path, nameField));
  const at = child(path, "counters");
  const names = Object.keys(part(set, "counters"));
  if (names.length === 0) out.push(required(at));
  else if (checkList(out, names, { path: at, max: countersMax }, () => undefined)) {
    for (const each of names.toSorted()) checkLabel(out, each, at);
  }
}
