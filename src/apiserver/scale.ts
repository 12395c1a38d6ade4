/** The scale subresource: an autoscaling/v1 Scale read from an object and written back to it. */
import type { Scale } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { printerFor } from "#api/printers/printers.ts";
import { applyScale, scaleFromObject } from "#api/scale.ts";
import { schemaOf, schemaOfKind } from "#api/schema/schema.ts";
import { badRequest, notFound } from "#api/status.ts";
import { strategicMergePatch } from "#api/patch/strategic-merge.ts";
import { must } from "#base/assert.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { contentType, type Negotiated } from "#server/negotiate.ts";
import { answerMade, plainForm } from "./answer.ts";
import { readTyped } from "./body.ts";
import { checkKind } from "./builtin-kind.ts";
import type { ApiDeps } from "./deps.ts";
import { asPatchFault } from "./patched.ts";
import { patchedInSteps, patchTypes, readPatch, unsupportedPatchError } from "./patch.ts";
import type { StoredKind } from "./stored-kind.ts";
import { writeThrough } from "./update.ts";
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
  if (scale === undefined) throw badRequest("the body of the request holds no Scale");
  const { name = "" } = scale.metadata ?? {};
  const { place } = context;
  if (name !== "" && name !== place.name) {
    const said = `the name of the object (${name})`;
    throw badRequest(`${said} does not match the name on the URL (${place.name})`);
  }
  return writeScale(deps, context, kind, query, () => scale);
}

export async function patchScale(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const given = contentType(context.request.headers);
  const types = ["json", "merge", "strategic"] as const;
  const taken = kind.custom === undefined ? types : types.slice(0, 2);
  const type = taken.find((candidate) => patchTypes[candidate] === given);
  if (type === undefined) throw unsupportedPatchError(kind);
  const query = writeQuery("PatchOptions", context.query, "other");
  const patch = await readPatch(deps, context, type, query);
  const schema = must(schemaOfKind(scaleKind), "Scale has a schema");
  const merge = {
    strategicMerge: (original: Parameters<typeof strategicMergePatch>[0], value: unknown) =>
      strategicMergePatch(original, value, schema, schemaOf),
  };
  return writeScale(deps, context, kind, query, async (current) => {
    const patched = await patchedInSteps(context.pace, merge, current, type, patch.value);
    try {
      return checkKind(scaleKind, patched, patch.duplicates).object;
    } catch (error) {
      throw asPatchFault(error, { patched, patch, type });
    }
  });
}

async function writeScale(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  query: WriteQuery,
  wanted: (current: AnyObject) => AnyObject | Promise<AnyObject>,
): Promise<PlainResponse> {
  const form = scaleForm(context, kind);
  const { group, resource } = kind.resource;
  const result = await writeThrough(deps, context, kind, query, {
    subresource: "scale",
    createIfMissing: false,
    next: async (current) => {
      if (current === undefined) throw notFound(kind.resource, context.place.name);
      const before = kind.custom?.scale?.readForUpdate(current) ?? scaleOf(kind, current);
      const scale = (await wanted(before)) as unknown as Scale; // checked by readTyped, or made from one
      const own = kind.custom?.scale?.write(current, scale as unknown as AnyObject);
      const scaled = own ?? applyScale(group, resource, current, scale);
      return { object: must(scaled, `${resource} has a scale`), tracked: false };
    },
  });
  return answerScale(context, kind, form, result.object.object);
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
