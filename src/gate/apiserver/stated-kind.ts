/**
 * Determines the kind that a body states, as upstream's decoders do before all else: from its fields apiVersion and
 * kind.
 *
 * Holds  `apiVersion: /v1` is `v1`; a body without a kind, or without a version of the expected group, is of the
 *        expected kind. The names of the two fields are case-insensitive, as in Go's encoding/json.
 */
import { jsonKind } from "#api/json/json-value.ts";
import {
  type AnyObject,
  apiVersionOf,
  type GroupVersion,
  type GroupVersionKind,
  parseApiVersion,
} from "#api/object.ts";
import { checkFields } from "#api/schema/decode.ts";
import { schemaOfKind } from "#api/schema/schema.ts";
import { type ApiError, badRequest } from "#api/status.ts";
import { isRecord } from "#base/is-record.ts";
import { decodeUtf8 } from "#wire/json.ts";

interface NamedKind {
  readonly apiVersion: string;
  readonly resource: { readonly kind: string };
}

/** Returns `value` as an object of `kind`. Fills in a missing kind or version. @throws ApiError 400 for a wrong one. */
export function withKind(value: unknown, kind: NamedKind, source?: Uint8Array): AnyObject {
  const expected = { ...gvOf(kind.apiVersion), kind: kind.resource.kind };
  const object = objectOf(value, expected.kind, source);
  const stated = withDefaults(statedKind(object, expected.kind, source), expected);
  if (stated.version === "") throw missing("apiVersion", object, stated, expected.kind, source);
  const schema = schemaOfKind(stated);
  if (schema === undefined) {
    throw handled(stated, expected.kind, noSuchKind(stated.kind, apiVersionOf(stated)));
  }
  if (stated.kind !== expected.kind) throw wrongKind(object, stated, expected);
  const apiVersion = apiVersionOf(stated);
  if (apiVersion !== kind.apiVersion) throw wrongVersion(apiVersion, kind.apiVersion);
  if (object.apiVersion === apiVersion && object.kind === expected.kind) return object;
  return { ...object, apiVersion, kind: expected.kind };
}

/** Requires kind and version of a custom object; validation checks that the kind is the right one. */
export function checkCustomKind(value: unknown, kind: NamedKind, source?: Uint8Array): AnyObject {
  const expected = kind.resource.kind;
  const object = objectOf(value, expected, source);
  const stated = statedKind(object, expected, source);
  if (stated.kind === "" || (object.kind ?? "") === "") {
    const text = originalOf(object, source);
    throw unrecognized(expected, `Object 'Kind' is missing in '${text}'`, bytesOf(object, source));
  }
  const apiVersion = apiVersionOf(stated);
  if (apiVersion !== kind.apiVersion) throw wrongVersion(apiVersion, kind.apiVersion);
  return object;
}

function objectOf(value: unknown, expected: string, source: Uint8Array | undefined): AnyObject {
  if (value !== null && !isRecord(value)) {
    const said = `couldn't get version/kind; json parse error: ${notAnObject(value)}`;
    throw unrecognized(expected, said, source);
  }
  return (value ?? {}) as AnyObject; // a JSON object; its fields are checked by `check`
}

export function notAnObject(value: unknown): string {
  const type = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
  return `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${type}`;
}

/** @throws ApiError 400 when kind or version is not a text, or the version has two slashes. */
function statedKind(
  object: AnyObject,
  expected: string,
  source: Uint8Array | undefined,
): GroupVersionKind {
  const apiVersion = textField(object, "apiVersion", expected, source);
  const kind = textField(object, "kind", expected, source);
  const gv = parseApiVersion(apiVersion === "/" ? "" : apiVersion);
  if (gv !== undefined) return { ...gv, kind };
  throw unrecognized(expected, `unexpected GroupVersion string: ${apiVersion}`, source);
}

