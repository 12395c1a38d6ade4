/**
 * Custom resource definitions: names, versions, scope, conversion. Whether a schema is structural is not
 * checked here. Texts as upstream's apiextensions/validation.
 */
import type { FieldError } from "../status.ts";
import { subdomainErrors } from "../selectors/label-syntax.ts";
import { dns1035LabelErrors } from "../names.ts";
import type { Fields } from "./fields.ts";
import { flag, has, items, maybe, part, text, textMap, texts } from "./fields.ts";
import {
  child,
  index,
  invalidEach,
  invalidValue,
  key,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkOneOf } from "./choices.ts";
import { checkImmutable } from "./immutable.ts";
import { checkClient } from "./webhooks.ts";

const scopes = ["Cluster", "Namespaced"];
const approval = "api-approved.kubernetes.io";
const protectedSuffixes = [".k8s.io", ".kubernetes.io"];

export function validateDefinition(definition: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(definition, "spec");
  const names = part(spec, "names");
  const name = text(part(definition, "metadata"), "name");
  if (name !== `${text(names, "plural")}.${text(spec, "group")}`) {
    const detail = 'must be spec.names.plural+"."+spec.group';
    out.push(invalidValue("metadata.name", name, detail));
  }
  checkGroup(out, definition, text(spec, "group"));
  checkOneOf(out, text(spec, "scope"), scopes, "spec.scope");
  checkVersions(out, spec);
  checkNames(out, names, "spec.names");
  checkConversion(out, spec);
  checkStored(out, spec, texts(part(definition, "status"), "storedVersions"));
  return out;
}

function checkGroup(out: FieldError[], definition: Fields, group: string): void {
  const path = "spec.group";
  if (group === "") out.push(required(path));
  else {
    const errors = subdomainErrors(group);
    if (errors.length > 0) out.push(invalidValue(path, group, errors.join(",")));
    else if (!group.includes(".")) {
      out.push(invalidValue(path, group, "should be a domain with at least one dot"));
    }
  }
  const isProtected = protectedSuffixes.some(
    (end) => group.endsWith(end) || group === end.slice(1),
  );
  const annotations = textMap(part(definition, "metadata"), "annotations");
  if (!isProtected || (annotations[approval] ?? "") !== "") return;
  const detail = `protected groups must have approval annotation "${approval}", see https://github.com/kubernetes/enhancements/pull/1111`;
  out.push(required(key("metadata.annotations", approval), detail));
}

function checkVersions(out: FieldError[], spec: Fields): void {
  const versions = items(spec, "versions");
  const path = "spec.versions";
  const names = versions.map((version) => text(version, "name"));
  versions.forEach((version, at) => {
    const here = index(path, at);
    const name = text(version, "name");
    const errors = dns1035LabelErrors(name);
    if (errors.length > 0) out.push(invalidValue(child(here, "name"), name, errors.join(",")));
    if (!has(part(version, "schema"), "openAPIV3Schema")) {
      out.push(required(child(here, "schema", "openAPIV3Schema"), "schemas are required"));
    }
    checkColumns(out, version, child(here, "additionalPrinterColumns"));
  });
  if (new Set(names).size < names.length) {
    out.push(invalidValue(path, versions, "must contain unique version names"));
  }
  if (versions.filter((version) => flag(version, "storage")).length !== 1) {
    const detail = "must have exactly one version marked as storage version";
    out.push(invalidValue(path, versions, detail));
  }
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];

function checkColumns(out: FieldError[], version: Fields, path: string): void {
  items(version, "additionalPrinterColumns").forEach((column, at) => {
    const here = index(path, at);
    if (text(column, "name") === "") out.push(required(child(here, "name")));
    const type = text(column, "type");
    if (type === "")
      out.push(required(child(here, "type"), `must be one of ${columnTypes.join(",")}`));
    else if (!columnTypes.includes(type)) {
      const detail = `must be one of ${columnTypes.join(",")}`;
      out.push(invalidValue(child(here, "type"), type, detail));
    }
    if (text(column, "jsonPath") === "") {
      out.push(required(child(here, "jsonPath")));
    }
  });
}

