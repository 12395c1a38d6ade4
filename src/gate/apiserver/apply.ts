/**
 * Server-side apply: PATCH with apply-patch+yaml. The configuration is merged by ownership, defaulted,
 * and written like any update; a missing object is created.
 */
import { isJsonObject, jsonKind } from "#api/json/json-value.ts";
import {
  type AnyObject,
  apiVersionOf,
  type GroupVersionKind,
  parseApiVersion,
} from "#api/object.ts";
import type { RequestContext } from "#server/context.ts";
import type { Place } from "#server/place.ts";
import type { Document } from "./body-text.ts";
import type { ApiDeps } from "./deps.ts";
import { mergeApplied } from "./managed.ts";
import type { StoredKind } from "./stored-kind.ts";
import { checkUid } from "./patched.ts";
import { requireSameName, writeThrough } from "./update.ts";
import type { WriteQuery } from "./write-options.ts";
import { refuseBeyondLimits } from "#api/json/object-limits.ts";
import { ApiError, badRequest, conflict, failure, tooLarge } from "#api/status.ts";
import { fieldFindings } from "#api/schema/decode.ts";
import { repeatedKeysMessage } from "#wire/yaml.ts";

export async function handleApply(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  query: WriteQuery,
  patch: Document,
): ReturnType<typeof writeThrough> {
  const { subresource } = context.requestInfo;
  const configuration = applyConfiguration(patch, kind.resource);
  const { pace } = context;
  const full = pace.isLong ? kind.overfull(configuration) : undefined;
  if (full !== undefined) throw tooLarge(`the object has ${full}`);
  await pace.step();
  return writeThrough(deps, context, kind, query, {
    subresource,
    createIfMissing: subresource === "" || isMadeByStatus(kind, subresource),
    next: async (current) => {
      const merged = await mergeApplied(context, kind, query, current, configuration);
      refuseBeyondLimits(merged);
      const object = kind.applyDefaults(typed(kind, merged, configuration));
      checkRepeats(context, query, patch);
      if (current === undefined) refuseUid(kind, object, context.place);
      else checkUid(kind, object, current);
      return { object: requireSameName(object, kind, context.place), tracked: true };
    },
  });
}

/** Resources whose storage, as upstream, lets a write of the status create the object. By key: `GROUP/RESOURCE`. */
const madeByStatus: ReadonlySet<string> = new Set([
  "/services",
  "admissionregistration.k8s.io/validatingadmissionpolicies",
]);

function isMadeByStatus({ resource }: StoredKind, subresource: string): boolean {
  return subresource === "status" && madeByStatus.has(`${resource.group}/${resource.resource}`);
}

/** Refuses a configuration with a uid when no object exists, because a uid refers to an existing object. */
function refuseUid(kind: StoredKind, { metadata }: AnyObject, { name }: Place): void {
  const { uid = "" } = metadata ?? {};
  if (uid === "") return;
  const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  throw conflict(kind.resource, name, why);
}

/** `NAMESPACE/NAME` from the configuration; either part may be empty. */
function sentAs({ metadata }: AnyObject): string {
  const { namespace = "", name = "" } = metadata ?? {};
  return `${namespace}/${name}`;
}

/** Decodes the merged object: the merge checks scalar types, the decoder checks ranges, formats and canonical forms. */
function typed(kind: StoredKind, merged: AnyObject, configuration: AnyObject): AnyObject {
  if (kind.custom !== undefined) return merged;
  try {
    return kind.check(merged, undefined).object;
  } catch (error) {
    throw error instanceof ApiError ? conversionFault(error, configuration, kind.resource) : error;
  }
}

/** Turns a decoding error (400) of a merged object into a 500, as upstream. Other errors are returned unchanged. */
export function conversionFault(
  error: ApiError,
  configuration: AnyObject,
  { group, version, kind }: GroupVersionKind,
): ApiError {
  if (error.code !== 400) return error;
  const gvk = `${group}/${version}, Kind=${kind}`;
  const what = `failed to convert new object (${sentAs(configuration)}; ${gvk}) to proper version`;
  const why = conversionText(error.message);
  return failure(500, "", `${what}: unable to convert unstructured object to ${gvk}: ${why}`);
}

/** Removes field names from a decoder's message, because upstream's converter does not name fields. */
function conversionText(message: string): string {
  return message
    .replace(/^\S+ in version "[^"]*" cannot be handled as a \S+: /, "")
    .replace(/into Go struct field \S+ of type/, "into Go value of type")
    .replace(/^json: cannot unmarshal number \S*[.e]\S* into Go value of type int/, floatAsInt)
    .replace(/^illegal base64/, "error decoding from json: $&");
}

const floatAsInt = "cannot convert float64 to int";

/**
 * Checks that a configuration names its own kind, which other bodies need not do. `apiVersion: /v1` is another spelling
 * of `v1`. @throws ApiError 400.
 */
export function applyConfiguration({ value }: Document, expected: GroupVersionKind): AnyObject {
  if (value !== null && !isJsonObject(value)) {
    const said = `json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${said}`);
  }
  const object = (value ?? {}) as AnyObject; // checked by the merge, which knows the schema
  const { apiVersion } = object;
  const gvk = statedKind(object);
  const isExpected =
    gvk.group === expected.group && gvk.version === expected.version && gvk.kind === expected.kind;
  if (!isExpected) {
    throw badRequest(`invalid object type: ${gvk.group}/${gvk.version}, Kind=${gvk.kind}`);
  }
  const canonical = apiVersionOf(expected);
  return apiVersion === canonical ? object : { ...object, apiVersion: canonical };
}

/** The kind in the configuration. A part that is not a text, or a version with two slashes, counts as empty. */
function statedKind({ apiVersion, kind }: AnyObject): GroupVersionKind {
  const gv = parseApiVersion(typeof apiVersion === "string" ? apiVersion : "");
  if (gv === undefined) return { group: "", version: "", kind: "" };
  return { ...gv, kind: typeof kind === "string" ? kind : "" };
}

/** Reports repeated keys after a successful merge; the merge itself refuses unknown fields. */
export function checkRepeats(context: RequestContext, query: WriteQuery, patch: Document): void {
  const duplicates = fieldFindings([], patch.duplicates);
  const lines = patch.repeatedKeys ?? [];
  if (query.fieldValidation === "Warn") {
    for (const text of [...lines, ...duplicates]) context.warnings.add(text);
  }
  if (query.fieldValidation !== "Strict") return;
  const all = [...(lines.length === 0 ? [] : [repeatedKeysMessage(lines)]), ...duplicates];
  if (all.length > 0) {
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: ${all.join(", ")}`,
    );
  }
}
