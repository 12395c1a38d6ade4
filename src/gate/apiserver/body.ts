/**
 * Request bodies: read within the limit, parsed by media type, checked against the kind.
 *
 * Direct callers hand over frozen objects: nothing is read or parsed, but the same checks run.
 * Messages are upstream's (apiserver pkg/endpoints/handlers/rest.go, apimachinery serializers).
 */
import {
  type AnyObject,
  apiVersionOf,
  type GroupVersionKind,
  parseApiVersion,
} from "#api/object.ts";
import { keepSpelling, keptField } from "#api/json/kept-json.ts";
import { checkNamespaceOf } from "#api/meta.ts";
import { cannotBeHandled, strictDecodingMessage } from "#api/schema/decode.ts";
import { refuseBeyondLimits } from "#api/json/object-limits.ts";
import { hasValues } from "#api/json/value-count.ts";
import { badRequest, tooLarge, tooManyRequests } from "#api/status.ts";
import { isRecord } from "#base/is-record.ts";
import { charged, chargeDecoding, refused } from "#server/charges.ts";
import type { RequestContext } from "#server/context.ts";
import {
  contentType,
  objectMediaTypes,
  protobufType,
  unsupportedMediaType,
} from "#forms/negotiate.ts";
import { checkKind } from "./builtin-kind.ts";
import {
  type Bodies,
  type BodyFormat,
  type Document,
  parseBody,
  type Repeats,
} from "./body-text.ts";
import { decodeUtf8 } from "#wire/json.ts";
import { ProtobufError, readEnvelope } from "#wire/protobuf.ts";
import { repeatedKeysMessage } from "#wire/yaml.ts";
import type { ServedKind } from "./kind.ts";
import { noteObject } from "./request-note.ts";
import { checkCustomKind, notAnObject, unrecognized, withKind } from "./stated-kind.ts";
import { decodeProtobuf, TooManyFieldsError } from "#forms/protobuf/decode.ts";
import type { FieldValidation } from "./write-options.ts";

/** Bytes charged for a request whose body has not arrived yet. It holds no seat, so seats do not bound such requests. */
const waitingBytes = 16 * 1024;

/** Reads the body's bytes; a body that is a frozen object has none. @throws ApiError 413, 429. */
async function readBytes(context: RequestContext, { bytesMax }: Bodies): Promise<Uint8Array> {
  const { request, holding } = context;
  if (request.body.kind !== "bytes") return new Uint8Array(0);
  const { body } = request;
  const bytes = await charged(holding, "body", waitingBytes, () =>
    context.pace.outside(body.read(bytesMax, holding)),
  );
  if (bytes === "too-large") throw tooLarge(`limit is ${bytesMax}`);
  if (bytes === "refused") throw refused(holding);
  chargeDecoding(holding, bytes.length);
  context.pace.note(bytes.length);
  await context.pace.step();
  return bytes;
}

/** Parses the text of a body. @returns the data or the syntax error. @throws ApiError 413, 429. */
export async function readText(
  context: RequestContext,
  bodies: Bodies,
  format: BodyFormat,
  noting: boolean,
): Promise<TextRead> {
  const bytes = await readBytes(context, bodies);
  return readParsed(bytes, format, noting, bodies);
}

type TextRead = ({ readonly kind: "ok" } & Document) | { readonly kind: "error"; message: string };

async function readParsed(
  bytes: Uint8Array,
  format: BodyFormat,
  noting: boolean,
  bodies: Bodies,
): Promise<TextRead> {
  const parsed = await parseBody(bytes, format, noting, bodies);
  switch (parsed.kind) {
    case "ok":
    case "error":
      return parsed;
    case "too-many":
      throw tooLarge(`the object has ${parsed.message}`);
    case "exceeded":
      throw tooLarge("the YAML takes too long to read; send it as JSON");
    case "busy":
      throw tooManyRequests("too many YAML documents wait to be read; send JSON", 1);
    default:
      return parsed satisfies never;
  }
}

/** Number of values from which an object counts as long; they are about 10 KB. Direct callers send no bytes to count. */
const longValuesMin = 500;

