/**
 * What is published of five varied definitions is what a stock server published of them: whole documents of
 * version 3, and all of version 2 that speaks of them.
 *
 * Parameters are compared by place, name and type: their descriptions are words of our own, as for built-in kinds.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { isJsonObject } from "#api/json/json-value.ts";
import type { AnyObject, JsonObject, JsonValue } from "#api/object.ts";
import { ask } from "#apiserver/testing/plane.ts";
import { type CustomPlane, define, openCustomPlane } from "#extension/testing/plane.ts";

interface Golden {
  readonly definitions: readonly AnyObject[];
  readonly documents: Readonly<Record<string, JsonObject>>;
}

// Recorded from a stock server 1.36.3.
const golden = JSON.parse(
  readFileSync(new URL("./golden/openapi.json", import.meta.url), "utf8"),
) as Golden;

/** What this server does not have, it does not publish. */
const absent: ReadonlySet<string> = new Set([
  "query ignoreStoreReadErrorWithClusterBreakingPotential boolean",
  "query shardSelector string",
]);

function comparable(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((one: JsonValue) => comparable(one) ?? null);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, member]): [string, JsonValue | undefined][] => {
      if (field !== "parameters" || !Array.isArray(member)) return [[field, comparable(member)]];
      const parameters = (member as readonly (string | JsonObject)[]).map(parameterText);
      const kept = parameters.filter((one) => !absent.has(one)).sort();
      // A list that shares nothing with others is as good as none.
      return kept.length === 0 ? [] : [[field, kept]];
    }),
  );
}

/** Recorded ones are texts already. */
function parameterText(parameter: string | JsonObject): string {
  if (typeof parameter === "string") return parameter;
  const { in: place, name, type, schema } = parameter as Record<string, string | JsonObject>;
  const of = isJsonObject(schema) ? (schema["type"] ?? schema["$ref"]) : type;
  return `${place as string} ${name as string} ${of as string}`;
}

/** The members of these definitions. */
function own(members: JsonObject): JsonObject {
  const isOwn = (name: string): boolean => /example\.com|com\.example/.test(name);
  return Object.fromEntries(Object.entries(members).filter(([name]) => isOwn(name)));
}

describe("published documents beside a stock server", () => {
  let plane: CustomPlane;
  before(async () => {
    plane = await openCustomPlane();
    for (const definition of golden.definitions) await define(plane, definition);
  });
  after(() => plane.close());

  const read = async (path: string): Promise<JsonObject> => {
    const { status, text } = await ask(plane, "GET", path);
    assert.equal(status, 200, text);
    return JSON.parse(text) as JsonObject;
  };

  for (const [name, recorded] of Object.entries(golden.documents)) {
    test(`the document ${name} is the same`, async () => {
      const given = await read(name === "v2" ? "/openapi/v2" : `/openapi/v3/${name}`);
      const ours =
        name === "v2"
          ? {
              paths: own(given["paths"] as JsonObject),
              definitions: own(given["definitions"] as JsonObject),
            }
          : {
              info: given["info"],
              components: Object.keys(given["components"] as JsonObject).sort(),
              paths: given["paths"],
              schemas: own((given["components"] as JsonObject)["schemas"] as JsonObject),
            };
      assert.deepEqual(comparable(ours), comparable(recorded));
    });
  }

  test("the index names the same documents of them", async () => {
    const { paths } = await read("/openapi/v3");
    const names = Object.keys(own(paths as JsonObject)).sort();
    const recorded = Object.keys(golden.documents).filter((name) => name !== "v2");
    assert.deepEqual(names, recorded.sort());
  });
});
