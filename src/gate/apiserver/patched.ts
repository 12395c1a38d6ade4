/**
 * Decodes the result of a patch. Errors in it are errors of the patch: 422 with the whole result as the value, as in
 * upstream. A PUT of the same object would get 400.
 */
import { copyLiterals, stringifyWithLiterals } from "#base/exact-json.ts";
import { carrySpelling } from "#api/json/kept-json.ts";
import type { AnyObject } from "#api/object.ts";
import { refuseBeyondLimits } from "#api/json/object-limits.ts";
import { ApiError, type FieldError, invalid } from "#api/status.ts";
import { given } from "#base/given.ts";
import type { RequestContext } from "#server/context.ts";
import { decodeDocument } from "./body.ts";
import type { Document, Repeats } from "./body-text.ts";
import { patchFindings } from "./patch-findings.ts";
import { goValue } from "#api/go/go-value.ts";
import type { ServedKind } from "./kind.ts";
import { checkCustomKind, withKind } from "./stated-kind.ts";
import type { StoredKind } from "./stored-kind.ts";
import { requireSameName } from "./update.ts";
import type { WriteQuery } from "./write-options.ts";

interface Patched {
  readonly original: AnyObject;
  readonly patched: AnyObject;
  readonly patch: Document;
  readonly type: "json" | "merge" | "strategic";
}

/** Decodes a patch's result in steps, yielding between them. @throws ApiError 400 for a changed name, 422. */
export async function decodePatched(
  context: RequestContext,
  kind: StoredKind,
  query: WriteQuery,
  result: Patched,
): Promise<AnyObject> {
  const { pace } = context;
  await pace.step();
  refuseBeyondLimits(result.patched);
  await pace.step();
  const object = await checked(context, kind, query, result);
  carrySpelling(result.original, object);
  checkUid(kind, object, result.original);
  return requireSameName(object, kind, context.place);
}

async function checked(
  context: RequestContext,
  kind: ServedKind,
  query: WriteQuery,
  { patched, patch, type }: Patched,
): Promise<AnyObject> {
  try {
    const typed = typedResult(kind, patched, type);
    copyLiterals(patched, typed);
    return await decodeDocument(
      context,
      kind,
      typed,
      repeatsOf(type, patch),
      query.fieldValidation,
    );
  } catch (error) {
    throw asPatchFault(error, { patched, patch, type });
  }
}

function repeatsOf(type: Patched["type"], patch: Document): Repeats {
  const { overflow } = patch;
  const { own, duplicates } = patchFindings(type, patch);
  return {
    patchFindings: own,
    duplicates,
    ...given({ overflow }),
  };
}

/** Sets kind and version: a strategic merge keeps the kind, whatever kind the patch has. */
function typedResult(kind: ServedKind, patched: AnyObject, type: Patched["type"]): AnyObject {
  if (kind.custom !== undefined) return checkCustomKind(patched, kind);
  if (type !== "strategic") return withKind(patched, kind);
  return { ...patched, apiVersion: kind.apiVersion, kind: kind.resource.kind };
}

/** Turns a 400 about a patch's result into a 422 about the patch; other errors are returned unchanged. */
export function asPatchFault(
  error: unknown,
  { patched, patch, type }: Omit<Patched, "original">,
): unknown {
  if (!(error instanceof ApiError) || error.code !== 400) return error;
  const value = type === "strategic" ? goValue(patch.value) : stringifyWithLiterals(patched);
  const said = error.message.replace(decodingOf, "");
  const why = type === "strategic" ? valueFault(said) : said;
  const message = `Invalid value: ${JSON.stringify(value)}: ${why}`;
  return invalid({ group: "", kind: "" }, "", [
    { reason: "FieldValueInvalid", field: "patch", message },
  ]);
}

/** Text of a wrong value in a strategic merge: upstream's converter, which has values and no text, words it differently. */
function valueFault(said: string): string {
  const [, found = "", type = ""] =
    /^json: cannot unmarshal (\w+)(?: \S+)? into Go struct field \S+ of type (\S.*)$/.exec(said) ??
    [];
  const source = sourceTypes.get(found) ?? found;
  if (type === "") return said;
  if (found === "number" && /^int\d+$/.test(type)) return `cannot convert float64 to ${type}`;
  if (type.startsWith("[]")) return `cannot restore slice from ${source}`;
  if (type.startsWith("map[")) return `cannot restore map from ${source}`;
  return type.includes(".")
    ? `cannot restore struct from: ${source}`
    : `unrecognized type: ${type}`;
}

/** Go's names of the types that a patch is decoded to. */
const sourceTypes: ReadonlyMap<string, string> = new Map([
  ["object", "map"],
  ["array", "slice"],
  ["number", "int64"],
]);

const decodingOf =
  /^(?:\S+ in version "[^"]*" cannot be handled as a \S+: |the object provided is unrecognized \(must be of type [^)]*\): )/;

/** Refuses a changed uid. The error is reported twice, as upstream: for the metadata and for the kind. */
export function checkUid(kind: StoredKind, next: AnyObject, old: AnyObject | undefined): void {
  const { uid = "", name = "" } = next.metadata ?? {};
  if (uid === "" || uid === old?.metadata?.uid) return;
  const error: FieldError = {
    reason: "FieldValueInvalid",
    field: "metadata.uid",
    message: `Invalid value: ${JSON.stringify(uid)}: field is immutable`,
  };
  throw invalid(kind.resource, name, [error, error]);
}
