/** Status of device claims: allocation, users and device conditions. Texts as upstream's. */
import type { FieldError } from "../status.ts";
import { regexText } from "../names.ts";
import { isLonger } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { has, items, maybe, maybeInteger, maybeText, part, text, texts } from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidJson,
  invalidValue,
  notSupported,
  repeatedAt,
  required,
  tooLong,
  tooMany,
} from "./errors.ts";
import { checkReference, checkReferences, requestNames } from "./device-claims.ts";
import {
  checkBindingConditions,
  checkConfiguration,
  checkJson,
  checkLabel,
  checkList,
  checkPoolName,
  checkSet,
  configMax,
  itself,
} from "./device-parts.ts";
import { checkImmutable } from "./immutable.ts";
import { parseRange } from "./ip.ts";
import { checkLabelName, checkNodeSelector } from "./scheduling.ts";
import { checkDriverName, checkNonNegative } from "./text.ts";

const reservationsMax = 256;
const resultsMax = 32;
const interfaceNameMax = 256;
const hardwareAddressMax = 128;
const addressesMax = 16;
const sources = ["FromClaim", "FromClass"];

export function validateResourceClaimStatus(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const status = part(next, "status");
  const before = part(old, "status");
  const allocation = maybe(status, "allocation");
  const uidOf = (user: Fields): string => text(user, "uid");
  const users = { path: "status.reservedFor", max: reservationsMax, keyOf: uidOf };
  checkSet(out, items(status, "reservedFor"), users, checkUser);
  const results = items(part(allocation ?? {}, "devices"), "results");
  const allocated = new Set(results.map(deviceId));
  const devices = { path: "status.devices", max: Infinity, keyOf: deviceId };
  checkSet(out, items(status, "devices"), devices, (found, device, here) => {
    checkDevice(found, device, allocated, here);
  });
  checkReservations(out, next, old);
  if (allocation === undefined) return out;
  if (has(before, "allocation")) {
    checkImmutable(out, status, before, { field: "allocation", path: "status" });
  } else {
    const names = requestNames(part(part(next, "spec"), "devices"));
    checkAllocation(out, allocation, names, "status.allocation");
  }
  return out;
}

function checkUser(out: FieldError[], user: Fields, path: string): void {
  for (const field of ["resource", "name", "uid"]) {
    if (text(user, field) === "") out.push(required(child(path, field)));
  }
}

/** While a claim is being deleted, users may be removed but not added. */
function checkReservations(out: FieldError[], next: Fields, old: Fields): void {
  const status = part(next, "status");
  const users = items(status, "reservedFor");
  if (users.length === 0) return;
  if (!has(status, "allocation")) {
    const detail = "may not be specified when `allocated` is not set";
    out.push(forbiddenField("status.reservedFor", detail));
  } else if (has(part(next, "metadata"), "deletionTimestamp")) {
    const known = new Set(items(part(old, "status"), "reservedFor").map(userKey));
    if (users.every((user) => known.has(userKey(user)))) return;
    const detail =
      "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
    out.push(forbiddenField("status.reservedFor", detail));
  }
}

function userKey(user: Fields): string {
  return JSON.stringify(["apiGroup", "resource", "name", "uid"].map((field) => text(user, field)));
}

function deviceId(device: Fields): string {
  const [driver, pool, name, share] = ["driver", "pool", "device", "shareID"].map((field) =>
    text(device, field),
  );
  return `{"Driver":"${driver}","Pool":"${pool}","Device":"${name}","ShareID":"${share}"}`;
}

function checkDeviceNames(out: FieldError[], device: Fields, path: string): void {
  checkDriverName(out, text(device, "driver"), child(path, "driver"));
  checkPoolName(out, text(device, "pool"), child(path, "pool"));
  checkLabel(out, text(device, "device"), child(path, "device"));
  const share = maybeText(device, "shareID");
  if (share !== undefined) checkUid(out, share, child(path, "shareID"));
}

function checkDevice(
  out: FieldError[],
  device: Fields,
  allocated: ReadonlySet<string>,
  path: string,
): void {
  checkDeviceNames(out, device, path);
  const id = deviceId(device);
  if (!allocated.has(id)) {
    out.push(invalidJson(path, id, "must be an allocated device in the claim"));
  }
  checkConditions(out, items(device, "conditions"), child(path, "conditions"));
  if (has(device, "data")) checkJson(out, device["data"], child(path, "data"));
  const network = maybe(device, "networkData");
  if (network !== undefined) checkNetwork(out, network, child(path, "networkData"));
}

