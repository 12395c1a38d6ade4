/**
 * A version 3 document in protobuf: `application/com.github.proto-openapi.spec.v3.v1.0+protobuf`, the form that kubectl
 * and client-go prefer.
 *
 * In     a document as `openapiV3Steps` makes it.
 * Out    message Document of gnostic's OpenAPIv3.proto (google/gnostic openapiv3); the numbers in this
 *        file are its field numbers. A default that is an object or a list is an empty message: the
 *        type has no place for it.
 * How this changes  a key of a schema that is not in `schemaFields` is lost: add it there.
 */
import type { Steps } from "#base/steps.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import {
  any,
  asList,
  asObject,
  asText,
  extensions,
  listAt,
  namedSteps,
  objectAt,
  repeatNamed,
  stringAt,
  stringsAt,
  writeNamed,
} from "./proto-values.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";

/** Initial size of the buffer. Most documents need less; the buffer grows if needed. */
const initialBytes = 128 * 1024;

/** Encodes the document, one step per schema and path. */
export function* openapiV3ProtobufSteps(document: JsonObject): Steps<Uint8Array> {
  const w = new ProtobufWriter(initialBytes);
  const { schemas, securitySchemes } = objectAt(document, "components");
  const components = w.begin();
  if (securitySchemes !== undefined) {
    writeNamed(w, 7, 1, asObject(securitySchemes), (item) => securityScheme(w, item));
  }
  if (schemas !== undefined) {
    yield* namedSteps(w, { field: 1, element: 1 }, asObject(schemas), schemaOrReference);
  }
  w.end(5, components);
  yield* namedSteps(w, { field: 4, element: 1 }, objectAt(document, "paths"), pathItem);
  w.message(2, () => {
    const info = objectAt(document, "info");
    w.string(6, stringAt(info, "version"));
    w.string(1, stringAt(info, "title"));
  });
  w.string(1, stringAt(document, "openapi"));
  return w.finish();
}

/** SecuritySchemeOrReference { SecurityScheme } */
function securityScheme(w: ProtobufWriter, item: JsonObject): void {
  w.message(1, () => {
    w.string(4, stringAt(item, "in"));
    w.string(3, stringAt(item, "name"));
    w.string(2, stringAt(item, "description"));
    w.string(1, stringAt(item, "type"));
  });
}

const methods = [
  ["get", 4],
  ["put", 5],
  ["post", 6],
  ["delete", 7],
  ["options", 8],
  ["head", 9],
  ["patch", 10],
] as const;

function pathItem(w: ProtobufWriter, item: JsonObject): void {
  parameters(w, 13, listAt(item, "parameters"));
  for (const [method, field] of [...methods].reverse()) {
    const found = item[method];
    if (found !== undefined) w.message(field, () => operation(w, asObject(found)));
  }
}

function operation(w: ProtobufWriter, o: JsonObject): void {
  extensions(w, 13, o);
  w.bool(10, o["deprecated"] === true);
  w.message(8, () => repeatNamed(w, 2, objectAt(o, "responses"), (item) => response(w, item)));
  const body = o["requestBody"];
  if (body !== undefined) w.message(7, () => requestBody(w, asObject(body)));
  parameters(w, 6, listAt(o, "parameters"));
  w.string(5, stringAt(o, "operationId"));
  w.string(3, stringAt(o, "description"));
  w.strings(1, stringsAt(o, "tags"));
}

/** RequestBodyOrReference { RequestBody } */
function requestBody(w: ProtobufWriter, body: JsonObject): void {
  w.message(1, () => {
    w.bool(3, body["required"] === true);
    content(w, 2, body);
    w.string(1, stringAt(body, "description"));
  });
}

/** ResponseOrReference { Response } */
function response(w: ProtobufWriter, value: JsonObject): void {
  w.message(1, () => {
    content(w, 3, value);
    w.string(1, stringAt(value, "description"));
  });
}

/** MediaTypes: a schema by type. */
function content(w: ProtobufWriter, field: number, owner: JsonObject): void {
  const types = owner["content"];
  if (types === undefined) return;
  writeNamed(w, field, 1, asObject(types), (type) => {
    const schema = type["schema"];
    if (schema !== undefined) w.message(1, () => schemaOrReference(w, asObject(schema)));
  });
}

