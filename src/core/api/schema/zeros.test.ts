/**
 * The zeros of every field of every built-in type: decoding treats them as Go does. The expected answers
 * are Go's own, through protobuf (`tools/generate/zeros/main.go` records them).
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkFields } from "./decode.ts";
import type { FieldSchema, ObjectSchema } from "./schema-types.ts";
import { definitionNames, schemaOf } from "./schema.ts";

type Fields = Record<string, unknown>;

const recorded = readFileSync(join(import.meta.dirname, "testdata", "zeros.txt"), "utf8");
const answers = recorded
  .trim()
  .split("\n")
  .map((line) => line.split("\t"));

const unrecorded = new Set(definitionNames());

for (const [definition = "", empty = "", zeros = ""] of answers) {
  unrecorded.delete(definition);
  const schema = schemaOf(definition);
  test(`${definition}: zeros are kept and left out as Go does`, () => {
    assert.ok(schema !== undefined);
    assert.deepEqual(decoded({}, schema), shown(empty, schema));
    assert.deepEqual(decoded(zerosOf(schema), schema), shown(zeros, schema));
  });
}

test("every definition is recorded but one that no server stores", () => {
  assert.deepEqual([...unrecorded], ["io.k8s.apimachinery.pkg.version.Info"]);
});

function shown(answer: string, schema: ObjectSchema): unknown {
  return withoutWritten(withoutNulls(JSON.parse(answer) as Fields), schema);
}

function decoded(value: Fields, schema: ObjectSchema): unknown {
  const result = checkFields(value, schema);
  assert.ok(result.kind === "ok", JSON.stringify(result));
  return withoutWritten(result.object, schema);
}

/** Without the lists and maps that Go never leaves out: empty ones are null there, and kept here when they are sent. */
function withoutWritten(fields: object, schema: ObjectSchema): unknown {
  const isKept = ([name]: readonly [string, unknown]): boolean => {
    const { type, zero } = schema.fields[name] ?? {};
    return zero !== "written" || (type !== "array" && type !== "map");
  };
  return Object.fromEntries(Object.entries(fields).filter(isKept));
}

/** Each field with its zero, as far as it has one that can be written. */
function zerosOf(schema: ObjectSchema): Fields {
  const zeros: Fields = {};
  for (const [name, field] of Object.entries(schema.fields)) {
    const zero = zeroOf(field);
    if (zero !== undefined) zeros[name] = zero;
  }
  return zeros;
}

function zeroOf({ type, format }: FieldSchema): unknown {
  switch (type) {
    case "string":
      if (format === "date-time" || format === "micro-time" || format === "duration") return;
      return format === "quantity" ? "0" : format === "int-or-string" ? 0 : "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "map":
    case "object":
      return {};
    case "any":
      return;
    default:
      return type satisfies never;
  }
}

/** Lists, maps and times that Go writes as null are left out here. */
function withoutNulls(fields: Fields): Fields {
  const next: Fields = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) continue;
    const isObject = typeof value === "object" && !Array.isArray(value);
    next[name] = isObject ? withoutNulls(value as Fields) : value;
  }
  return next;
}
