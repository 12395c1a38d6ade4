/** The schema that a sink's consumer may check its messages with: of each format, whole by itself. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parsePath } from "#api/json-path/field-rule.ts";
import type { Encoding } from "./formats.ts";
import { NoSchemaError, schemaOf } from "./schema.ts";

const ref = { group: "", version: "v1", resource: "configmaps" } as const;
const encoding: Encoding = {
  format: "json",
  source: "//test",
  ref,
  kind: "ConfigMap",
  fields: undefined,
};
const meta = { $ref: "#/components/schemas/a~1Meta" };
const document = {
  components: {
    schemas: {
      ConfigMap: {
        type: "object",
        properties: { metadata: { allOf: [meta] } },
        "x-kubernetes-group-version-kind": [{ group: "", version: "v1", kind: "ConfigMap" }],
      },
      "a/Meta": {
        type: "object",
        properties: {
          owners: { type: "array", items: meta },
          made: { type: "string", format: "date-time" },
        },
      },
      Other: { type: "object" },
    },
  },
};

void describe("the schema of a source", () => {
  test("is the kind's, with all that it leads to and nothing else", () => {
    const schema = schemaOf(encoding, document);
    assert.equal(schema["$ref"], "#/$defs/ConfigMap");
    const defs = schema["$defs"] as Readonly<Record<string, unknown>>;
    assert.deepEqual(Object.keys(defs), ["ConfigMap", "a/Meta"]);
    const refs = [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]*)"/g)].map(([, to]) => to);
    assert.deepEqual(new Set(refs), new Set(["#/$defs/ConfigMap", "#/$defs/a~1Meta"]));
    const { properties } = defs["a/Meta"] as { properties: Record<string, { type: unknown }> };
    assert.deepEqual(properties["owners"]?.type, ["array", "null"], "Go's nil is null");
    assert.deepEqual(properties["made"]?.type, ["string", "null"]);
  });

  test("is in the envelope of its format", () => {
    const events = schemaOf({ ...encoding, format: "cloudevents" }, document);
    assert.deepEqual(events["required"], ["specversion", "id", "source", "type"]);
    const { properties } = events as { properties: Record<string, unknown> };
    assert.deepEqual(properties["source"], { const: "//test" });
    assert.deepEqual(properties["data"], { $ref: "#/$defs/ConfigMap" });
    const deltas = schemaOf({ ...encoding, format: "deltas" }, document);
    assert.equal((deltas["oneOf"] as readonly unknown[]).length, 2);
    assert.match(JSON.stringify(schemaOf({ ...encoding, format: "protobuf" }, {})), /protobuf/);
  });

  test("is that of the chosen fields, where there are some", () => {
    const fields = [
      { name: "one", path: parsePath(".data.a"), all: false },
      { name: "all", path: parsePath(".data.*"), all: true },
    ];
    const { properties } = schemaOf({ ...encoding, fields }, {}) as {
      properties: Record<string, unknown>;
    };
    assert.deepEqual(properties["fields"], {
      type: "object",
      properties: { one: true, all: { type: "array" } },
      required: ["one", "all"],
    });
  });

  test("is refused for a kind that the server publishes none of, whatever the document is", () => {
    for (const wrong of [undefined, 7, {}, { components: { schemas: [] } }]) {
      assert.throws(() => schemaOf(encoding, wrong), NoSchemaError);
    }
    assert.throws(() => schemaOf({ ...encoding, kind: "Secret" }, document), NoSchemaError);
  });
});
