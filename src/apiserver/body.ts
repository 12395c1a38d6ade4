/**
 * Request bodies: read within the limit, parsed by media type, checked against the kind.
 *
 * Direct callers hand over frozen objects: nothing is read or parsed, but the same checks run.
 * Messages are upstream's (apiserver pkg/endpoints/handlers/rest.go, apimachinery serializers).
 */
import { type AnyObject, apiVersionOf, parseApiVersion } from "#api/object.ts";
import { badRequest, failure } from "#api/status.ts";
import type { PlainRequest } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { contentType, objectMediaTypes, unsupportedMediaType } from "#server/negotiate.ts";
import { type ParsedText, parseJsonText, parseYamlText } from "./body-text.ts";
import type { ServedKind } from "./kind.ts";
import type { FieldValidation } from "./write-options.ts";

/** A decoded document and what was odd about it. */
export interface Document {
  readonly value: unknown;
  /** `duplicate field "metadata.name"`. */
  readonly duplicates: readonly string[];
}

/** The bytes, or 413. A body that is a frozen object has none. */
export async function readBytes(request: PlainRequest, limitBytes: number): Promise<Uint8Array> {
  if (request.body.kind !== "bytes") return new Uint8Array(0);
  const bytes = await request.body.read(limitBytes);
  if (bytes === "too-large") throw tooLarge(limitBytes);
  return bytes;
}

function tooLarge(limitBytes: number): Error {
  const text = `Request entity too large: limit is ${limitBytes}`;
  return failure(413, "RequestEntityTooLarge", text);
}

/** The document in the body, undefined when there is none. @throws ApiError 400, 413, 415. */
export async function readDocument(
  request: PlainRequest,
  limitBytes: number,
  kindName: string,
): Promise<Document | undefined> {
  if (request.body.kind === "none") return undefined;
  if (request.body.kind === "object") return { value: request.body.object, duplicates: [] };
  const type = contentType(request.headers);
  const yaml = type === "application/yaml" || type === "text/yaml";
  if (type !== "application/json" && !yaml) throw unsupportedMediaType(objectMediaTypes);
  const bytes = await readBytes(request, limitBytes);
  if (bytes.length === 0) return undefined;
  return parseDocument(bytes, yaml, kindName);
}

function parseDocument(bytes: Uint8Array, yaml: boolean, kindName: string): Document {
  const parsed: ParsedText = yaml ? parseYamlText(bytes) : parseJsonText(bytes);
  if (parsed.kind === "ok") return { value: parsed.value, duplicates: parsed.duplicates };
  const said = yaml
    ? parsed.message
    : `couldn't get version/kind; json parse error: ${parsed.message}`;
  const excerpt = new TextDecoder().decode(bytes.subarray(0, 30));
  const more = bytes.length > 30 ? `${JSON.stringify(excerpt).slice(1, -1)} ...` : excerpt;
  const unrecognized = `the object provided is unrecognized (must be of type ${kindName})`;
  throw badRequest(`${unrecognized}: ${said} (${more})`);
}

/** The object a create or update sends: of the right kind and version, types checked, defaulted. */
export async function readObject(
  context: RequestContext,
  kind: ServedKind,
  limitBytes: number,
  validation: FieldValidation,
): Promise<AnyObject> {
  const document = await readDocument(context.request, limitBytes, kind.info.kind);
  if (document === undefined) throw emptyBody(kind.info.kind);
  const typed = withKind(document.value, kind);
  const frozen = context.request.body.kind === "object";
  return decoded(context, kind, typed, document.duplicates, frozen ? "Ignore" : validation);
}

function emptyBody(kindName: string): Error {
  const said = "couldn't get version/kind; json parse error: unexpected end of JSON input ()";
  return badRequest(`the object provided is unrecognized (must be of type ${kindName}): ${said}`);
}

/** Checks a document of `kind` and fills defaults; findings become warnings or a 400. */
export function decoded(
  context: RequestContext,
  kind: ServedKind,
  object: AnyObject,
  duplicates: readonly string[],
  validation: FieldValidation,
): AnyObject {
  const checked = kind.check(object);
  const findings = [...duplicates, ...checked.findings];
  if (validation === "Strict" && findings.length > 0) throw strictFault(kind, findings);
  if (validation === "Warn") for (const text of findings) context.warnings.add(text);
  return kind.applyDefaults(checked.object);
}

function strictFault(kind: ServedKind, findings: readonly string[]): Error {
  const { kind: name, version } = kind.info;
  const said = `strict decoding error: ${findings.join(", ")}`;
  return badRequest(`${name} in version "${version}" cannot be handled as a ${name}: ${said}`);
}

/** `value` as an object of `kind`: what it does not say of itself is filled in, a lie is a 400. */
export function withKind(value: unknown, kind: ServedKind): AnyObject {
  const expected = kind.info.kind;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const said =
      "json: cannot unmarshal into Go value of type struct { APIVersion string; Kind string }";
    const wrong = `couldn't get version/kind; json parse error: ${said}`;
    throw badRequest(`the object provided is unrecognized (must be of type ${expected}): ${wrong}`);
  }
  const object = value as AnyObject; // a JSON object; its fields are checked by `check`
  const { apiVersion = "", kind: name = "" } = object;
  if (name !== "" && name !== expected) throw wrongKind(object, kind);
  if (apiVersion !== "" && apiVersion !== kind.apiVersion) {
    const said = `the API version in the data (${apiVersion})`;
    throw badRequest(`${said} does not match the expected API version (${kind.apiVersion})`);
  }
  if (apiVersion !== "" && name !== "") return object;
  return { ...object, apiVersion: kind.apiVersion, kind: expected };
}

function wrongKind(object: AnyObject, kind: ServedKind): Error {
  const given = parseApiVersion(String(object.apiVersion ?? ""));
  const version = given?.version ?? "";
  const group = given === undefined ? "" : apiVersionOf(given);
  const said = `no kind "${object.kind}" is registered for version "${group}" as ${kind.info.kind}`;
  return badRequest(
    `${object.kind} in version "${version}" cannot be handled as a ${kind.info.kind}: ${said}`,
  );
}
