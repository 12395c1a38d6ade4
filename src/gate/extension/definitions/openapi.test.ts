/** What a custom kind publishes: compared by hand with a stock server's documents. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readOpenapiV3 } from "#apiserver/openapi/testing/proto-v3-reader.ts";
import { ask, request } from "#apiserver/testing/plane.ts";
import type { JsonObject } from "#api/object.ts";
import { cronTabDefinition, define, definitionsPath, withCustomPlane } from "../testing/plane.ts";
import { publishedSchema } from "./openapi-schema.ts";

const schema: JsonObject = {
  type: "object",
  required: ["n", "l"],
  properties: {
    port: { "x-kubernetes-int-or-string": true },
    size: { type: "string", "x-kubernetes-int-or-string": true },
    n: { type: "string", nullable: true },
    l: { type: "array", items: { type: "string", default: "a" } },
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    embedded: { type: "object", "x-kubernetes-embedded-resource": true },
    choice: { oneOf: [{ required: ["a"] }] },
  },
};

test("version 2 leaves out what it has no word for, version 3 says all", () => {
  const v2 = publishedSchema(schema, "v2");
  assert.deepEqual(v2["required"], ["l"]);
  const properties = v2["properties"] as Record<string, JsonObject>;
  assert.deepEqual(properties["port"], { "x-kubernetes-int-or-string": true });
  assert.equal(properties["size"]?.["type"], "string");
  assert.deepEqual(properties["n"], {});
  assert.deepEqual(properties["l"], { type: "array", items: { type: "string" } });
  assert.deepEqual(properties["open"], { "x-kubernetes-preserve-unknown-fields": true });
  assert.deepEqual(properties["choice"], {});
  assert.deepEqual(properties["embedded"]?.["required"], ["kind", "apiVersion"]);
  const v3 = publishedSchema(schema, "v3")["properties"] as Record<string, JsonObject>;
  assert.deepEqual(v3["port"]?.["anyOf"], [{ type: "integer" }, { type: "string" }]);
  assert.equal(v3["size"]?.["type"], "string");
  assert.deepEqual(v3["n"], { type: "string", nullable: true });
  assert.deepEqual(v3["choice"], { oneOf: [{ required: ["a"] }] });
});

test("a document shows the definition as it is: made when asked for, made anew after a change", () =>
  withCustomPlane(async (plane) => {
    const path = "/openapi/v3/apis/stable.example.com/v1";
    assert.equal((await ask(plane, "GET", path)).status, 404);
    await define(plane, cronTabDefinition({ selectableFields: [{ jsonPath: ".spec.image" }] }));
    const first = await ask(plane, "GET", path);
    assert.equal(first.status, 200);
    assert.match(first.text, /"com\.example\.stable\.v1\.CronTab":.*"busybox"/);
    assert.match(first.text, /"x-kubernetes-selectable-fields":\[\{"fieldPath":"spec.image"\}\]/);
    const patch = [
      { op: "remove", path: "/spec/versions/0/schema/openAPIV3Schema/properties/status" },
    ];
    const type = "application/json-patch+json";
    const name = "crontabs.stable.example.com";
    const changed = await ask(plane, "PATCH", `${definitionsPath}/${name}`, { type, body: patch });
    assert.equal(changed.status, 200, changed.text);
    const second = await ask(plane, "GET", path);
    assert.notEqual(second.headers["etag"], first.headers["etag"]);
    assert.doesNotMatch(second.text, /labelSelector":\{"type":"string"\}/);
    const v2 = await ask(plane, "GET", "/openapi/v2");
    assert.match(v2.text, /"com\.example\.stable\.v1\.CronTabList"/);
  }));

test("the protobuf form of a custom kind's document follows the definition as the JSON form does", () =>
  withCustomPlane(async (plane) => {
    const path = "/openapi/v3/apis/stable.example.com/v1";
    const accept = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
    const schemaNow = async (): Promise<JsonObject | undefined> => {
      const answer = await plane.server.handler(request("GET", path, { headers: { accept } }));
      assert.ok(answer.kind === "bytes" && answer.status === 200);
      const { components } = readOpenapiV3(Buffer.concat(answer.body));
      const { schemas } = components as Readonly<Record<string, Record<string, JsonObject>>>;
      return schemas?.["com.example.stable.v1.CronTab"];
    };
    await define(plane, cronTabDefinition());
    const before = await schemaNow();
    assert.deepEqual(Object.keys(before?.["properties"] ?? {}).sort(), schemaKeys);
    const body = [
      { op: "remove", path: "/spec/versions/0/schema/openAPIV3Schema/properties/status" },
    ];
    const type = "application/json-patch+json";
    await ask(plane, "PATCH", `${definitionsPath}/crontabs.stable.example.com`, { type, body });
    const after = await schemaNow();
    const left = schemaKeys.filter((key) => key !== "status");
    assert.deepEqual(Object.keys(after?.["properties"] ?? {}).sort(), left);
  }));

const schemaKeys = ["apiVersion", "kind", "metadata", "spec", "status"];
