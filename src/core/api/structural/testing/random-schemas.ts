/** Random structural schemas and values, from few names and small ranges, so that values sometimes fit. */
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../object.ts";

const names = ["a", "b", "c"];

const scalarSchema = fc.oneof(
  fc.record(
    {
      type: fc.constant("string"),
      minLength: fc.nat(2),
      maxLength: fc.nat(3),
      pattern: fc.constantFrom("^x", "y$", "[xy]+"),
      enum: fc.constant(["x", "xy"]),
      nullable: fc.boolean(),
      default: fc.constantFrom("x", "xy", "yy"),
    },
    { requiredKeys: ["type"], noNullPrototype: true },
  ),
  fc.record(
    {
      type: fc.constantFrom("integer", "number"),
      minimum: fc.nat(3),
      exclusiveMinimum: fc.boolean(),
      maximum: fc.integer({ min: 2, max: 6 }),
      multipleOf: fc.constantFrom(1, 2),
      default: fc.nat(3),
    },
    { requiredKeys: ["type"], noNullPrototype: true },
  ),
  fc.constant({ type: "boolean" }),
  fc.constant({ "x-kubernetes-int-or-string": true }),
);

const bounds = fc.record(
  { minItems: fc.nat(2), maxItems: fc.integer({ min: 1, max: 3 }) },
  { requiredKeys: [], noNullPrototype: true },
);

/** Value validations without types, so that they fit any schema with these fields. */
const clause = fc.oneof(
  fc.record({ required: fc.subarray(names, { minLength: 1 }) }, { noNullPrototype: true }),
  fc.record({ minProperties: fc.nat(3) }, { noNullPrototype: true }),
  fc.record({ maxProperties: fc.nat(2) }, { noNullPrototype: true }),
);

const junctors = fc.record(
  {
    anyOf: fc.array(clause, { minLength: 1, maxLength: 2 }),
    oneOf: fc.array(clause, { minLength: 1, maxLength: 2 }),
    allOf: fc.array(clause, { minLength: 1, maxLength: 2 }),
    not: clause,
  },
  { requiredKeys: [], noNullPrototype: true },
);

function schemaOf(depth: number): fc.Arbitrary<JsonObject> {
  const scalar = scalarSchema as fc.Arbitrary<JsonObject>; // JSON
  if (depth === 0) return scalar;
  const below = schemaOf(depth - 1);
  const list = fc
    .record({ items: below, bounds }, { noNullPrototype: true })
    .map(({ items, bounds: rest }): JsonObject => ({ type: "array", items, ...rest }));
  const map = below.map((additionalProperties): JsonObject => ({
    type: "object",
    additionalProperties,
  }));
  return fc.oneof({ maxDepth: 3 }, scalar, list, map, objectOf(below));
}

function objectOf(below: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  return fc
    .record(
      {
        properties: fc.dictionary(fc.constantFrom(...names), below, {
          minKeys: 1,
          maxKeys: 3,
          noNullPrototype: true,
        }),
        required: fc.subarray(names, { maxLength: 1 }),
        rest: junctors,
        preserve: fc.boolean(),
      },
      { noNullPrototype: true },
    )
    .map(({ properties, required, rest, preserve }): JsonObject => ({
      type: "object",
      properties,
      required,
      ...(rest as JsonObject), // JSON
      ...(preserve ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
    }));
}

export const schemaArb = objectOf(schemaOf(2));

const scalarValue = fc.constantFrom<JsonValue>(null, true, "", "x", "xy", "yyyy", 0, 1, 2, 5, 1.5);

export const valueArb: fc.Arbitrary<JsonObject> = fc.letrec<{
  value: JsonValue;
  object: JsonObject;
}>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalarValue,
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(fc.constantFrom(...names, "d"), tie("value"), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
})).object;
