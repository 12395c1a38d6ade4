/** Volumes of the cluster, their classes, drivers and attachments. Texts as upstream's. */
import { checkDriverName } from "./text.ts";
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import { dnsSubdomainName } from "../names.ts";
import { validateLabelSelector } from "../meta.ts";
import type { Fields } from "./fields.ts";
import {
  count,
  has,
  isFields,
  items,
  maybe,
  maybeNumber,
  maybeText,
  part,
  sortKeys,
  text,
  textMap,
  texts,
  firstByText,
} from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  required,
  tooLong,
  tooMany,
  append,
  repeatedAt,
} from "./errors.ts";
import { checkIfGiven, checkOneOf } from "./choices.ts";
import { semanticEqual, semanticKey } from "./equal.ts";
import { checkImmutable, immutableText } from "./immutable.ts";
import { checkCounters } from "./numbers.ts";
import { readQuantity } from "./resources.ts";
import { checkLabelName } from "./scheduling.ts";

const parametersMax = 512;
const parametersBytesMax = 256 * 1024;
const reclaimPolicies = ["Delete", "Retain"];
const bindingModes = ["Immediate", "WaitForFirstConsumer"];

export function validateStorageClass(storageClass: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkProvisioner(out, text(storageClass, "provisioner"), "provisioner");
  checkParameters(out, textMap(storageClass, "parameters"), "parameters");
  checkReclaimPolicy(out, text(storageClass, "reclaimPolicy"), "reclaimPolicy");
  const mode = maybeText(storageClass, "volumeBindingMode");
  if (mode === undefined) out.push(required("volumeBindingMode"));
  else checkIfGiven(out, mode, bindingModes, "volumeBindingMode");
  checkTopologies(out, items(storageClass, "allowedTopologies"), "allowedTopologies");
  return out;
}

function checkProvisioner(out: FieldError[], provisioner: string, path: string): void {
  if (provisioner === "") out.push(required(path));
  else {
    const name = provisioner.toLowerCase();
    append(out, invalidEach(path, name, qualifiedNameErrors(name)));
  }
}

function checkParameters(
  out: FieldError[],
  parameters: Readonly<Record<string, string>>,
  path: string,
): void {
  const names = sortKeys(parameters);
  if (names.length > parametersMax) {
    out.push(tooLong("Provisioner Parameters", parametersMax));
    return;
  }
  let size = 0;
  for (const name of names) {
    if (name === "") out.push(invalidValue(path, name, "field can not be empty."));
    size += name.length + (parameters[name] ?? "").length;
  }
  if (size > parametersBytesMax) out.push(tooLong(path, parametersBytesMax));
}

function checkReclaimPolicy(out: FieldError[], policy: string, path: string): void {
  if (policy !== "") checkOneOf(out, policy, reclaimPolicies, path);
}

function checkTopologies(out: FieldError[], terms: readonly Fields[], path: string): void {
  const repeated = new Set(repeatedAt(terms.map(semanticKey)));
  terms.forEach((term, at) => {
    if (repeated.has(at)) {
      out.push(duplicate(child(index(path, at), "matchLabelExpressions"), ""));
    }
    const keys = new Set<string>();
    items(term, "matchLabelExpressions").forEach((expression, i) => {
      const here = index(child(index(path, at), "matchLabelExpressions"), i);
      const name = text(expression, "key");
      const values = texts(expression, "values");
      if (values.length === 0) out.push(required(child(here, "values")));
      for (const j of repeatedAt(values)) {
        out.push(duplicate(index(child(here, "values"), j), values[j]));
      }
      if (keys.has(name)) out.push(duplicate(child(here, "key"), name));
      keys.add(name);
      checkLabelName(out, name, child(here, "key"));
    });
  });
}

export function validateStorageClassUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateStorageClass(next);
  for (const field of ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"]) {
    checkImmutable(out, next, old, { field, path: "" });
  }
  return out;
}

const fsGroupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];
const lifecycleModes = ["Ephemeral", "Persistent"];

export function validateCsiDriver(driver: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(driver, "spec");
  for (const field of ["attachRequired", "podInfoOnMount", "storageCapacity"]) {
    if (!has(spec, field)) out.push(required(child("spec", field)));
  }
  const policy = maybeText(spec, "fsGroupPolicy");
  if (policy === undefined) out.push(required("spec.fsGroupPolicy"));
  else checkIfGiven(out, policy, fsGroupPolicies, "spec.fsGroupPolicy");
  checkTokenRequests(out, items(spec, "tokenRequests"), "spec.tokenRequests");
  texts(spec, "volumeLifecycleModes").forEach((mode) => {
    checkIfGiven(out, mode, lifecycleModes, "spec.volumeLifecycleModes");
  });
  const period = maybeNumber(spec, "nodeAllocatableUpdatePeriodSeconds");
  if (period !== undefined && period < allocatableSecondsMin) {
    const path = "spec.nodeAllocatableUpdatePeriodSeconds";
    const detail = `must be greater than or equal to ${allocatableSecondsMin} seconds`;
    out.push(invalidValue(path, period, detail));
  }
  const field = "serviceAccountTokenInSecrets";
  if (has(spec, field) && count(spec, "tokenRequests") === 0) {
    const detail = `${field} is set but no tokenRequests are specified`;
    out.push(invalidValue(child("spec", field), spec[field], detail)); // an own key
  }
  return out;
}

const allocatableSecondsMin = 10;
const tokenSecondsMin = 600;
const tokenSecondsMax = 2 ** 32;

