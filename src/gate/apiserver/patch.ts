/**
 * PATCH: JSON, merge and strategic merge patches. Server-side apply is apply.ts.
 *
 * The patch is applied to the current object in the version of the request, decoded and defaulted like a PUT. The
 * result keeps the resourceVersion of the object that was read. After a concurrent write the registry calls again with
 * the newest object. A patch that names another resourceVersion itself is a conflict.
 */
import { applyJsonPatch, JsonPatchRun } from "#api/patch/json-patch.ts";
import { applyMergePatch } from "#api/patch/merge-patch.ts";
import type { AnyObject, JsonObject, JsonValue } from "#api/object.ts";
import { badRequest, failure, notFound } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { Pace } from "#platform/pace.ts";
import type { RequestContext } from "#server/context.ts";
import { contentType, unsupportedMediaType } from "#forms/negotiate.ts";
import { answerCached, formFor } from "./answer.ts";
import { handleApply } from "./apply.ts";
import { overflowMessage, readText } from "./body.ts";
import { checkMergePatch, checkOperations } from "./patch-findings.ts";
import { decodePatched } from "./patched.ts";
import type { Document } from "./body-text.ts";
import type { ApiDeps } from "./deps.ts";
import { notePatch } from "./request-note.ts";
import type { ServedKind } from "./kind.ts";
import type { StoredKind } from "./stored-kind.ts";
import { type WriteQuery, writeQuery } from "./write-options.ts";
import { writeThrough } from "./update.ts";

export const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

export type PatchType = keyof typeof patchTypes;

export async function handlePatch(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const type = patchTypeOf(context, kind);
  const query = writeQuery("PatchOptions", context.query, type === "apply" ? "apply" : "other");
  const patch = await readPatch(deps, context, type, query);
  const result =
    type === "apply"
      ? await handleApply(deps, context, kind, query, patch)
      : await patchThrough(deps, context, kind, query, type, patch);
  return answerCached(context, kind, form, result.isCreated ? 201 : 200, result.object);
}

function patchTypeOf(context: RequestContext, kind: StoredKind): PatchType {
  const given = contentType(context.request.headers);
  const taken = listPatchTypes(kind);
  const found = taken.find((type) => patchTypes[type] === given);
  if (found === undefined) throw unsupportedPatchError(kind);
  return found;
}

export function isTakenPatch({ request }: RequestContext, kind: ServedKind): boolean {
  const given = contentType(request.headers);
  return listPatchTypes(kind).some((type) => patchTypes[type] === given);
}

/** Answers 415. For built-in kinds upstream's router refuses, not its decoder, so the text differs from a PUT's. */
export function unsupportedPatchError(kind: StoredKind): Error {
  if (kind.custom !== undefined) {
    return unsupportedMediaType([patchTypes.json, patchTypes.merge, patchTypes.apply]);
  }
  return failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
}

function listPatchTypes(kind: ServedKind): readonly PatchType[] {
  if (kind.strategicMerge === undefined) return ["json", "merge", "apply"];
  return ["json", "merge", "strategic", "apply"];
}

export async function readPatch(
  deps: ApiDeps,
  context: RequestContext,
  type: PatchType,
  query: WriteQuery,
): Promise<Document> {
  const { body } = context.request;
  if (body.kind === "object") {
    notePatch(context, body.object);
    return { value: body.object };
  }
  const noting = query.fieldValidation !== "Ignore";
  const format = type === "apply" ? "yaml" : "json";
  const parsed = await readText(context, deps.bodies, format, noting);
  if (parsed.kind === "ok") {
    notePatch(context, parsed.value);
    if (parsed.overflow !== undefined) throw patchOverflow(type, parsed.overflow);
    if (type === "json" && noting) checkOperations(parsed.value);
    if (type === "merge" && noting) checkMergePatch(parsed.value);
    return parsed;
  }
  throw unreadable(type, parsed.message, noting);
}

/** Error of an unreadable patch. The text depends on the decoder that upstream calls first. */
function unreadable(type: PatchType, message: string, noting: boolean): Error {
  if (type === "apply") {
    return badRequest(`error decoding YAML: error converting YAML to JSON: ${message}`);
  }
  if (type === "strategic") return badRequest(message);
  if (noting) return badRequest(`error decoding patch: ${message}`);
  return badRequest(type === "merge" ? "Invalid JSON Patch" : message);
}

function patchOverflow(type: PatchType, literal: string): Error {
  const into = type === "json" ? "struct field jsonPatchOp.value" : "value";
  const said = overflowMessage(literal, into);
  return badRequest(type === "strategic" ? said : `error decoding patch: ${said}`);
}

function patchThrough(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  query: WriteQuery,
  type: Exclude<PatchType, "apply">,
  patch: Document,
): ReturnType<typeof writeThrough> {
  return writeThrough(deps, context, kind, query, {
    subresource: context.requestInfo.subresource,
    createIfMissing: false,
    next: async (current) => {
      if (current === undefined) throw notFound(kind.resource, context.place.name);
      const original = kind.fromStored(current);
      const patched = await patchedInSteps(context.pace, kind, original, type, patch.value);
      const object = await decodePatched(context, kind, query, { original, patched, patch, type });
      return { object, tracked: false };
    },
  });
}

/** Applies a patch; a long JSON patch yields to other requests between its operations. */
export async function patchedInSteps(
  pace: Pace,
  kind: Pick<StoredKind, "strategicMerge">,
  original: AnyObject,
  type: Exclude<PatchType, "apply">,
  patch: unknown,
): Promise<AnyObject> {
  if (type !== "json" || !pace.isLong) return toObject(kind, original, type, patch);
  const run = new JsonPatchRun(original as unknown as JsonObject, patch); // objects are plain JSON data
  while (!run.isDone) {
    run.step();
    await pace.turn();
  }
  return run.result() as AnyObject; // `decoded` checks its shape
}

function toObject(
  kind: Pick<StoredKind, "strategicMerge">,
  original: AnyObject,
  type: Exclude<PatchType, "apply">,
  patch: unknown,
): AnyObject {
  const document = original as unknown as JsonObject; // objects are plain JSON data
  return applyPatchTo(kind, document, type, patch) as AnyObject; // `decoded` checks its shape
}

function applyPatchTo(
  kind: Pick<StoredKind, "strategicMerge">,
  document: JsonObject,
  type: Exclude<PatchType, "apply">,
  patch: unknown,
): JsonValue {
  switch (type) {
    case "json":
      return applyJsonPatch(document, patch);
    case "merge":
      return applyMergePatch(document, patch);
    case "strategic":
      if (kind.strategicMerge === undefined) throw unsupportedMediaType([]);
      return kind.strategicMerge(document, patch ?? {});
    default:
      return type satisfies never;
  }
}
