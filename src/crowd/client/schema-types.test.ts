/** Types of custom resources: what each form of a schema becomes, and that a definition is never code. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CustomResourceDefinition, JSONSchemaProps } from "#api/gen/types.ts";
import { schemaTypes } from "./schema-types.ts";

function definition(spec: JSONSchemaProps, kind = "Site"): CustomResourceDefinition {
  const openAPIV3Schema = { type: "object", properties: { metadata: { type: "object" }, spec } };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  const names = { kind, plural: "sites" };
  return { spec: { group: "example.com", scope: "Namespaced", names, versions } };
}

function specOf(spec: JSONSchemaProps): string | undefined {
  return /readonly "spec"\?: (.*); \}\n/.exec(schemaTypes([definition(spec)]))?.[1];
}

const forms: readonly (readonly [JSONSchemaProps, string])[] = [
  [{ type: "string" }, "string"],
  [{ type: "integer", nullable: true }, "number | null"],
  [{ type: "string", enum: ["a", 'b"'] }, '"a" | "b\\""'],
  [{ "x-kubernetes-int-or-string": true }, "number | string"],
  [{ type: "array", items: { type: "boolean", nullable: true } }, "readonly (boolean | null)[]"],
  [
    { type: "object", additionalProperties: { type: "number" } },
    "{ readonly [key: string]: number }",
  ],
  [
    { type: "object", required: ["a"], properties: { a: { type: "string" }, "b-c": {} } },
    '{ readonly "a": string; readonly "b-c"?: unknown; }',
  ],
  [{ type: "object", "x-kubernetes-embedded-resource": true }, "KubeObject"],
];

test("each form of a schema becomes its type", () => {
  for (const [schema, type] of forms) assert.equal(specOf(schema), type);
});

test("a definition names its resource, and metadata stays the one of every object", () => {
  const text = schemaTypes([definition({ type: "string" })]);
  assert.match(
    text,
    /siteRef = \{"group":"example.com","version":"v1","resource":"sites"\} as const/,
  );
  assert.doesNotMatch(text, /"metadata"/);
});

test("nothing of a definition becomes code", () => {
  const hostile = '"; } process.exit(); //';
  const named = specOf({ type: "object", properties: { [hostile]: { type: "string" } } });
  assert.equal(named, `{ readonly ${JSON.stringify(hostile)}?: string; }`);
  assert.throws(
    () => schemaTypes([definition({}, "Site {} process.exit(); interface X")]),
    /no identifier/,
  );
  assert.throws(() => schemaTypes([definition({}), definition({})]), /two definitions of Site/);
});
