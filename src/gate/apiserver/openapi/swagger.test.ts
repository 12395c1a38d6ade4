/** The published documents against the swagger of a real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { builtinResources } from "#api/schema/resources.ts";
import { definitionNames } from "#api/schema/schema.ts";
import { upstreamSwagger, type Swagger } from "#api/testing/upstream.ts";
import { builtinDefinition } from "./definitions.ts";
import { openapiV2Document } from "./testing/whole-documents.ts";

const surface = { version: "v1.36.0", resources: builtinResources(), custom: [] };

test("every definition is the real server's but for texts of references", () => {
  const { definitions } = upstreamSwagger();
  for (const [name, real] of Object.entries(definitions)) {
    const own = builtinDefinition(name, "v2");
    assert.deepEqual(comparable(own ?? {}), comparable(real), name);
  }
  for (const name of definitionNames()) assert.ok(definitions[name], name);
});

test("every path has the real server's operations", () => {
  const swagger = upstreamSwagger();
  const own = openapiV2Document(surface)["paths"] as Swagger["paths"]; // as this test renders it
  const realPaths = Object.keys(swagger.paths).filter((path) => !path.startsWith("/logs/"));
  assert.deepEqual(Object.keys(own).sort(), realPaths.sort());
  for (const path of realPaths) {
    const real = normalPath(swagger.paths[path] ?? {}, swagger);
    assert.deepEqual(normalPath(own[path] ?? {}, swagger), real, path);
  }
});

test("the definitions that paths lead to are all published", () => {
  const document = openapiV2Document(surface);
  const published = Object.keys(document["definitions"] as JsonObject); // rendered above
  const missing = Object.keys(upstreamSwagger().definitions).filter((n) => !published.includes(n));
  // Nothing refers to what only nested lists and old options would: none today.
  assert.deepEqual(missing, []);
});

/**
 * Removes descriptions that are not compared: fields that are references have none in the generator's source, and
 * scalars have short descriptions of our own.
 */
function comparable(definition: JsonObject): JsonObject {
  const properties = definition["properties"] as Readonly<Record<string, JsonObject>> | undefined;
  if (properties === undefined) return { ...definition, description: "" };
  const compared = Object.entries(properties).map(([name, property]) => [
    name,
    { ...property, description: "$ref" in property ? "" : oneLine(property["description"]) },
  ]);
  const description = oneLine(definition["description"]);
  const required = [...((definition["required"] ?? []) as readonly string[])].sort();
  return { ...definition, description, required, properties: Object.fromEntries(compared) };
}

/** The generator's source has lost line breaks. */
function oneLine(text: JsonValue | undefined): string {
  return textOf(text).replace(/\s+/g, " ");
}

/** Alpha parameters and CBOR, which this server does not have. */
const absentParameters = new Set([
  "shardSelector",
  "ignoreStoreReadErrorWithClusterBreakingPotential",
]);

function normalPath(path: Readonly<Record<string, JsonValue>>, swagger: Swagger): JsonObject {
  return Object.fromEntries(
    Object.entries(path).map(([key, value]) => [
      key,
      key === "parameters"
        ? normalParameters(value, swagger)
        : normalOperation(value as JsonObject, swagger), // all other keys are methods
    ]),
  );
}

function normalOperation(operation: JsonObject, swagger: Swagger): JsonObject {
  const watching = textOf(operation["x-kubernetes-action"]).startsWith("watch");
  return {
    ...operation,
    ...(watching ? { description: "" } : {}),
    parameters: normalParameters(operation["parameters"] ?? [], swagger),
    consumes: withoutCbor(operation["consumes"]),
    produces: withoutCbor(operation["produces"]),
  };
}

function withoutCbor(types: JsonValue | undefined): JsonValue {
  return ((types ?? []) as readonly string[]).filter((type) => !type.includes("cbor"));
}

function normalParameters(parameters: JsonValue, swagger: Swagger): JsonValue {
  return (parameters as readonly JsonObject[])
    .map((p) => {
      const name = textOf(p["$ref"]).replace("#/parameters/", "");
      const { description: _, ...rest } = name === "" ? p : (swagger.parameters[name] ?? {});
      return rest;
    })
    .filter((p) => !absentParameters.has(textOf(p["name"])))
    .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
}

function orderOf(parameter: JsonObject): string {
  return `${textOf(parameter["name"])} ${textOf(parameter["in"])}`;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
