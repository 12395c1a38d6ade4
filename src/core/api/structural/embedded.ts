/**
 * Checks that resources embedded in a custom object have an apiVersion, a kind and valid metadata.
 *
 * After  apiextensions-apiserver pkg/apiserver/schema/objectmeta/validation.go.
 */
import { ownEntry } from "#base/own.ts";
import { validateMetadata } from "../meta.ts";
import { dns1035LabelErrors, type NameValidator } from "../names.ts";
import type { JsonObject, JsonValue, ObjectMeta } from "../object.ts";
import type { FieldError } from "../status.ts";
import { append, child, index, invalidValue, key, required } from "../validation/errors.ts";
import { decodeMetadata } from "./coerce.ts";
import type { Structural } from "./structural.ts";

/** Errors of embedded resources; the object's own metadata is validated elsewhere, as for every kind. */
export function embeddedErrors(object: JsonObject, node: Structural): FieldError[] {
  const out: FieldError[] = [];
  checkBelow(out, object, node, "");
  return out;
}

/** Errors of a default that is a resource, which is checked like an embedded one. */
export function resourceErrors(object: JsonObject, node: Structural, path: string): FieldError[] {
  const out: FieldError[] = [];
  checkResource(out, object, path);
  checkBelow(out, object, node, path);
  return out;
}

export function embeddedErrorsOf(value: JsonValue, node: Structural, path: string): FieldError[] {
  const out: FieldError[] = [];
  checkAny(out, value, node, path);
  return out;
}

function checkAny(out: FieldError[], value: JsonValue, node: Structural, path: string): void {
  if (!node.hasEmbedded || typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) {
    if (node.isEmbeddedResource) checkResource(out, value as JsonObject, path);
    checkBelow(out, value as JsonObject, node, path);
    return;
  }
  const { items } = node;
  if (items === undefined) return;
  (value as readonly JsonValue[]).forEach((item, at) => {
    checkAny(out, item, items, index(path, at));
  });
}

function checkBelow(out: FieldError[], object: JsonObject, node: Structural, path: string): void {
  if (!node.hasEmbedded) return;
  const { additional } = node;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (typeof value !== "object" || value === null) continue;
    const property = node.property(name);
    if (property !== undefined) checkAny(out, value, property, child(path, name));
    else if (typeof additional === "object") checkAny(out, value, additional, key(path, name));
  }
}

/** Any name that is allowed in a path. */
const pathSegment: NameValidator = (name, prefix) => {
  if (!prefix && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"].filter((bad) => name.includes(bad)).map((bad) => `may not contain '${bad}'`);
};

function checkResource(out: FieldError[], object: JsonObject, path: string): void {
  for (const name of ["apiVersion", "kind"]) {
    if (ownEntry(object, name) === undefined) out.push(required(child(path, name)));
  }
  checkApiVersion(out, ownEntry(object, "apiVersion"), child(path, "apiVersion"));
  checkKind(out, ownEntry(object, "kind"), child(path, "kind"));
  const metadata = ownEntry(object, "metadata");
  if (metadata === undefined) return;
  const at = child(path, "metadata");
  const decoded = decodeMetadata(metadata);
  if (decoded.kind === "error") {
    out.push(invalidValue(at, metadata, decoded.message));
    return;
  }
  const meta = decoded.metadata as ObjectMeta; // decoded by its schema
  const named = (meta.name ?? "") === "" ? { ...meta, name: "fakename" } : meta;
  const namespaced = (meta.namespace ?? "") !== "";
  append(out, validateMetadata(named, { namespaced, nameValidator: pathSegment }, at));
}

function checkApiVersion(out: FieldError[], value: JsonValue | undefined, path: string): void {
  if (value === undefined) return;
  if (typeof value !== "string") out.push(invalidValue(path, value, "must be a string"));
  else if (value === "") out.push(invalidValue(path, value, "must not be empty"));
  else if (value.split("/").length > 2) {
    out.push(invalidValue(path, value, `unexpected GroupVersion string: ${value}`));
  }
}

function checkKind(out: FieldError[], value: JsonValue | undefined, path: string): void {
  if (value === undefined) return;
  if (typeof value !== "string") out.push(invalidValue(path, value, "must be a string"));
  else if (value === "") out.push(invalidValue(path, value, "must not be empty"));
  else {
    const errors = dns1035LabelErrors(value.toLowerCase());
    if (errors.length === 0) return;
    const detail = `may have mixed case, but should otherwise match: ${errors.join(",")}`;
    out.push(invalidValue(path, value, detail));
  }
}
