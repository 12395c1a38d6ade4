/**
 * Object metadata on its way into the store: fields that the server fills, fields that a client may not change, and
 * the rules that every kind shares (apimachinery api/validation/objectmeta.go, registry/rest).
 *
 * Order of a create: prepareMetadataForCreate -> strategy.prepareForCreate -> validateMetadata.
 * Order of an update: prepareMetadataForUpdate -> strategy.prepareForUpdate -> validateMetadataUpdate.
 */
import { given } from "#base/given.ts";
import type { AnyObject, ObjectMeta, OwnerReference } from "./object.ts";
import { parseApiVersion } from "./object.ts";
import { badRequest, type FieldError } from "./status.ts";
import { labelValueErrors, qualifiedNameErrors } from "./selectors/label-syntax.ts";
import type { NameRandom, NameValidator } from "./names.ts";
import { dnsLabelName, generateName } from "./names.ts";
import { byText, text, without } from "./validation/fields.ts";
import {
  child,
  forbiddenField,
  invalidEach,
  invalidValue,
  required,
  tooLong,
  append,
} from "./validation/errors.ts";
import { semanticEqual, semanticKey } from "./validation/equal.ts";

/** Total of all keys and values: 256 KiB. */
const annotationBytesMax = 256 * 1024;
const fieldManagerBytesMax = 128;

interface CreateFacts {
  /** From the request path; "" for cluster-scoped resources. */
  readonly namespace: string;
  readonly uid: string;
  /** RFC 3339, second precision, UTC. */
  readonly creationTimestamp: string;
  /** Source of the suffix when only generateName is given. */
  readonly random: NameRandom;
}

/** Clears and sets the fields that only the server sets; generates the name when only generateName is given. */
export function prepareMetadataForCreate(object: AnyObject, facts: CreateFacts): AnyObject {
  const kept = without(object.metadata ?? {}, [
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "namespace",
  ]);
  const name = kept.name ?? "";
  const base = kept.generateName ?? "";
  return {
    ...object,
    metadata: {
      ...kept,
      ...(name === "" && base !== "" ? { name: generateName(base, facts.random) } : {}),
      ...(facts.namespace === "" ? {} : { namespace: facts.namespace }),
      uid: facts.uid,
      creationTimestamp: facts.creationTimestamp,
    },
  };
}

/** Copies from `old` the fields that an update cannot change, so that clients may omit them. */
export function prepareMetadataForUpdate(next: AnyObject, old: AnyObject): AnyObject {
  const { deletionTimestamp } = next.metadata ?? {};
  const kept = without(next.metadata ?? {}, ["selfLink", "generation", "creationTimestamp"]);
  const before = old.metadata ?? {};
  const grace = kept.deletionGracePeriodSeconds ?? before.deletionGracePeriodSeconds;
  const deleted = before.deletionTimestamp ?? deletionTimestamp;
  const metadata: ObjectMeta = {
    ...kept,
    ...((kept.uid ?? "") === "" && before.uid !== undefined ? { uid: before.uid } : {}),
    ...given({
      generation: before.generation,
      creationTimestamp: before.creationTimestamp,
      deletionTimestamp: deleted,
      deletionGracePeriodSeconds: grace,
    }),
  };
  return { ...next, metadata };
}

/** Restores the metadata that a status write may not change: labels, annotations, owners, finalizers, generation. */
export function resetMetadataForStatus(next: AnyObject, old: AnyObject): AnyObject {
  const before = old.metadata ?? {};
  const metadata: Record<string, unknown> = { ...next.metadata };
  const fields = [
    "deletionTimestamp",
    "generation",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
  ] as const;
  for (const field of fields) {
    // own keys: a list of ours.
    if (before[field] === undefined) delete metadata[field];
    else metadata[field] = before[field];
  }
  delete metadata["selfLink"];
  return { ...next, metadata: metadata as ObjectMeta };
}

/**
 * Drops repeated owner references, which are equal in every field; `warning` is the text for the client. Upstream
 * checks the object that a create or update sent, and the result of mutating admission for any write.
 */