function checkTokenRequests(out: FieldError[], requests: readonly Fields[], path: string): void {
  const seen = new Set<string>();
  requests.forEach((request, at) => {
    const here = index(path, at);
    const audience = text(request, "audience");
    if (seen.has(audience)) out.push(duplicate(child(here, "audience"), audience));
    seen.add(audience);
    const seconds = request["expirationSeconds"];
    if (typeof seconds !== "number") return;
    const field = child(here, "expirationSeconds");
    if (seconds < tokenSecondsMin) {
      out.push(invalidValue(field, seconds, "may not specify a duration less than 10 minutes"));
    }
    if (seconds > tokenSecondsMax) {
      out.push(invalidValue(field, seconds, "may not specify a duration larger than 2^32 seconds"));
    }
  });
}

export function validateCsiDriverUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateCsiDriver(next);
  for (const field of ["attachRequired", "volumeLifecycleModes"]) {
    checkImmutable(out, part(next, "spec"), part(old, "spec"), { field, path: "spec" });
  }
  return out;
}

const nodeIdMax = 192;

export function validateCsiNode(node: Fields): FieldError[] {
  const out: FieldError[] = [];
  const seen = new Set<string>();
  items(part(node, "spec"), "drivers").forEach((driver, at) => {
    const path = index("spec.drivers", at);
    const name = text(driver, "name");
    checkDriverName(out, name, child(path, "name"));
    const id = text(driver, "nodeID");
    if (id === "") out.push(required(child(path, "nodeID"), id));
    if (id.length > nodeIdMax) {
      const detail = `must be ${nodeIdMax} characters or less`;
      out.push(invalidValue(child(path, "nodeID"), id, detail));
    }
    checkCounters(out, part(driver, "allocatable"), ["count"], child(path, "allocatable"));
    checkTopologyKeys(out, texts(driver, "topologyKeys"), child(path, "topologyKeys"));
    if (seen.has(name)) out.push(duplicate(child(path, "name"), name));
    seen.add(name);
  });
  return out;
}

function checkTopologyKeys(out: FieldError[], keys: readonly string[], path: string): void {
  const repeated = new Set(repeatedAt(keys));
  keys.forEach((name, at) => {
    if (name === "") out.push(required(path));
    if (repeated.has(at)) out.push(duplicate(path, name));
    append(out, invalidEach(path, name, qualifiedNameErrors(name)));
  });
}

/** A driver's entry for a node is immutable; drivers can be added and removed. */
export function validateCsiNodeUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateCsiNode(next);
  const path = "spec.drivers";
  const drivers = firstByText(items(part(next, "spec"), "drivers"), "name");
  for (const before of items(part(old, "spec"), "drivers")) {
    const now = drivers.get(text(before, "name"));
    if (now === undefined) continue;
    const { allocatable: limit, ...rest } = now;
    const { allocatable: was, ...kept } = before;
    void [limit, was];
    if (!semanticEqual(rest, kept)) out.push(invalidValue(path, now, immutableText));
  }
  return out;
}

export function validateStorageCapacity(capacity: Fields): FieldError[] {
  const out: FieldError[] = [];
  const name = text(capacity, "storageClassName");
  append(out, invalidEach("storageClassName", name, dnsSubdomainName(name, false)));
  const topology = maybe(capacity, "nodeTopology");
  append(out, validateLabelSelector(topology, "nodeTopology"));
  for (const field of ["capacity", "maximumVolumeSize"]) {
    if (!has(capacity, field)) continue;
    const amount = readQuantity(out, capacity[field], field);
    if (amount !== undefined && amount.nanos < 0n) {
      out.push(invalidValue(field, capacity[field], "must be greater than or equal to 0"));
    }
  }
  return out;
}

export function validateStorageCapacityUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateStorageCapacity(next);
  for (const field of ["nodeTopology", "storageClassName"]) {
    checkImmutable(out, next, old, { field, path: "" });
  }
  return out;
}

export function validateAttachment(attachment: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(attachment, "spec");
  const attacher = text(spec, "attacher");
  if (attacher === "") out.push(required("spec.attacher"));
  else checkDriverName(out, attacher, "spec.attacher");
  const source = part(spec, "source");
  const path = "spec.source";
  const byName = text(source, "persistentVolumeName");
  const inline = isFields(source["inlineVolumeSpec"]);
  if (!inline && !has(source, "persistentVolumeName")) {
    out.push(
      required(path, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"),
    );
  } else if (inline && has(source, "persistentVolumeName")) {
    const detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    out.push(forbiddenField(path, detail));
  } else if (!inline && byName === "") {
    out.push(
      required(child(path, "persistentVolumeName"), "must specify non empty persistentVolumeName"),
    );
  }
  const node = text(spec, "nodeName");
  append(out, invalidEach("spec.nodeName", node, dnsSubdomainName(node, false)));
  if (has(source, "persistentVolumeName")) {
    const named = child(path, "persistentVolumeName");
    append(out, invalidEach(named, byName, dnsSubdomainName(byName, false)));
  }
  return out;
}

export function validateAttachmentUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateAttachment(next);
  if (!semanticEqual(part(next, "spec"), part(old, "spec"))) {
    out.push(invalidValue("spec", next["spec"], immutableText));
  }
  return out;
}

const attributesMax = 512;

export function validateAttributesClass(attributes: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkProvisioner(out, text(attributes, "driverName"), "driverName");
  const parameters = textMap(attributes, "parameters");
  const size = Object.keys(parameters).length;
  if (size === 0) {
    out.push(required("parameters", "must contain at least one key/value pair"));
  } else if (size > attributesMax) out.push(tooMany("parameters", size, attributesMax));
  else checkParameters(out, parameters, "parameters");
  return out;
}

export function validateAttributesClassUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateAttributesClass(next);
  for (const field of ["driverName", "parameters"]) {
    if (semanticEqual({ [field]: next[field] }, { [field]: old[field] })) continue;
    out.push(forbiddenField(field, `updates to ${field} are forbidden.`));
  }
  return out;
}
