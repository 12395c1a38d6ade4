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
import { ApiError, badRequest, failure, tooLarge } from "#api/status.ts";
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
  const sent = applyConfiguration(patch, kind);
  const { namespace = "", name = "" } = sent.metadata ?? {};
  const configuration = requireSameName(sent, kind, context.place);
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
      return {
        object: kind.applyDefaults(typed(kind, merged, `${namespace}/${name}`)),
        tracked: true,
      };
    },
  });
}

/**
 * A merge knows which scalar a field takes; ranges, formats and canonical forms are the decoder's.
 * @param sentAs namespace/name as the configuration says them, either may be empty.
 */
function typed(kind: StoredKind, merged: AnyObject, sentAs: string): AnyObject {
  if (kind.custom !== undefined) return merged;
  try {
    return kind.check(merged, undefined).object;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 400) throw error;
    const { group, version, kind: name } = kind.resource;
    const gvk = `${group}/${version}, Kind=${name}`;
    const what = `failed to convert new object (${sentAs}; ${gvk}) to proper version`;
    const why = conversionText(error.message);
    const text = `${what}: unable to convert unstructured object to ${gvk}: ${why}`;
    throw failure(500, "", text); // as upstream
  }
}

/** Upstream's converter names no field. */
function conversionText(message: string): string {
  return message
    .replace(/^\S+ in version "[^"]*" cannot be handled as a \S+: /, "")
    .replace(/into Go struct field \S+ of type/, "into Go value of type")
    .replace(/^json: cannot unmarshal number \S*[.e]\S* into Go value of type int/, floatAsInt)
    .replace(/^illegal base64/, "error decoding from json: $&");
}

const floatAsInt = "cannot convert float64 to int";

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
  const shown = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
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