export function dedupOwnerReferences(
  object: AnyObject,
  when: "as sent" | "after admission",
): {
  readonly object: AnyObject;
  readonly warning: string | undefined;
} {
  const owners = object.metadata?.ownerReferences ?? [];
  if (owners.length < 2) return { object, warning: undefined };
  const kept: OwnerReference[] = [];
  const repeated: string[] = [];
  const known = new Set<string>();
  for (const owner of owners) {
    const key = semanticKey(owner);
    if (known.has(key)) repeated.push(owner.uid);
    else kept.push(owner);
    known.add(key);
  }
  if (repeated.length === 0) return { object, warning: undefined };
  const after = when === "as sent" ? "" : " after mutating admission happens";
  const warning =
    `.metadata.ownerReferences contains duplicate entries${after}; API server dedups owner ` +
    "references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; " +
    `duplicate UID(s) observed: ${repeated.join(", ")}`;
  const metadata = { ...object.metadata, ownerReferences: kept };
  return { object: { ...object, metadata }, warning };
}

interface MetadataRules {
  readonly namespaced: boolean;
  readonly nameValidator: NameValidator;
  /** "any": finalizers without a domain are allowed. Absent: "standard". */
  readonly finalizers?: FinalizerRule;
}

/** Kinds of other API servers accept any qualified name; the core server restricts them. */
type FinalizerRule = "any" | "standard";

export function finalizerRule(info: {
  readonly group: string;
  readonly isCustom?: true;
}): FinalizerRule {
  return info.isCustom === true || info.group === "apiextensions.k8s.io" ? "any" : "standard";
}

/** Validates complete metadata, after name generation. Also run on updates, before the update rules. */
export function validateMetadata(
  meta: ObjectMeta,
  rules: MetadataRules,
  path = "metadata",
): FieldError[] {
  const errors = validateName(meta, rules.nameValidator, path);
  append(errors, validateNamespace(meta, rules.namespaced, path));
  if ((meta.generation ?? 0) < 0) {
    const at = child(path, "generation");
    errors.push(invalidValue(at, meta.generation, "must be greater than or equal to 0"));
  }
  append(errors, validateSharedMetadata(meta, path, rules.finalizers));
  return errors;
}

function validateName(meta: ObjectMeta, validator: NameValidator, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const base = meta.generateName ?? "";
  if (base !== "") {
    append(errors, invalidEach(child(path, "generateName"), base, validator(base, true)));
  }
  const name = meta.name ?? "";
  const at = child(path, "name");
  if (name === "") errors.push(required(at, "name or generateName is required"));
  else append(errors, invalidEach(at, name, validator(name, false)));
  return errors;
}

/** An object may omit its namespace, but must not name another one than the request. @throws ApiError 400. */
export function checkNamespaceOf(object: AnyObject, namespace: string): void {
  const own = object.metadata?.namespace ?? "";
  if (own === "" || own === namespace) return;
  throw badRequest(
    "the namespace of the provided object does not match the namespace sent on the request",
  );
}

function validateNamespace(meta: ObjectMeta, namespaced: boolean, path: string): FieldError[] {
  const at = child(path, "namespace");
  const namespace = meta.namespace ?? "";
  if (!namespaced) {
    return namespace === "" ? [] : [forbiddenField(at, "not allowed on this type")];
  }
  if (namespace === "") return [required(at)];
  return invalidEach(at, namespace, dnsLabelName(namespace, false));
}

function validateSharedMetadata(
  meta: ObjectMeta,
  path: string,
  rule: FinalizerRule = "standard",
): FieldError[] {
  return [
    ...validateLabels(meta.labels, child(path, "labels")),
    ...validateAnnotations(meta.annotations, child(path, "annotations")),
    ...validateOwnerReferences(meta.ownerReferences ?? [], child(path, "ownerReferences")),
    ...validateFinalizers(meta.finalizers ?? [], child(path, "finalizers"), rule),
    ...validateManagedFields(meta, child(path, "managedFields")),
  ];
}