function notePace({ pace }: RequestContext, object: unknown): void {
  if (hasValues(object, longValuesMin)) pace.note(Number.POSITIVE_INFINITY);
}

/**
 * The document in the body. Undefined: the body is empty. `noting`: whether repeated keys are searched for.
 * @throws ApiError 400, 413, 415.
 */
export async function readDocument(
  context: RequestContext,
  bodies: Bodies,
  kindName: string,
  noting: boolean,
): Promise<Document | undefined> {
  const { request } = context;
  const format = bodyFormats.get(contentType(request.headers));
  if (request.body.kind === "none" && format !== "yaml") return undefined;
  if (request.body.kind === "object") {
    notePace(context, request.body.object);
    return { value: request.body.object };
  }
  if (format === undefined) throw unsupportedMediaType(objectMediaTypes);
  const bytes = await readBytes(context, bodies);
  // An empty body is a valid YAML document.
  if (bytes.length === 0 && format !== "yaml") return undefined;
  if (format === "protobuf") return parseProtobuf(bytes, kindName);
  const read = await readParsed(bytes, format, noting, bodies);
  const document = parseDocument(bytes, format, kindName, read);
  return format === "json" ? withSpelling(document, kindName, bytes) : document;
}

/** Keeps the spelling of a raw field. Upstream decodes that field as bytes, so repeated keys in it are not reported. */
function withSpelling(document: Document, kindName: string, bytes: Uint8Array): Document {
  const field = keptField(kindName);
  if (field === undefined) return document;
  keepSpelling(document.value, kindName, decodeUtf8(bytes));
  const { duplicates: scan } = document;
  if (scan === undefined) return document;
  const duplicates = scan.duplicates.filter(({ path }) => path.length === 1 || path[0] !== field);
  return { ...document, duplicates: { ...scan, duplicates } };
}

const bodyFormats: ReadonlyMap<string, BodyFormat | "protobuf"> = new Map([
  [protobufType, "protobuf"],
  ["application/json", "json"],
  ["application/yaml", "yaml"],
  ["text/yaml", "yaml"],
]);

/** Decodes protobuf of a built-in kind; custom resources have no protobuf encoding. */
function parseProtobuf(bytes: Uint8Array, kindName: string): Document {
  try {
    const { apiVersion, kind, raw } = readEnvelope(bytes);
    const gv = parseApiVersion(apiVersion) ?? { group: "", version: "" };
    const fields = decodeProtobuf({ ...gv, kind }, raw);
    refuseBeyondLimits(fields);
    if (fields !== undefined) return { value: { apiVersion, kind, ...fields } };
    throw badRequest(`no kind "${kind}" is registered for version "${apiVersion}" as ${kindName}`);
  } catch (error) {
    if (error instanceof TooManyFieldsError) throw tooLarge(error.message);
    if (!(error instanceof ProtobufError)) throw error;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kindName}): ${error.message}`,
    );
  }
}

function unreadable(message: string): string {
  return `couldn't get version/kind; json parse error: ${message}`;
}

function parseDocument(
  bytes: Uint8Array,
  format: BodyFormat,
  kindName: string,
  parsed: TextRead,
): Document {
  if (parsed.kind === "ok") {
    const { value } = parsed;
    if (value === null || isRecord(value)) return { ...parsed, source: bytes };
    throw unrecognized(kindName, unreadable(notAnObject(value)), bytes);
  }
  const { message } = parsed;
  throw unrecognized(kindName, format === "json" ? unreadable(message) : message, bytes);
}

/** Media types of custom resources, which have no protobuf encoding. */
const customTypes = ["application/json", "application/yaml"];

function checkCustomType(context: RequestContext, kind: ServedKind): void {
  if (kind.custom === undefined || contentType(context.request.headers) !== protobufType) return;
  throw unsupportedMediaType(customTypes);
}