const conditionStatuses = ["False", "True", "Unknown"];
const conditionsMax = 8;
const reasonMax = 1024;
const messageMax = 32 * 1024;
const reasonFormat = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const reasonForm = new RegExp(`^${reasonFormat}$`);
const reasonText =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
const reasonExamples = ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];

function checkConditions(out: FieldError[], conditions: readonly Fields[], path: string): void {
  if (conditions.length > conditionsMax) {
    out.push(tooMany(path, conditions.length, conditionsMax));
  }
  checkEachCondition(out, conditions, path);
}

/** Validates metav1 conditions of any kind. */
export function checkEachCondition(
  out: FieldError[],
  conditions: readonly Fields[],
  path: string,
): void {
  const repeated = new Set(repeatedAt(conditions.map((condition) => text(condition, "type"))));
  conditions.forEach((condition, i) => {
    const at = index(path, i);
    const type = text(condition, "type");
    if (repeated.has(i)) out.push(duplicate(child(at, "type"), type));
    checkLabelName(out, type, child(at, "type"));
    checkCondition(out, condition, at);
  });
}

function checkCondition(out: FieldError[], condition: Fields, path: string): void {
  const status = text(condition, "status");
  if (!conditionStatuses.includes(status)) {
    out.push(notSupported(child(path, "status"), status, conditionStatuses));
  }
  checkNonNegative(
    out,
    maybeInteger(condition, "observedGeneration"),
    child(path, "observedGeneration"),
  );
  if (!has(condition, "lastTransitionTime")) out.push(required(child(path, "lastTransitionTime")));
  const reason = text(condition, "reason");
  const at = child(path, "reason");
  if (reason === "") out.push(required(at));
  else if (!reasonForm.test(reason)) {
    out.push(invalidValue(at, reason, regexText(reasonText, reasonFormat, reasonExamples)));
  }
  if (isLonger(reason, reasonMax)) out.push(tooLong(at, reasonMax));
  if (isLonger(text(condition, "message"), messageMax))
    out.push(tooLong(child(path, "message"), messageMax));
}

const cidrText = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";

function checkNetwork(out: FieldError[], network: Fields, path: string): void {
  for (const [field, max] of [
    ["interfaceName", interfaceNameMax],
    ["hardwareAddress", hardwareAddressMax],
  ] as const) {
    if (isLonger(text(network, field), max)) out.push(tooLong(child(path, field), max));
  }
  const at = { path: child(path, "ips"), max: addressesMax, keyOf: itself };
  checkSet(out, texts(network, "ips"), at, (found, address, here) => {
    if (parseRange(address) === undefined) found.push(invalidValue(here, address, cidrText));
  });
}

function checkAllocation(
  out: FieldError[],
  allocation: Fields,
  names: ReadonlySet<string>,
  path: string,
): void {
  const devices = part(allocation, "devices");
  const results = { path: child(path, "devices", "results"), max: resultsMax };
  checkList(out, items(devices, "results"), results, (found, result, here) => {
    checkReference(found, text(result, "request"), names, child(here, "request"));
    checkDeviceNames(found, result, here);
    checkBindingConditions(found, result, here);
  });
  const configs = { path: child(path, "devices", "config"), max: 2 * configMax };
  checkList(out, items(devices, "config"), configs, (found, config, here) => {
    checkSource(found, text(config, "source"), child(here, "source"));
    checkReferences(found, config, names, here);
    checkConfiguration(found, config, here);
  });
  const selector = maybe(allocation, "nodeSelector");
  if (selector !== undefined) checkNodeSelector(out, selector, child(path, "nodeSelector"));
}

function checkSource(out: FieldError[], source: string, path: string): void {
  if (source === "") out.push(required(path));
  else if (!sources.includes(source)) out.push(notSupported(path, source, sources));
}

const uidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const uidLength = 36;
const uidText =
  "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";

function checkUid(out: FieldError[], uid: string, path: string): void {
  if (uidForm.test(uid)) return;
  const isUid = uidForm.test(uid.toLowerCase());
  const why =
    uid.length === uidLength ? "invalid UUID format" : `invalid UUID length: ${uid.length}`;
  out.push(invalidValue(path, uid, isUid ? uidText : `error validating uid: ${why}`));
}