/** Validates keys and values of labels, node selectors and matchLabels. */
export function validateLabels(
  labels: Readonly<Record<string, string>> | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of badNames(labels, isGoodLabel)) {
    const value = labels?.[name] ?? "";
    append(errors, invalidEach(path, name, qualifiedNameErrors(name)));
    append(errors, invalidEach(path, value, labelValueErrors(value)));
  }
  return errors;
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of badNames(annotations, isGoodAnnotation)) {
    append(errors, invalidEach(path, name, qualifiedNameErrors(name.toLowerCase())));
  }
  let bytes = 0;
  for (const [name, value] of Object.entries(annotations ?? {})) {
    bytes += utf8Length(name) + utf8Length(value);
  }
  if (bytes > annotationBytesMax) errors.push(tooLong(path, annotationBytesMax));
  return errors;
}

/** Sorted as upstream reports them; only invalid names are sorted, and there are rarely any. */
function badNames(
  map: Readonly<Record<string, string>> | undefined,
  isGood: (name: string, value: string) => boolean,
): readonly string[] {
  if (map === undefined) return [];
  return Object.keys(map)
    .filter((name) => !isGood(name, map[name] ?? ""))
    .sort(byText);
}

function isGoodLabel(name: string, value: string): boolean {
  return qualifiedNameErrors(name).length === 0 && labelValueErrors(value).length === 0;
}

function isGoodAnnotation(name: string): boolean {
  return qualifiedNameErrors(name.toLowerCase()).length === 0;
}

const encoder = new TextEncoder();
const wide = /\P{ASCII}/u;

function utf8Length(value: string): number {
  return wide.test(value) ? encoder.encode(value).byteLength : value.length;
}

/** Each finding prints the whole list, so the number is limited. Upstream reports all. */
const controllersTold = 4;

