/** The scale subresource: reads an autoscaling/v1 Scale from an object and writes it back. */
import type { Scale } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { printerFor } from "#api/printers/printers.ts";
import { applyScale, scaleFromObject } from "#api/convert/scale.ts";
import { schemaOf, schemaOfKind } from "#api/schema/schema.ts";
import { conflict, notFound } from "#api/status.ts";
import { strategicMergePatch } from "#api/patch/strategic-merge.ts";
import { must } from "#base/assert.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { contentType, type Negotiated } from "#forms/negotiate.ts";
import { answerMade, plainForm } from "./answer.ts";
import { applyConfiguration, checkRepeats } from "./apply.ts";
import { readTyped } from "./body.ts";
import { checkKind } from "./builtin-kind.ts";
import type { ApiDeps } from "./deps.ts";
import { asPatchFault } from "./patched.ts";
import {
  patchedInSteps,
  type PatchType,
  patchTypes,
  readPatch,
  unsupportedPatchError,
} from "./patch.ts";
import { applyToScale, withManagedFields } from "./scale-apply.ts";
import type { StoredKind } from "./stored-kind.ts";
import { requireSameName, writeThrough } from "./update.ts";
import { type WriteQuery, writeQuery } from "./write-options.ts";

const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };

export async function getScale(context: RequestContext, kind: StoredKind): Promise<PlainResponse> {
  const form = scaleForm(context, kind);
  const cached = await kind.store.get(context.place.namespace, context.place.name, {});
  return answerScale(context, kind, form, cached.object);
}

export async function updateScale(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const query = writeQuery("UpdateOptions", context.query);
  const scale = await readTyped(context, scaleKind, deps.bodies, query.fieldValidation);
  requireSameName(scale, kind, context.place);
  return writeScale(deps, context, kind, query, () => scale);
}

export async function patchScale(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const given = contentType(context.request.headers);
  const type = listScalePatchTypes(kind).find((candidate) => patchTypes[candidate] === given);
  if (type === undefined) throw unsupportedPatchError(kind);
  if (type === "apply") return handleScaleApply(deps, context, kind);
  const query = writeQuery("PatchOptions", context.query, "other");
  const patch = await readPatch(deps, context, type, query);
  const schema = must(schemaOfKind(scaleKind), "Scale has a schema");
  const merge = {
    strategicMerge: (original: Parameters<typeof strategicMergePatch>[0], value: unknown) =>
      strategicMergePatch(original, value, schema, schemaOf),
  };
  return writeScale(deps, context, kind, query, async (current) => {
    const patched = await patchedInSteps(context.pace, merge, current, type, patch.value);
    return withoutUid(kind, decodedScale({ patched, patch, type }), current);
  });
}

function decodedScale(result: Parameters<typeof asPatchFault>[1]): AnyObject {
  try {
    return checkKind(scaleKind, result.patched, result.patch.duplicates).object;
  } catch (error) {
    throw asPatchFault(error, result);
  }
}

function listScalePatchTypes({ custom }: StoredKind): readonly PatchType[] {
  return custom === undefined
    ? ["json", "merge", "strategic", "apply"]
    : ["json", "merge", "apply"];
}

async function handleScaleApply(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = scaleForm(context, kind);
  const query = writeQuery("PatchOptions", context.query, "apply");
  const patch = await readPatch(deps, context, "apply", query);
  const configuration = applyConfiguration(patch, scaleKind);
  const result = await writeThrough(deps, context, kind, query, {
    subresource: "scale",
    createIfMissing: false,
    next: (current) => {
      if (current === undefined) throw notFound(kind.resource, context.place.name);
      const before = scaleBefore(kind, current);
      const applied = applyToScale(context, query, kind, { current, before, configuration });
      checkRepeats(context, query, patch);
      const named = requireSameName(applied.scale, kind, context.place);
      const scale = withoutUid(kind, named, current);
      const written = withScale(kind, current, scale);
      return { object: withManagedFields(written, applied.managedFields), tracked: true };
    },
  });
  return answerScale(context, kind, form, result.object.object);
}

async function writeScale(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  query: WriteQuery,
  wanted: (current: AnyObject) => AnyObject | Promise<AnyObject>,
): Promise<PlainResponse> {
  const form = scaleForm(context, kind);
  const result = await writeThrough(deps, context, kind, query, {
    subresource: "scale",
    createIfMissing: false,
    next: async (current) => {
      if (current === undefined) throw notFound(kind.resource, context.place.name);
      const scale = await wanted(scaleBefore(kind, current));
      return { object: withScale(kind, current, scale), tracked: false };
    },
  });
  return answerScale(context, kind, form, result.object.object);
}

function scaleBefore(kind: StoredKind, current: AnyObject): AnyObject {
  return kind.custom?.scale?.readForUpdate(current) ?? scaleOf(kind, current);
}

/** Writes a checked Scale into the object. @throws ApiError 422. */
function withScale(kind: StoredKind, current: AnyObject, scale: AnyObject): AnyObject {
  const { group, resource } = kind.resource;
  const own = kind.custom?.scale?.write(current, scale);
  const scaled = own ?? applyScale(group, resource, current, scale as unknown as Scale);
  return withUid(must(scaled, `${resource} has a scale`), scale);
}

/** Copies the Scale's uid into the object, as a precondition of its update. */
function withUid(object: AnyObject, { metadata }: AnyObject): AnyObject {
  const { uid = "" } = metadata ?? {};
  return uid === "" ? object : { ...object, metadata: { ...object.metadata, uid } };
}

/** Refuses a patch with another uid; the uid in a custom object's Scale is ignored. @throws ApiError 409. */
function withoutUid({ custom, resource }: StoredKind, scale: AnyObject, old: AnyObject): AnyObject {
  const { uid = "", ...metadata } = scale.metadata ?? {};
  const { uid: oldUid = "" } = old.metadata ?? {};
  if (custom !== undefined || uid === "" || uid === oldUid) return { ...scale, metadata };
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${oldUid}`;
  const part = { ...resource, resource: `${resource.resource}/scale` };
  throw conflict(part, metadata.name ?? "", why);
}

function scaleForm(context: RequestContext, { custom }: StoredKind): Negotiated {
  return plainForm(context, custom === undefined ? "objects" : "custom");
}

function answerScale(
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
  object: AnyObject,
): PlainResponse {
  const goType = kind.custom === undefined ? "autoscaling.Scale" : "v1.Scale";
  const type = { goType, printer: printerFor("autoscaling", "scales") };
  return answerMade(context, type, form, 200, scaleOf(kind, object));
}

function scaleOf(kind: StoredKind, object: AnyObject): AnyObject {
  const { group, resource } = kind.resource;
  if (kind.custom?.scale !== undefined) return kind.custom.scale.read(object);
  const scale = must(scaleFromObject(group, resource, object), `${resource} has a scale`);
  return scale as unknown as AnyObject; // a generated kind as a bag of fields
}
