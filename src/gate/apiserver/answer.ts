/**
 * Builds the answers of the verbs: one object in the negotiated form. Stored JSON is sent as it is. All other forms
 * (YAML, pretty, another version, Table, metadata only) are made for the answer.
 */
import type { AnyObject } from "#api/object.ts";
import { failure, type Status } from "#api/status.ts";
import type { Printer } from "#api/printers/printer.ts";
import type { Headers, PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { negotiate, type Negotiated, protobufType, type TransformRule } from "#forms/negotiate.ts";
import { protobufForm } from "#forms/list-body.ts";
import { objectOfEntry } from "#forms/protobuf/envelope.ts";
import { bytesResponse, objectResponse } from "#server/respond.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { ServedKind } from "./kind.ts";
import { includeObject, partial, tableOf } from "./table.ts";

const plain: Negotiated = { mediaType: "application/json", isPretty: false };
const newline = 0x0a;
/** Bytes charged for a column's definition, which is parsed, filled and written. */
const columnBytes = 100;

/** Negotiates the form of the answer. Runs before any work is done, so that a 406 has no effect. @throws ApiError 406. */
export function formFor(context: RequestContext, kind: ServedKind): Negotiated {
  if (context.request.peer.kind === "direct") return plain;
  return negotiate(context.request.headers, context.query, transformRule(kind));
}

function transformRule(kind: ServedKind): TransformRule {
  if (kind.custom !== undefined) return "custom";
  return kind.printer === undefined ? "metadata" : "objects";
}

/** Negotiates the form of an answer that is not a stored object. */
export function plainForm(context: RequestContext, rule: TransformRule): Negotiated {
  if (context.request.peer.kind === "direct") return plain;
  return negotiate(context.request.headers, context.query, rule);
}

export async function answerCached(
  context: RequestContext,
  kind: ServedKind,
  form: Negotiated,
  status: number,
  cached: CachedObject,
): Promise<PlainResponse> {
  if (kind.prepared === undefined) return answerShown(context, kind, form, status, cached);
  using _held = await kind.prepared.hold([cached]);
  return answerShown(context, kind, form, status, cached);
}

async function answerShown(
  context: RequestContext,
  kind: ServedKind,
  form: Negotiated,
  status: number,
  cached: CachedObject,
): Promise<PlainResponse> {
  if (form.transform?.kind === "Table") return answerTable(context, kind, form, status, cached);
  // A dry run's object has no revision, so the answer has no resourceVersion.
  if (cached.revision === 0) {
    return answerObject(context, kind, form, status, stripVersion(kind.show(cached)));
  }
  const direct = context.request.peer.kind === "direct";
  const json = form.mediaType === "application/json" && !form.isPretty;
  if (!direct && json && form.transform === undefined && kind.isAsStored(cached)) {
    return bytesResponse(status, [cached.encoded("line", jsonLine)], "application/json");
  }
  const binary = form.mediaType === protobufType && form.transform === undefined;
  if (!direct && binary) return answerBinary(kind, status, cached);
  return answerObject(context, kind, form, status, kind.show(cached));
}

/** Answers with a table. Thousands of columns, parsed at first use, and a large object each take a turn of the event loop. */
async function answerTable(
  context: RequestContext,
  kind: ServedKind,
  form: Negotiated,
  status: number,
  cached: CachedObject,
): Promise<PlainResponse> {
  const { pace } = context;
  pace.note(cached.bytes + (kind.printer?.columns.length ?? 0) * columnBytes);
  await pace.step();
  const shown = kind.show(cached);
  const object = cached.revision === 0 ? stripVersion(shown) : shown;
  await pace.step();
  const table = transformObject(
    context,
    { goType: goType(kind), printer: kind.printer },
    form,
    object,
  );
  await pace.step();
  return objectResponse(context.request, status, table, form, contentHeaders(form));
}

/** Answers in protobuf with the encoded entry that lists use too; an object is encoded once. */
function answerBinary(kind: ServedKind, status: number, cached: CachedObject): PlainResponse {
  const { apiVersion } = kind;
  const type = { apiVersion, kind: kind.resource.kind };
  const form = protobufForm(`pb.${apiVersion}`, type, (cached) => kind.show(cached));
  return bytesResponse(status, [objectOfEntry(type, form.bytes(cached))], protobufType);
}

function stripVersion(object: AnyObject): AnyObject {
  const { resourceVersion: _, ...metadata } = object.metadata ?? {};
  return { ...object, metadata };
}

function jsonLine(cached: CachedObject): Uint8Array {
  const json = cached.json;
  const line = new Uint8Array(json.length + 1);
  line.set(json);
  line[json.length] = newline;
  return line;
}

/** Answers with `object`, which is in the version of the request. */
export function answerObject(
  context: RequestContext,
  kind: ServedKind,
  form: Negotiated,
  status: number,
  object: AnyObject,
): PlainResponse {
  const type = { goType: goType(kind), printer: kind.printer };
  return answerMade(context, type, form, status, object);
}

/** The type's name in messages, and its table printer. */
interface ShownType {
  readonly goType: string;
  readonly printer: Printer | undefined;
}

/** Answers with an object. Also serves types that are not stored: reviews, Scale. */
export function answerMade(
  context: RequestContext,
  type: ShownType,
  form: Negotiated,
  status: number,
  object: AnyObject,
): PlainResponse {
  const shown = transformObject(context, type, form, object);
  return objectResponse(context.request, status, shown, form, contentHeaders(form));
}

function transformObject(
  context: RequestContext,
  type: ShownType,
  form: Negotiated,
  object: AnyObject,
): object {
  const wanted = form.transform;
  if (wanted === undefined) return object;
  switch (wanted.kind) {
    case "Table": {
      const { resourceVersion = "" } = object.metadata ?? {};
      const include = includeObject(context.query);
      const options = { includeObject: include, nowMs: context.nowMs, resourceVersion };
      return tableOf(type, wanted.version, [object], options);
    }
    case "PartialObjectMetadata":
      return partial(object, wanted.version);
    case "PartialObjectMetadataList":
      throw notList(type.goType);
    default:
      return wanted.kind satisfies never;
  }
}

export function isList(kind: ServedKind): Error {
  const text = `you requested PartialObjectMetadata, but the requested object is a list (*${goType(kind)}List)`;
  return failure(406, "NotAcceptable", text);
}

function notList(type: string): Error {
  const text = `you requested PartialObjectMetadataList, but the requested object is not a list (*${type})`;
  return failure(406, "NotAcceptable", text);
}

/** Name of a type in upstream's messages: `core.Pod`, `rbac.Role`. */
function goType({ resource: info, custom }: ServedKind): string {
  if (custom !== undefined) return "unstructured.Unstructured";
  return `${info.group === "" ? "core" : info.group.split(".")[0]}.${info.kind}`;
}

/** The media type without parameters for every requested form, as upstream answers. */
export function contentHeaders(form: Negotiated): Headers {
  return { "content-type": form.mediaType };
}

/** Answers 201 with a Status, because the created thing is not an object of its own (a binding). */
export function answerCreated(context: RequestContext, form: Negotiated): PlainResponse {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    code: 201,
  };
  return answerStatus(context, form, 201, status);
}

/** Answers with a Status that does not report an error. */
export function answerStatus(
  context: RequestContext,
  form: Negotiated,
  code: number,
  status: Status,
): PlainResponse {
  if (context.audit !== undefined) context.audit.status = status;
  return answerPlain(context, form, code, status);
}

function answerPlain(
  context: RequestContext,
  form: Negotiated,
  status: number,
  object: object,
): PlainResponse {
  return objectResponse(context.request, status, object, form);
}