function validateOwnerReferences(owners: readonly OwnerReference[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  let first = "";
  let controllers = 0;
  for (const owner of owners) {
    append(errors, validateOwnerReference(owner, path));
    if (owner.controller !== true) continue;
    const current = `${owner.kind}/${owner.name}`;
    if (first === "") first = current;
    else if (controllers++ < controllersTold) {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${current}`;
      errors.push(invalidValue(path, owners, detail));
    }
  }
  return errors;
}

function validateOwnerReference(owner: OwnerReference, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const version = parseApiVersion(owner.apiVersion ?? "")?.version ?? "";
  if (version === "") {
    errors.push(
      invalidValue(child(path, "apiVersion"), owner.apiVersion ?? "", "version must not be empty"),
    );
  }
  for (const field of ["kind", "name", "uid"] as const) {
    if ((owner[field] ?? "") !== "") continue;
    errors.push(invalidValue(child(path, field), "", "must not be empty"));
  }
  if (owner.apiVersion === "v1" && owner.kind === "Event") {
    errors.push(invalidValue(path, owner, "/v1, Kind=Event is disallowed from being an owner"));
  }
  return errors;
}

const orphan = "orphan";
const foreground = "foregroundDeletion";
const standardFinalizers = new Set(["kubernetes", orphan, foreground]);

function validateFinalizers(
  finalizers: readonly string[],
  path: string,
  rule: FinalizerRule,
): FieldError[] {
  const errors = finalizers.flatMap((name, at) => [
    ...invalidEach(path, name, qualifiedNameErrors(name)),
    ...(rule === "any" ? [] : validateKubeFinalizer(name, `${path}[${at}]`)),
  ]);
  if (finalizers.includes(orphan) && finalizers.includes(foreground)) {
    const detail = `finalizer ${orphan} and ${foreground} cannot be both set`;
    errors.push(invalidValue(path, finalizers, detail));
  }
  return errors;
}

/** An unqualified finalizer must be one of the old standard names. */
export function validateKubeFinalizer(name: string, path: string): FieldError[] {
  if (name.includes("/") || standardFinalizers.has(name)) return [];
  const detail = "name is neither a standard finalizer name nor is it fully qualified";
  return [invalidValue(path, name, detail)];
}

function validateManagedFields(meta: ObjectMeta, path: string): FieldError[] {
  return (meta.managedFields ?? []).flatMap((entry, at) => {
    const errors: FieldError[] = [];
    const here = `${path}[${at}]`;
    const operation = entry.operation ?? "";
    if (operation !== "Apply" && operation !== "Update") {
      const detail = "must be `Apply` or `Update`";
      errors.push(invalidValue(child(here, "operation"), operation, detail));
    }
    const type = entry.fieldsType ?? "";
    if (type !== "" && type !== "FieldsV1") {
      errors.push(invalidValue(child(here, "fieldsType"), type, "must be `FieldsV1`"));
    }
    if ((entry.manager ?? "").length > fieldManagerBytesMax) {
      errors.push(tooLong(child(here, "manager"), fieldManagerBytesMax));
    }
    return errors;
  });
}

const immutableFields = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

/** Validates an update of metadata; the new one must contain its resourceVersion. */
export function validateMetadataUpdate(
  next: ObjectMeta,
  old: ObjectMeta,
  path = "metadata",
  rule: FinalizerRule = "standard",
): FieldError[] {
  const errors = validateNoNewFinalizers(next, old, child(path, "finalizers"));
  if ((next.resourceVersion ?? "") === "") {
    const at = child(path, "resourceVersion");
    errors.push(invalidValue(at, "", "must be specified for an update"));
  }
  if ((next.generation ?? 0) < (old.generation ?? 0)) {
    const at = child(path, "generation");
    errors.push(invalidValue(at, next.generation ?? 0, "must not be decremented"));
  }
  for (const field of immutableFields) {
    if (semanticEqual(next[field], old[field])) continue;
    errors.push(invalidValue(child(path, field), next[field], "field is immutable"));
  }
  append(errors, validateSharedMetadata(next, path, rule));
  return errors;
}

function validateNoNewFinalizers(next: ObjectMeta, old: ObjectMeta, path: string): FieldError[] {
  if (old.deletionTimestamp === undefined) return [];
  const before = new Set(old.finalizers ?? []);
  const extra = (next.finalizers ?? []).filter((name) => !before.has(name)).sort(byText);
  if (extra.length === 0) return [];
  const list = `[]string{${extra.map((name) => JSON.stringify(name)).join(", ")}}`;
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
  return [forbiddenField(path, detail)];
}

/** Validates a metav1.LabelSelector within an object. */
export function validateLabelSelector(
  selector: { readonly [field: string]: unknown } | undefined,
  path: string,
): FieldError[] {
  if (selector === undefined) return [];
  const labels = selector["matchLabels"] as Record<string, string> | undefined;
  const errors = validateLabels(labels ?? undefined, child(path, "matchLabels"));
  const expressions = selector["matchExpressions"];
  if (!Array.isArray(expressions)) return errors;
  expressions.forEach((expression: { readonly [field: string]: unknown }, at) => {
    const here = `${child(path, "matchExpressions")}[${at}]`;
    append(errors, validateSelectorRequirement(expression, here));
  });
  return errors;
}

function validateSelectorRequirement(
  requirement: { readonly [field: string]: unknown },
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const operator = text(requirement, "operator");
  const values = Array.isArray(requirement["values"]) ? (requirement["values"] as string[]) : [];
  const at = child(path, "values");
  if (operator === "In" || operator === "NotIn") {
    const detail = "must be specified when `operator` is 'In' or 'NotIn'";
    if (values.length === 0) errors.push(required(at, detail));
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    if (values.length > 0) errors.push(forbiddenField(at, detail));
  } else {
    errors.push(invalidValue(child(path, "operator"), operator, "not a valid selector operator"));
  }
  const name = text(requirement, "key");
  append(errors, invalidEach(child(path, "key"), name, qualifiedNameErrors(name)));
  values.forEach((value, i) => {
    append(errors, invalidEach(`${at}[${i}]`, value, labelValueErrors(value)));
  });
  return errors;
}