/** ParameterOrReference { Parameter } */
function parameters(w: ProtobufWriter, field: number, list: readonly JsonValue[]): void {
  w.repeated(field, list, (item) => {
    w.message(1, () => {
      const p = asObject(item);
      w.message(10, () => schemaOrReference(w, objectAt(p, "schema")));
      w.bool(4, p["required"] === true);
      w.string(3, stringAt(p, "description"));
      w.string(2, stringAt(p, "in"));
      w.string(1, stringAt(p, "name"));
    });
  });
}

function schemaOrReference(w: ProtobufWriter, value: JsonObject): void {
  const reference = stringAt(value, "$ref");
  if (reference === undefined) w.message(1, () => schema(w, value));
  else w.message(2, () => w.string(1, reference));
}

type WriteField = (w: ProtobufWriter, value: JsonValue) => void;

/** Fields, highest number first, because the writer works backwards. */
const schemaFields: readonly (readonly [key: string, write: WriteField])[] = [
  ["format", (w, v) => w.string(35, asText(v))],
  ["description", (w, v) => w.string(34, asText(v))],
  ["default", (w, v) => w.message(33, () => defaultValue(w, v))],
  ["additionalProperties", additionalProperties],
  ["properties", (w, v) => writeNamed(w, 31, 1, asObject(v), (item) => schemaOrReference(w, item))],
  ["items", (w, v) => w.message(30, () => schemas(w, 1, [v]))],
  ["not", (w, v) => w.message(29, () => schema(w, asObject(v)))],
  ["anyOf", (w, v) => schemas(w, 28, asList(v))],
  ["oneOf", (w, v) => schemas(w, 27, asList(v))],
  ["allOf", (w, v) => schemas(w, 26, asList(v))],
  ["type", (w, v) => w.string(25, asText(v))],
  ["enum", (w, v) => w.repeated(24, asList(v), (item) => any(w, item))],
  ["required", (w, v) => w.strings(23, asList(v).map(asText))],
  ["minProperties", (w, v) => w.integer(22, Number(v))],
  ["maxProperties", (w, v) => w.integer(21, Number(v))],
  ["uniqueItems", (w, v) => w.bool(20, v === true)],
  ["minItems", (w, v) => w.integer(19, Number(v))],
  ["maxItems", (w, v) => w.integer(18, Number(v))],
  ["pattern", (w, v) => w.string(17, asText(v))],
  ["minLength", (w, v) => w.integer(16, Number(v))],
  ["maxLength", (w, v) => w.integer(15, Number(v))],
  ["exclusiveMinimum", (w, v) => w.bool(14, v === true)],
  ["minimum", (w, v) => w.double(13, Number(v))],
  ["exclusiveMaximum", (w, v) => w.bool(12, v === true)],
  ["maximum", (w, v) => w.double(11, Number(v))],
  ["multipleOf", (w, v) => w.double(10, Number(v))],
  ["title", (w, v) => w.string(9, asText(v))],
  ["example", (w, v) => w.message(7, () => any(w, v))],
  ["externalDocs", (w, v) => w.message(6, () => externalDocs(w, asObject(v)))],
  ["nullable", (w, v) => w.bool(1, v === true)],
];

function schema(w: ProtobufWriter, value: JsonObject): void {
  extensions(w, 36, value);
  for (const [key, write] of schemaFields) {
    const member = value[key];
    if (member !== undefined) write(w, member);
  }
}

function schemas(w: ProtobufWriter, field: number, list: readonly JsonValue[]): void {
  w.repeated(field, list, (item) => schemaOrReference(w, asObject(item)));
}

/** AdditionalPropertiesItem { SchemaOrReference | boolean } */
function additionalProperties(w: ProtobufWriter, value: JsonValue): void {
  w.message(32, () => {
    if (typeof value === "boolean") w.oneofBool(2, value);
    else w.message(1, () => schemaOrReference(w, asObject(value)));
  });
}

/** DefaultType { number | boolean | string } */
function defaultValue(w: ProtobufWriter, value: JsonValue): void {
  if (typeof value === "boolean") w.oneofBool(2, value);
  else if (typeof value === "string") w.oneofString(3, value);
  // Integers beyond 2^53 are bigints.
  else if (typeof value !== "object") w.oneofDouble(1, Number(value));
}

function externalDocs(w: ProtobufWriter, docs: JsonObject): void {
  w.string(2, stringAt(docs, "url"));
  w.string(1, stringAt(docs, "description"));
}
