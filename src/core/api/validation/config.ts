/** Config maps, secrets, namespaces, leases. Texts as upstream's core and coordination validation. */
import { ownEntry } from "#base/own.ts";
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import { validateKubeFinalizer } from "../meta.ts";
import { base64Length, decodeBase64Text } from "../defaults/base64.ts";
import type { Fields } from "./fields.ts";
import {
  flag,
  has,
  maybeNumber,
  maybeText,
  part,
  sortKeys,
  text,
  textMap,
  texts,
} from "./fields.ts";
import {
  child,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  key,
  required,
  tooLong,
  append,
} from "./errors.ts";
import { semanticEqual } from "./equal.ts";
import { checkImmutable } from "./immutable.ts";
import { checkCounters } from "./numbers.ts";
import { configKeyErrors } from "./text.ts";

const dataBytesMax = 1024 * 1024;
/** Upstream's name for the whole object. */
const wholeObject = "[]";

const encoder = new TextEncoder();

export function validateConfigMap(map: Fields): FieldError[] {
  const out: FieldError[] = [];
  const data = textMap(map, "data");
  const binary = textMap(map, "binaryData");
  let size = 0;
  for (const name of sortKeys(data)) {
    checkKey(out, name, "data");
    if (Object.hasOwn(binary, name)) {
      out.push(invalidValue(key("data", name), name, "duplicate of key present in binaryData"));
    }
    size += encoder.encode(data[name]).byteLength;
  }
  for (const name of sortKeys(binary)) {
    checkKey(out, name, "binaryData");
    size += base64Length(binary[name] ?? "") ?? 0;
  }
  if (size > dataBytesMax) out.push(tooLong(wholeObject, dataBytesMax));
  return out;
}

function checkKey(out: FieldError[], name: string, path: string): void {
  append(out, invalidEach(key(path, name), name, configKeyErrors(name)));
}

export function validateConfigMapUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkSealed(out, next, old, ["data", "binaryData"]);
  append(out, validateConfigMap(next));
  return out;
}

/** `immutable: true` can never be reverted. */
function checkSealed(
  out: FieldError[],
  next: Fields,
  old: Fields,
  fields: readonly string[],
): void {
  if (!flag(old, "immutable")) return;
  const detail = "field is immutable when `immutable` is set";
  if (!flag(next, "immutable")) out.push(forbiddenField("immutable", detail));
  for (const field of fields) {
    if (!semanticEqual(part(next, field), part(old, field)))
      out.push(forbiddenField(field, detail));
  }
}

export function validateSecret(secret: Fields): FieldError[] {
  const out: FieldError[] = [];
  const data = textMap(secret, "data");
  let size = 0;
  for (const name of sortKeys(data)) {
    checkKey(out, name, "data");
    size += base64Length(data[name] ?? "") ?? 0;
  }
  if (size > dataBytesMax) out.push(tooLong("data", dataBytesMax));
  checkSecretType(out, secret, data);
  return out;
}

const accountAnnotation = "kubernetes.io/service-account.name";

/** Required keys by type of secret. */
const neededKeys: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
};

function checkSecretType(
  out: FieldError[],
  secret: Fields,
  data: Readonly<Record<string, string>>,
): void {
  const type = text(secret, "type");
  for (const name of ownEntry(neededKeys, type) ?? []) {
    if (data[name] === undefined) out.push(required(key("data", name)));
    else if (name.startsWith(".")) checkJson(out, data[name], key("data", name));
    else if (type === "kubernetes.io/ssh-auth" && data[name] === "") {
      out.push(required(key("data", name)));
    }
  }
  if (type === "kubernetes.io/service-account-token") {
    const annotations = textMap(part(secret, "metadata"), "annotations");
    if ((annotations[accountAnnotation] ?? "") === "") {
      out.push(required(key("metadata.annotations", accountAnnotation)));
    }
  }
  if (type !== "kubernetes.io/basic-auth") return;
  const names = ["username", "password"];
  if (names.some((name) => data[name] !== undefined)) return;
  for (const name of names) out.push(required(key("data", name)));
}

function checkJson(out: FieldError[], encoded: string, path: string): void {
  const json = decodeBase64Text(encoded) ?? "";
  try {
    JSON.parse(json);
  } catch {
    out.push(invalidValue(path, "<secret contents redacted>", goJsonError(json)));
  }
}

/** The two most frequent errors of Go's decoder: empty input, and an invalid first character. */
function goJsonError(json: string): string {
  const start = json.trimStart();
  if (start === "" || /^[[{"]/.test(start)) return "unexpected end of JSON input";
  return `invalid character '${start[0] ?? ""}' looking for beginning of value`;
}

export function validateSecretUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkImmutable(out, next, old, { field: "type", path: "", zero: "" });
  checkSealed(out, next, old, ["data"]);
  append(out, validateSecret(next));
  return out;
}

function checkFinalizers(out: FieldError[], namespace: Fields): void {
  texts(part(namespace, "spec"), "finalizers").forEach((name, at) => {
    const path = index("spec.finalizers", at);
    append(out, invalidEach(path, name, qualifiedNameErrors(name)));
    append(out, validateKubeFinalizer(name, path));
  });
}

export function validateNamespace(namespace: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkFinalizers(out, namespace);
  return out;
}

export function validateNamespaceStatus(next: Fields): FieldError[] {
  const phase = text(part(next, "status"), "phase");
  const deleted = has(part(next, "metadata"), "deletionTimestamp");
  const expected = deleted ? "Terminating" : "Active";
  if (phase === expected) return [];
  const detail = deleted
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  return [invalidValue("status.Phase", phase, detail)];
}

export function validateLease(lease: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(lease, "spec");
  const seconds = maybeNumber(spec, "leaseDurationSeconds");
  if (seconds !== undefined && seconds <= 0) {
    out.push(invalidValue("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
  }
  checkCounters(out, spec, ["leaseTransitions"], "spec");
  const strategy = maybeText(spec, "strategy");
  if (strategy !== undefined) {
    append(out, invalidEach(child("spec", "strategy"), strategy, qualifiedNameErrors(strategy)));
  }
  if (strategy === undefined && text(spec, "preferredHolder") !== "") {
    const detail = "may only be specified when `strategy` is defined";
    out.push(forbiddenField("spec.preferredHolder", detail));
  }
  return out;
}
