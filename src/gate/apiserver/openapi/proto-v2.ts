/**
 * The version 2 document in protobuf: `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`, the only form that
 * older client-go and kubectl request.
 *
 * In     a document as `openapiV2Steps` makes it, or any of the same shape.
 * Out    message Document of gnostic's OpenAPIv2.proto (google/gnostic openapiv2); the numbers in
 *        this file are its field numbers. Maps are lists of (name, value); x- fields carry their
 *        value as YAML text, for which JSON is good enough.
 * How this changes  a key of a schema that is not in `schemaFields` is lost: add it there.
 */
import { allSteps, type Steps } from "#base/steps.ts";
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

/** Initial size of the buffer, about that of the built-in document; the buffer grows if needed. */
const initialBytes = 2 * 1024 * 1024;

export function encodeOpenapiV2(document: JsonObject): Uint8Array {
  return allSteps(openapiV2ProtobufSteps(document));
}

/** Encodes the document, one step per definition and path. */
export function* openapiV2ProtobufSteps(document: JsonObject): Steps<Uint8Array> {
  const w = new ProtobufWriter(initialBytes);
  securityDefinitions(w, objectAt(document, "securityDefinitions"));
  for (const requirement of listAt(document, "security")) security(w, asObject(requirement));
  yield* namedSteps(w, { field: 9, element: 1 }, objectAt(document, "definitions"), schema);
  yield* namedSteps(w, { field: 8, element: 2 }, objectAt(document, "paths"), pathItem);
  w.message(2, () => {
    const info = objectAt(document, "info");
    w.string(2, stringAt(info, "version"));
    w.string(1, stringAt(info, "title"));
  });
  w.string(1, stringAt(document, "swagger"));
  return w.finish();
}

function securityDefinitions(w: ProtobufWriter, definitions: JsonObject): void {
  writeNamed(w, 13, 1, definitions, (item) => {
    w.message(2, () => {
      w.string(4, stringAt(item, "description"));
      w.string(3, stringAt(item, "in"));
      w.string(2, stringAt(item, "name"));
      w.string(1, stringAt(item, "type"));
    });
  });
}

function security(w: ProtobufWriter, requirement: JsonObject): void {
  w.message(12, () => {
    w.repeated(1, Object.entries(requirement), ([name, scopes]) => {
      w.message(2, () => w.strings(1, scopes as readonly string[])); // always a list of strings
      w.string(1, name);
    });
  });
}

const methods = [
  ["get", 2],
  ["put", 3],
  ["post", 4],
  ["delete", 5],
  ["options", 6],
  ["head", 7],
  ["patch", 8],
] as const;

function pathItem(w: ProtobufWriter, item: JsonObject): void {
  parameters(w, 9, listAt(item, "parameters"));
  for (const [method, field] of [...methods].reverse()) {
    const found = item[method];
    if (found !== undefined) w.message(field, () => operation(w, asObject(found)));
  }
}

function operation(w: ProtobufWriter, o: JsonObject): void {
  extensions(w, 13, o);
  w.strings(10, stringsAt(o, "schemes"));
  w.message(9, () => repeatNamed(w, 1, objectAt(o, "responses"), (r) => response(w, r)));
  parameters(w, 8, listAt(o, "parameters"));
  w.strings(7, stringsAt(o, "consumes"));
  w.strings(6, stringsAt(o, "produces"));
  w.string(5, stringAt(o, "operationId"));
  w.string(3, stringAt(o, "description"));
  w.strings(1, stringsAt(o, "tags"));
}

/** ResponseValue { Response { description, SchemaItem { Schema } } } */
function response(w: ProtobufWriter, value: JsonObject): void {
  w.message(1, () => {
    const content = value["schema"];
    if (content !== undefined) {
      w.message(2, () => w.message(1, () => schema(w, asObject(content))));
    }
    w.string(1, stringAt(value, "description"));
  });
}