/** Reads the object of a create or update. Checks kind, version and types, and fills defaults. */
export async function readObject(
  context: RequestContext,
  kind: ServedKind,
  bodies: Bodies,
  validation: FieldValidation,
): Promise<AnyObject> {
  checkCustomType(context, kind);
  const document = await readDocument(context, bodies, kind.resource.kind, validation !== "Ignore");
  if (document === undefined) throw emptyBody(kind.resource.kind);
  const { pace } = context;
  await pace.step();
  const { value, source } = document;
  const typed =
    kind.custom === undefined
      ? withKind(value, kind, source)
      : checkCustomKind(value, kind, source);
  const frozen = context.request.body.kind === "object";
  const object = await decodeDocument(
    context,
    kind,
    typed,
    document,
    frozen ? "Ignore" : validation,
  );
  await pace.step();
  return object;
}

function emptyBody(kindName: string): Error {
  const said = "couldn't get version/kind; json parse error: unexpected end of JSON input";
  return unrecognized(kindName, said, new Uint8Array(0));
}

/** Checks a document of `kind` and fills defaults; findings become warnings or a 400. */
export async function decodeDocument(
  context: RequestContext,
  kind: ServedKind,
  object: AnyObject,
  repeats: Repeats,
  validation: FieldValidation,
): Promise<AnyObject> {
  const { object: checked, findings } = kind.check(object, repeats.duplicates);
  refuseOverflow(kind.resource, repeats);
  reportFindings(context, kind.resource, validation, { ...repeats, findings });
  await context.pace.step();
  const defaulted = kind.applyDefaults(checked);
  // A short body may have thousands of defaults.
  if (kind.custom !== undefined && !context.pace.isLong) notePace(context, defaulted);
  return defaulted;
}

/** Reports findings as warnings (Warn) or as a 400 (Strict). @throws ApiError 400. */
function reportFindings(
  { warnings }: RequestContext,
  gvk: GroupVersionKind,
  validation: FieldValidation,
  found: Repeats & { readonly findings: readonly string[] },
): void {
  const { repeatedKeys: lines = [], patchFindings: own = [], findings } = found;
  if (validation === "Warn") {
    for (const text of [...lines, ...own, ...findings]) warnings.add(text);
  }
  if (validation !== "Strict") return;
  const repeated = lines.length === 0 ? [] : [repeatedKeysMessage(lines)];
  const all = [...repeated, ...own, ...findings];
  if (all.length > 0) throw badRequest(cannotBeHandled(gvk, strictDecodingMessage(all)));
}

/** Refuses a number out of range. In a typed field the check before has refused it already, with the field's name. */
function refuseOverflow(gvk: GroupVersionKind, { overflow }: Repeats): void {
  if (overflow === undefined) return;
  throw badRequest(cannotBeHandled(gvk, overflowMessage(overflow, "value")));
}

/** `into`: the Go target in the message, `value` or a struct's field. */
export function overflowMessage(literal: string, into: string): string {
  return `json: cannot unmarshal number ${literal} into Go ${into} of type float64`;
}

/**
 * Reads a body whose kind is not a resource of its own: Scale, Binding, Eviction, reviews. `older`: an apiVersion with
 * the same fields, which is accepted as well.
 */
export async function readTyped(
  context: RequestContext,
  gvk: GroupVersionKind,
  bodies: Bodies,
  validation: FieldValidation,
  older?: string,
): Promise<AnyObject> {
  const noting = validation !== "Ignore";
  const document = await readDocument(context, bodies, gvk.kind, noting);
  if (document === undefined) throw emptyBody(gvk.kind);
  const { source } = document;
  const value = ofVersion(document.value, gvk, older);
  const typed = withKind(value, { apiVersion: apiVersionOf(gvk), resource: gvk }, source);
  const { object, findings } = checkKind(gvk, typed, document.duplicates);
  refuseOverflow(gvk, document);
  reportFindings(context, gvk, validation, { ...document, findings });
  checkNamespaceOf(object, context.place.namespace);
  noteObject(context, object);
  return object;
}

function ofVersion(value: unknown, gvk: GroupVersionKind, older: string | undefined): unknown {
  if (older === undefined || !isRecord(value) || value["apiVersion"] !== older) return value;
  return { ...value, apiVersion: apiVersionOf(gvk) };
}
