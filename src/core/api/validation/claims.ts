/** Persistent volume claims: stand-alone, in templates, and in pods. */
import { compareQuantities, tryParseQuantity } from "../values/quantity.ts";
import type { FieldError } from "../status.ts";
import { subdomainErrors } from "../selectors/label-syntax.ts";
import { dnsLabelName, dnsSubdomainName } from "../names.ts";
import { validateLabelSelector } from "../meta.ts";
import type { Fields } from "./fields.ts";
import { has, maybe, maybeText, part, text, textMap, texts } from "./fields.ts";
import {
  child,
  forbiddenField,
  invalidEach,
  invalidValue,
  key,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { semanticEqual } from "./equal.ts";
import { describeChange } from "./describe.ts";
import { checkResourceAmount, readQuantity } from "./resources.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
export const volumeModes = ["Block", "Filesystem"];
const betaClassAnnotation = "volume.beta.kubernetes.io/storage-class";

/** `missing`: the detail of the finding about an empty list. */
export function checkAccessModes(
  out: FieldError[],
  modes: readonly string[],
  path: string,
  missing: string,
): void {
  if (modes.length === 0) out.push(required(path, missing));
  for (const mode of modes) {
    if (!accessModes.includes(mode)) out.push(notSupported(path, mode, accessModes));
  }
  const exclusive = modes.includes("ReadWriteOncePod");
  const others = modes.some((mode) => mode !== "ReadWriteOncePod" && accessModes.includes(mode));
  if (exclusive && others) {
    out.push(forbiddenField(path, "may not use ReadWriteOncePod with other access modes"));
  }
}

export function checkClaimSpec(out: FieldError[], spec: Fields, path: string): void {
  const modes = texts(spec, "accessModes");
  checkAccessModes(out, modes, child(path, "accessModes"), "at least 1 access mode is required");
  append(out, validateLabelSelector(maybe(spec, "selector"), child(path, "selector")));
  checkStorageRequest(out, spec, key(child(path, "resources"), "storage"));
  for (const field of ["storageClassName", "volumeAttributesClassName"]) {
    const name = text(spec, field);
    if (name === "") continue;
    append(out, invalidEach(child(path, field), name, dnsSubdomainName(name, false)));
  }
  const mode = maybeText(spec, "volumeMode");
  if (mode !== undefined && !volumeModes.includes(mode)) {
    out.push(notSupported(child(path, "volumeMode"), mode, volumeModes));
  }
  checkDataSources(out, spec, path);
}

function checkStorageRequest(out: FieldError[], spec: Fields, path: string): void {
  const requests = part(part(spec, "resources"), "requests");
  if (!has(requests, "storage")) {
    out.push(required(path));
    return;
  }
  const amount = readQuantity(out, requests["storage"], path);
  if (amount === undefined) return;
  if (amount.nanos <= 0n) {
    out.push(invalidValue(path, requests["storage"], "must be greater than zero"));
  } else checkResourceAmount(out, "storage", amount, path);
}

function checkDataSources(out: FieldError[], spec: Fields, path: string): void {
  const source = maybe(spec, "dataSource");
  const reference = maybe(spec, "dataSourceRef");
  if (source !== undefined) checkDataSource(out, source, child(path, "dataSource"));
  if (reference === undefined) return;
  const at = child(path, "dataSourceRef");
  checkDataSource(out, reference, at);
  const namespace = text(reference, "namespace");
  if (namespace !== "") {
    const errors = dnsLabelName(namespace, false);
    append(out, invalidEach(child(at, "namespace"), namespace, errors));
  }
  if (source === undefined) return;
  const shown = child(path, "dataSource");
  if (namespace !== "") {
    const detail = "may not be specified when dataSourceRef.namespace is specified";
    out.push(invalidValue(path, shown, detail));
  } else if (!semanticEqual(source, reference)) {
    out.push(invalidValue(path, shown, "must match dataSourceRef"));
  }
}

function checkDataSource(out: FieldError[], source: Fields, path: string): void {
  if (text(source, "name") === "") out.push(required(child(path, "name")));
  const kind = text(source, "kind");
  if (kind === "") out.push(required(child(path, "kind")));
  const group = text(source, "apiGroup");
  if (group === "" && kind !== "PersistentVolumeClaim") {
    const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    out.push(invalidValue(path, kind, detail));
  }
  if (group !== "")
    append(out, invalidEach(child(path, "apiGroup"), group, subdomainErrors(group)));
}

export function validateClaim(claim: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkClaimSpec(out, part(claim, "spec"), "spec");
  return out;
}

/** Bound claims may grow and change their attributes class; volumeName is set once. */
export function validateClaimUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateClaim(next);
  checkClassAnnotation(out, next, old);
  const spec = part(next, "spec");
  const before = part(old, "spec");
  const masked = maskClaim(spec, next, old);
  if (!semanticEqual(masked, before)) {
    const detail =
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims" +
      describeChange(before, masked);
    out.push(forbiddenField("spec", detail));
  }
  checkShrink(out, spec, old);
  checkAttributesClass(out, spec, before);
  return out;
}

