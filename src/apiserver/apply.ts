/**
 * Server-side apply: PATCH with apply-patch+yaml. The configuration is merged by ownership, defaulted,
 * and written like any update; a missing object is created.
 */
import type { AnyObject } from "#api/object.ts";
import type { RequestContext } from "#server/context.ts";
import type { Document } from "./body-text.ts";
import type { ApiDeps } from "./deps.ts";
import { mergeApplied } from "./managed.ts";
import type { StoredKind } from "./stored-kind.ts";
import { checkUid } from "./patched.ts";
import { requireSameName, writeThrough } from "./update.ts";
import type { WriteQuery } from "./write-options.ts";
import { refuseBeyondLimits } from "#api/object-limits.ts";
import { badRequest, failure, tooLarge } from "#api/status.ts";
import { fieldFindings, strictDecodingMessage } from "#api/schema/decode.ts";
import { repeatedKeysMessage } from "#wire/yaml.ts";

export async function handleApply(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  query: WriteQuery,
  patch: Document,
): ReturnType<typeof writeThrough> {
  checkRepeats(context, query, patch);
  const { subresource } = context.requestInfo;
  const configuration = requireSameName(applyConfiguration(patch, kind), kind, context.place);
  const { pace } = context;
  const full = pace.isLong ? kind.overfull(configuration) : undefined;
  if (full !== undefined) throw tooLarge(`the object has ${full}`);
  if (pace.isLong) await pace.turn();
  return writeThrough(deps, context, kind, query, {
    subresource,
    createIfMissing: subresource === "",
    next: async (current) => {
      checkUid(kind, configuration, current);
      const merged = await mergeApplied(context, kind, query, current, configuration);
      refuseBeyondLimits(merged);
      if (hasFraction(configuration)) refuseFractions(kind, merged, configuration);
      return { object: kind.applyDefaults(merged), tracked: true };
    },
  });
}

function hasFraction(value: unknown): boolean {
  if (typeof value === "number") return !Number.isInteger(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasFraction);
}

/** The merge knows numbers only. @throws ApiError 500, as upstream, when one stands where an integer belongs. */
function refuseFractions(kind: StoredKind, merged: AnyObject, configuration: AnyObject): void {
  if (kind.custom !== undefined) return;
  try {
    kind.check(merged, undefined);
  } catch (error) {
    const type = error instanceof Error ? / of type (\S+)$/.exec(error.message)?.[1] : undefined;
    if (type === undefined) throw error;
    const { name = "" } = configuration.metadata ?? {};
    const gvk = `${kind.apiVersion}, Kind=${kind.resource.kind}`;
    const what = `failed to convert new object (/${name}; ${gvk}) to proper version`;
    const why = `unable to convert unstructured object to ${gvk}: cannot convert float64 to ${type}`;
    throw failure(500, "", `${what}: ${why}`);
  }
}

/** Unlike other bodies, a configuration says itself what it is. */
function applyConfiguration(patch: Document, kind: StoredKind): AnyObject {
  const { value } = patch;
  if (Array.isArray(value)) {
    const said = "json: cannot unmarshal array into Go value of type map[string]interface {}";
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${said}`);
  }
  const object = (value ?? {}) as AnyObject; // checked by the merge, which knows the schema
  const { apiVersion = "", kind: name = "" } = object;
  if (apiVersion === kind.apiVersion && name === kind.resource.kind) return object;
  const shown = apiVersion.includes("/") ? apiVersion.replace("/", "/") : `/${apiVersion}`;
  throw badRequest(`invalid object type: ${shown}, Kind=${name}`);
}

/** Reports repeated keys; the merge itself refuses unknown fields. */
function checkRepeats(context: RequestContext, query: WriteQuery, patch: Document): void {
  const duplicates = fieldFindings([], patch.duplicates);
  const lines = patch.repeatedKeys ?? [];
  if (query.fieldValidation === "Warn") {
    for (const text of [...lines, ...duplicates]) context.warnings.add(text);
  }
  if (query.fieldValidation !== "Strict") return;
  const all = [...(lines.length === 0 ? [] : [repeatedKeysMessage(lines)]), ...duplicates];
  if (all.length > 0) throw badRequest(`error strict decoding YAML: ${strictDecodingMessage(all)}`);
}