/** ParametersItem { Parameter { BodyParameter | NonBodyParameter { query | path } } } */
function parameters(w: ProtobufWriter, field: number, list: readonly JsonValue[]): void {
  w.repeated(field, list, (item) => {
    const p = asObject(item);
    w.message(1, () => {
      if (p["in"] === "body") w.message(1, () => bodyParameter(w, p));
      else w.message(2, () => plainParameter(w, p));
    });
  });
}

function bodyParameter(w: ProtobufWriter, p: JsonObject): void {
  w.message(5, () => schema(w, objectAt(p, "schema")));
  w.bool(4, p["required"] === true);
  w.string(3, "body");
  w.string(2, stringAt(p, "name"));
  w.string(1, stringAt(p, "description"));
}

function plainParameter(w: ProtobufWriter, p: JsonObject): void {
  const inPath = p["in"] === "path";
  // The two messages differ by allow_empty_value, which shifts `type` and `unique_items` by one.
  w.message(inPath ? 4 : 3, () => {
    w.bool(inPath ? 19 : 20, p["uniqueItems"] === true);
    w.string(inPath ? 5 : 6, stringAt(p, "type"));
    w.string(4, stringAt(p, "name"));
    w.string(3, stringAt(p, "description"));
    w.string(2, stringAt(p, "in"));
    w.bool(1, p["required"] === true);
  });
}

/** Fields, highest number first, because the writer works backwards. */
const schemaFields: readonly (readonly [
  key: string,
  write: (w: ProtobufWriter, value: JsonValue) => void,
])[] = [
  ["example", (w, v) => w.message(30, () => any(w, v))],
  ["readOnly", (w, v) => w.bool(27, v === true)],
  ["discriminator", (w, v) => w.string(26, asText(v))],
  ["properties", (w, v) => writeNamed(w, 25, 1, asObject(v), (value) => schema(w, value))],
  ["allOf", (w, v) => w.repeated(24, asList(v), (item) => schema(w, asObject(item)))],
  ["items", (w, v) => w.message(23, () => w.message(1, () => schema(w, asObject(v))))],
  ["type", (w, v) => w.message(22, () => w.strings(1, typeNames(v)))],
  ["additionalProperties", additionalProperties],
  ["enum", (w, v) => w.repeated(20, asList(v), (item) => any(w, item))],
  ["required", (w, v) => w.strings(19, asList(v).map(asText))],
  ["minProperties", (w, v) => w.integer(18, Number(v))],
  ["maxProperties", (w, v) => w.integer(17, Number(v))],
  ["uniqueItems", (w, v) => w.bool(16, v === true)],
  ["minItems", (w, v) => w.integer(15, Number(v))],
  ["maxItems", (w, v) => w.integer(14, Number(v))],
  ["pattern", (w, v) => w.string(13, asText(v))],
  ["minLength", (w, v) => w.integer(12, Number(v))],
  ["maxLength", (w, v) => w.integer(11, Number(v))],
  ["exclusiveMinimum", (w, v) => w.bool(10, v === true)],
  ["minimum", (w, v) => w.double(9, Number(v))],
  ["exclusiveMaximum", (w, v) => w.bool(8, v === true)],
  ["maximum", (w, v) => w.double(7, Number(v))],
  ["multipleOf", (w, v) => w.double(6, Number(v))],
  ["default", (w, v) => w.message(5, () => any(w, v))],
  ["description", (w, v) => w.string(4, asText(v))],
  ["title", (w, v) => w.string(3, asText(v))],
  ["format", (w, v) => w.string(2, asText(v))],
  ["$ref", (w, v) => w.string(1, asText(v))],
];

function schema(w: ProtobufWriter, value: JsonObject): void {
  extensions(w, 31, value);
  for (const [key, write] of schemaFields) {
    const member = value[key];
    if (member !== undefined) write(w, member);
  }
}

/** AdditionalPropertiesItem { Schema | boolean } */
function additionalProperties(w: ProtobufWriter, value: JsonValue): void {
  w.message(21, () => {
    if (typeof value === "boolean") w.oneofBool(2, value);
    else w.message(1, () => schema(w, asObject(value)));
  });
}

function typeNames(value: JsonValue): readonly string[] {
  return typeof value === "string" ? [value] : asList(value).map(asText);
}