function checkNames(out: FieldError[], names: Fields, path: string): void {
  for (const field of ["plural", "singular"]) {
    const name = text(names, field);
    const at = child(path, field);
    if (name === "" && field === "plural") out.push(required(at));
    else if (name !== "") checkLabel(out, name, at);
  }
  for (const field of ["kind", "listKind"]) {
    const kind = text(names, field);
    const at = child(path, field);
    if (kind === "") out.push(required(at));
    else {
      const errors = dns1035LabelErrors(kind.toLowerCase());
      if (errors.length === 0) continue;
      const detail = `may have mixed case, but should otherwise match: ${errors.join(",")}`;
      out.push(invalidValue(at, kind, detail));
    }
  }
  if (text(names, "kind") !== "" && text(names, "kind") === text(names, "listKind")) {
    const detail = "kind and listKind may not be the same";
    out.push(invalidValue(child(path, "listKind"), text(names, "listKind"), detail));
  }
  for (const field of ["shortNames", "categories"]) {
    texts(names, field).forEach((name, at) => {
      checkLabel(out, name, index(child(path, field), at));
    });
  }
}

function checkLabel(out: FieldError[], name: string, path: string): void {
  const errors = dns1035LabelErrors(name);
  if (errors.length > 0) out.push(invalidValue(path, name, errors.join(",")));
}

const reviewVersions = ["v1", "v1beta1"];

function checkConversion(out: FieldError[], spec: Fields): void {
  const conversion = maybe(spec, "conversion");
  if (conversion === undefined) return;
  const path = "spec.conversion";
  const strategy = text(conversion, "strategy");
  const webhook = maybe(conversion, "webhook");
  if (strategy === "") out.push(required(child(path, "strategy")));
  else if (strategy !== "None" && strategy !== "Webhook") {
    out.push(notSupported(child(path, "strategy"), strategy, ["None", "Webhook"]));
  }
  if (strategy !== "Webhook") {
    if (webhook === undefined) return;
    const detail = "should not be set when strategy is not set to Webhook";
    out.push(invalidValue(child(path, "webhook"), webhook, detail));
    return;
  }
  const client = maybe(webhook ?? {}, "clientConfig");
  const at = child(path, "webhookClientConfig");
  if (client === undefined) {
    out.push(required(at, "required when strategy is set to Webhook"));
  } else checkClient(out, client, at);
  const versions = texts(webhook ?? {}, "conversionReviewVersions");
  const field = child(path, "conversionReviewVersions");
  if (versions.length === 0) out.push(required(field));
  else if (!versions.some((version) => reviewVersions.includes(version))) {
    const detail = `must include at least one of ${reviewVersions.join(", ")}`;
    out.push(invalidValue(field, versions, detail));
  }
}

/** What was ever stored has to stay readable. */
function checkStored(out: FieldError[], spec: Fields, stored: readonly string[]): void {
  const path = "status.storedVersions";
  if (stored.length === 0) {
    out.push(invalidValue(path, stored, "must have at least one stored version"));
    return;
  }
  const versions = items(spec, "versions");
  const names = new Set(versions.map((version) => text(version, "name")));
  stored.forEach((name, at) => {
    if (names.has(name)) return;
    out.push(invalidValue(index(path, at), name, "must appear in spec.versions"));
  });
  const storage = versions.find((version) => flag(version, "storage"));
  const current = text(storage ?? {}, "name");
  if (storage === undefined || stored.includes(current)) return;
  const detail = `must have the storage version ${current}`;
  out.push(invalidValue(path, stored, detail));
}

export function validateDefinitionUpdate(next: Fields, old: Fields): FieldError[] {
  const out = validateDefinition(next);
  const spec = part(next, "spec");
  const before = part(old, "spec");
  const established = items(part(old, "status"), "conditions").some(
    (condition) =>
      text(condition, "type") === "Established" && text(condition, "status") === "True",
  );
  if (established) {
    checkImmutable(out, spec, before, { field: "scope", path: "spec" });
    const names = { next: part(spec, "names"), old: part(before, "names") };
    checkImmutable(out, names.next, names.old, { field: "kind", path: "spec.names" });
  }
  checkImmutable(out, spec, before, { field: "group", path: "spec" });
  checkImmutable(out, part(spec, "names"), part(before, "names"), {
    field: "plural",
    path: "spec.names",
  });
  return out;
}

export function validateDefinitionStatus(next: Fields): FieldError[] {
  const out: FieldError[] = [];
  const status = part(next, "status");
  checkStored(out, part(next, "spec"), texts(status, "storedVersions"));
  const plural = text(part(status, "acceptedNames"), "plural");
  if (plural !== "") {
    append(out, invalidEach("status.acceptedNames.plural", plural, dns1035LabelErrors(plural)));
  }
  return out;
}