function checkClassAnnotation(out: FieldError[], next: Fields, old: Fields): void {
  const value = textMap(part(next, "metadata"), "annotations")[betaClassAnnotation] ?? "";
  const before = textMap(part(old, "metadata"), "annotations")[betaClassAnnotation] ?? "";
  if (value === before) return;
  const path = `metadata.annotations.${betaClassAnnotation}`;
  out.push(invalidValue(path, value, "field is immutable"));
}

/** The new spec in which every field that may change is restored. */
function maskClaim(spec: Fields, next: Fields, old: Fields): Fields {
  const before = part(old, "spec");
  const masked: Record<string, unknown> = { ...spec };
  if (text(before, "volumeName") === "") delete masked["volumeName"];
  if (!has(before, "storageClassName") && has(spec, "storageClassName")) {
    const annotated = textMap(part(old, "metadata"), "annotations")[betaClassAnnotation];
    if (annotated === undefined || annotated === text(spec, "storageClassName")) {
      delete masked["storageClassName"];
    }
  }
  if (text(part(next, "status"), "phase") !== "Bound") return masked;
  const resources = part(spec, "resources");
  if (has(resources, "requests")) {
    const storage = part(part(before, "resources"), "requests")["storage"];
    const requests = { ...part(resources, "requests"), storage };
    masked["resources"] = { ...resources, requests };
  }
  if (has(spec, "volumeAttributesClassName")) {
    masked["volumeAttributesClassName"] = before["volumeAttributesClassName"];
  }
  return masked;
}

/** A request may shrink only to undo a failed expansion, and stays above the current capacity. */
function checkShrink(out: FieldError[], spec: Fields, old: Fields): void {
  const wanted = storageOf(part(part(spec, "resources"), "requests"));
  const before = storageOf(part(part(part(old, "spec"), "resources"), "requests"));
  if (wanted === undefined || before === undefined) return;
  if (compareQuantities(wanted, before) >= 0) return;
  const actual = storageOf(part(part(old, "status"), "capacity"));
  if (actual !== undefined && compareQuantities(wanted, actual) > 0) return;
  const path = "spec.resources.requests.storage";
  out.push(forbiddenField(path, "field can not be less than status.capacity"));
}

function storageOf(list: Fields) {
  const storage = list["storage"];
  return typeof storage === "string" ? tryParseQuantity(storage) : undefined;
}

function checkAttributesClass(out: FieldError[], spec: Fields, before: Fields): void {
  if (!has(before, "volumeAttributesClassName")) return;
  const path = "spec.volumeAttributesClassName";
  if (!has(spec, "volumeAttributesClassName")) {
    out.push(forbiddenField(path, "update from non-nil value to nil is forbidden"));
  } else if (
    text(spec, "volumeAttributesClassName") === "" &&
    text(before, "volumeAttributesClassName") !== ""
  ) {
    out.push(forbiddenField(path, "update from non-nil value to an empty string is forbidden"));
  }
}

export function validateClaimStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  if (texts(part(next, "spec"), "accessModes").length === 0) {
    out.push(required("Spec.accessModes"));
  }
  const capacity = part(part(next, "status"), "capacity");
  for (const name of Object.keys(capacity).sort()) {
    const path = key("status.capacity", name);
    const amount = readQuantity(out, capacity[name], path);
    if (amount !== undefined && amount.nanos < 0n) {
      out.push(invalidValue(path, capacity[name], "must be a valid resource quantity"));
    }
  }
  return out;
}