function textField(
  object: AnyObject,
  name: "apiVersion" | "kind",
  expected: string,
  source: Uint8Array | undefined,
): string {
  const value = fieldInAnyCase(object, name) ?? "";
  if (typeof value === "string") return value;
  const said = `json: cannot unmarshal ${jsonKind(value)} into Go struct field .${name} of type string`;
  throw unrecognized(expected, `couldn't get version/kind; json parse error: ${said}`, source);
}

/** Value of the last key that equals `name` in any case. */
function fieldInAnyCase(object: AnyObject, name: string): unknown {
  const names = Object.keys(object).filter((key) => key.length === name.length);
  const found = names.findLast((key) => key.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : object[found];
}

function gvOf(apiVersion: string): GroupVersion {
  return parseApiVersion(apiVersion) ?? { group: "", version: "" };
}

function withDefaults(stated: GroupVersionKind, expected: GroupVersionKind): GroupVersionKind {
  const kind = stated.kind === "" ? expected.kind : stated.kind;
  const isNothing = stated.group === "" && stated.version === "";
  const isVersionless = stated.version === "" && stated.group === expected.group;
  return isNothing || isVersionless ? { ...expected, kind } : { ...stated, kind };
}

function wrongKind(
  object: AnyObject,
  stated: GroupVersionKind,
  expected: GroupVersionKind,
): ApiError {
  const schema = schemaOfKind(stated);
  const decoded = schema === undefined ? undefined : checkFields(object, schema);
  if (decoded?.kind === "error") return handled(stated, expected.kind, decoded.message);
  const group = expected.group === "" ? "core" : (expected.group.split(".")[0] ?? "");
  const said = `converting (${stated.version}.${stated.kind}) to (${group}.${expected.kind}): unknown conversion`;
  return handled(stated, expected.kind, said);
}

/** Text for an unknown kind. Upstream names the scheme by the line of code that creates it. */
export function noSuchKind(kind: string, apiVersion: string): string {
  const said = `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`;
  return `${said} in scheme "pkg/runtime/scheme.go:111"`;
}

function wrongVersion(apiVersion: string, expected: string): ApiError {
  const said = `the API version in the data (${apiVersion})`;
  return badRequest(`${said} does not match the expected API version (${expected})`);
}

function handled({ kind, version }: GroupVersionKind, expected: string, said: string): ApiError {
  const what = `${kind} in version ${JSON.stringify(version)}`;
  return badRequest(`${what} cannot be handled as a ${expected}: ${said}`);
}

function missing(
  field: string,
  object: AnyObject,
  stated: GroupVersionKind,
  expected: string,
  source: Uint8Array | undefined,
): ApiError {
  const text = originalOf(object, source);
  return handled(stated, expected, `Object '${field}' is missing in '${text}'`);
}

/** Maximum bytes of a body repeated in a message; upstream repeats the whole body. */
const originalLengthMax = 64 * 1024;

function originalOf(object: AnyObject, source: Uint8Array | undefined): string {
  return decodeUtf8(bytesOf(object, source).subarray(0, originalLengthMax));
}

/** Bytes of a body; an object that came without a text is encoded. */
function bytesOf(object: AnyObject, source: Uint8Array | undefined): Uint8Array {
  return source ?? new TextEncoder().encode(JSON.stringify(object));
}

/** Returns a 400 for an unreadable body. `source`: the bytes for an excerpt; undefined for none. */
export function unrecognized(
  kindName: string,
  said: string,
  source: Uint8Array | undefined,
): ApiError {
  const text = `the object provided is unrecognized (must be of type ${kindName}): ${said}`;
  return badRequest(source === undefined ? text : `${text} (${excerpt(source)})`);
}

/** Maximum bytes of an unreadable body in a message. */
const excerptBytesMax = 30;

/** Start of a body: as text if it looks like JSON, otherwise in hexadecimal. */
function excerpt(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const start = bytes.subarray(0, excerptBytesMax);
  const shown = start[0] === 0x7b ? decodeUtf8(start) : Buffer.from(start).toString("hex");
  return bytes.length > excerptBytesMax ? `${shown} ...` : shown;
}
