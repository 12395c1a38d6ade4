/**
 * For tests: decodes gnostic's OpenAPIv3 protobuf to the JSON document. Written from OpenAPIv3.proto, not from the
 * encoder. An unknown field is an error. A default that was an object or a list is decoded as null.
 */
import type { JsonObject, JsonValue } from "#api/object.ts";
import { readFields, utf8, type ProtobufField } from "#wire/protobuf.ts";
import { parseYaml } from "#wire/yaml.ts";

type Read = (field: ProtobufField) => JsonValue;
type Rule = readonly [key: string, read: Read, isList?: "list"];
type Message = Readonly<Record<number, Rule>>;

const text: Read = ({ bytes }) => utf8(bytes);
const flag: Read = ({ integer }) => integer === 1n;
const count: Read = ({ integer }) => Number(integer);
const double: Read = ({ integer }) => {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, integer);
  return view.getFloat64(0);
};

function message(rules: () => Message): Read {
  return ({ bytes }) => readMessage(bytes, rules());
}

function readMessage(bytes: Uint8Array, rules: Message): JsonObject {
  const out: { [key: string]: JsonValue } = {};
  readFields(bytes, (field) => {
    const rule = rules[field.number];
    if (rule === undefined) throw new Error(`unknown field ${field.number}`);
    const [key, read, isList] = rule;
    const value = read(field);
    // Extensions are placed beside the other keys.
    if (key === "") Object.assign(out, value);
    else
      out[key] = isList === "list" ? [...((out[key] ?? []) as readonly JsonValue[]), value] : value;
  });
  return out;
}

/** Reads a oneof of messages or scalars: the member that is present. */
function either(members: () => Readonly<Record<number, Read>>): Read {
  return ({ bytes }) => {
    let found: JsonValue = null;
    readFields(bytes, (field) => {
      found = members()[field.number]?.(field) ?? null;
    });
    return found;
  };
}

/** Reads one element of a map: { name, value }. */
function named(read: Read): Read {
  return ({ bytes }) => {
    let name = "";
    let value: JsonValue = {};
    readFields(bytes, (field) => {
      if (field.number === 1) name = utf8(field.bytes);
      else value = read(field);
    });
    return { [name]: value };
  };
}

function map(field: number, read: Read): Read {
  return message(() => ({ [field]: ["", named(read)] }));
}

const any: Read = ({ bytes }) => {
  let value: JsonValue = null;
  readFields(bytes, (field) => {
    const parsed = parseYaml(utf8(field.bytes), { bytesMax: 65_536, depthMax: 64, aliasMax: 0 });
    if (parsed.kind !== "ok") throw new Error("no YAML");
    value = parsed.value as JsonValue; // what YAML can say
  });
  return value;
};
const extension: Rule = ["", named(any)];
const reference = message(() => ({ 1: ["$ref", text] }));
const schemaOrReference = either(() => ({ 1: schema, 2: reference }));
const schema = message(() => ({
  1: ["nullable", flag],
  6: ["externalDocs", message(() => ({ 1: ["description", text], 2: ["url", text] }))],
  7: ["example", any],
  9: ["title", text],
  10: ["multipleOf", double],
  11: ["maximum", double],
  12: ["exclusiveMaximum", flag],
  13: ["minimum", double],
  14: ["exclusiveMinimum", flag],
  15: ["maxLength", count],
  16: ["minLength", count],
  17: ["pattern", text],
  18: ["maxItems", count],
  19: ["minItems", count],
  20: ["uniqueItems", flag],
  21: ["maxProperties", count],
  22: ["minProperties", count],
  23: ["required", text, "list"],
  24: ["enum", any, "list"],
  25: ["type", text],
  26: ["allOf", schemaOrReference, "list"],
  27: ["oneOf", schemaOrReference, "list"],
  28: ["anyOf", schemaOrReference, "list"],
  29: ["not", schema],
  30: ["items", either(() => ({ 1: schemaOrReference }))],
  31: ["properties", map(1, schemaOrReference)],
  32: ["additionalProperties", either(() => ({ 1: schemaOrReference, 2: flag }))],
  33: ["default", either(() => ({ 1: double, 2: flag, 3: text }))],
  34: ["description", text],
  35: ["format", text],
  36: extension,
}));
const content = map(
  1,
  message(() => ({ 1: ["schema", schemaOrReference] })),
);
const parameter = either(() => ({
  1: message(() => ({
    1: ["name", text],
    2: ["in", text],
    3: ["description", text],
    4: ["required", flag],
    10: ["schema", schemaOrReference],
  })),
}));
const response = either(() => ({
  1: message(() => ({ 1: ["description", text], 3: ["content", content] })),
}));
const requestBody = either(() => ({
  1: message(() => ({ 1: ["description", text], 2: ["content", content], 3: ["required", flag] })),
}));
const operation = message(() => ({
  1: ["tags", text, "list"],
  3: ["description", text],
  5: ["operationId", text],
  6: ["parameters", parameter, "list"],
  7: ["requestBody", requestBody],
  8: ["responses", map(2, response)],
  10: ["deprecated", flag],
  13: extension,
}));
const pathItem = message(() => ({
  4: ["get", operation],
  5: ["put", operation],
  6: ["post", operation],
  7: ["delete", operation],
  8: ["options", operation],
  9: ["head", operation],
  10: ["patch", operation],
  13: ["parameters", parameter, "list"],
}));
const securityScheme = either(() => ({
  1: message(() => ({
    1: ["type", text],
    2: ["description", text],
    3: ["name", text],
    4: ["in", text],
  })),
}));

export function readOpenapiV3(bytes: Uint8Array): JsonObject {
  return readMessage(bytes, {
    1: ["openapi", text],
    2: ["info", message(() => ({ 1: ["title", text], 6: ["version", text] }))],
    4: ["paths", map(1, pathItem)],
    5: [
      "components",
      message(() => ({
        1: ["schemas", map(1, schemaOrReference)],
        7: ["securitySchemes", map(1, securityScheme)],
      })),
    ],
  });
}
