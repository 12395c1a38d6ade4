/** OpenAPI documents: what clients look for, custom kinds, caching, the protobuf form. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { stableResources } from "#api/schema/testing/stable-resources.ts";
import { openapiV3Names } from "./documents.ts";
import type { ApiSurface, CustomDefinition } from "./model.ts";
import type { EncodedDocument } from "./encoded-document.ts";
import { OpenapiDocuments } from "./openapi.ts";
import { encodeOpenapiV2 } from "./proto-v2.ts";
import { openapiV2Document, openapiV3Document } from "./testing/whole-documents.ts";

const builtin: ApiSurface = { version: "v1.36.0", resources: stableResources(), custom: [] };

const cronTab: ResourceInfo = {
  group: "stable.example.com",
  version: "v1",
  resource: "crontabs",
  singular: "crontab",
  kind: "CronTab",
  namespaced: true,
  verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
  shortNames: ["ct"],
  categories: [],
  subresources: [],
};

function custom(kind: string, properties: JsonObject): CustomDefinition {
  const gvk = { group: "stable.example.com", version: "v1", kind };
  const v3 = { type: "object", properties, "x-kubernetes-group-version-kind": [gvk] };
  return { name: `com.example.stable.v1.${kind}`, kinds: [gvk], v3, v2: v3 };
}

const definitions = [
  custom("CronTab", { spec: { type: "object", properties: { cron: { type: "string" } } } }),
  custom("CronTabList", {
    metadata: { $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta" },
  }),
];
const extended: ApiSurface = {
  version: "v1.36.0",
  resources: [...stableResources(), cronTab],
  custom: definitions,
};

/** Steps into nested objects; fails where there is none. */
function at(value: unknown, ...keys: readonly (string | number)[]): unknown {
  return keys.reduce<unknown>((found, key) => {
    assert.ok(typeof found === "object" && found !== null, `no ${key}`);
    return (found as Readonly<Record<string | number, unknown>>)[key];
  }, value);
}

function v3(name: string, surface: ApiSurface = builtin): JsonObject {
  const document = openapiV3Document(surface, name);
  assert.ok(document, name);
  return document;
}

test("there is a version 3 document for every group-version, group and discovery root", () => {
  const names = openapiV3Names(builtin);
  for (const name of ["api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "version"]) {
    assert.ok(names.includes(name), name);
  }
  assert.ok(!names.includes("apis/resource.k8s.io/v1beta1"));
  assert.equal(openapiV3Document(builtin, "apis/nothing/v1"), undefined);
});

test("kubectl explain finds the way from a Pod to its containers", () => {
  const schemas = at(v3("api/v1"), "components", "schemas");
  const pod = at(schemas, "io.k8s.api.core.v1.Pod");
  assert.deepEqual(at(pod, "x-kubernetes-group-version-kind"), [
    { group: "", version: "v1", kind: "Pod" },
  ]);
  const spec = at(pod, "properties", "spec", "allOf", 0, "$ref");
  assert.equal(spec, "#/components/schemas/io.k8s.api.core.v1.PodSpec");
  const containers = at(schemas, "io.k8s.api.core.v1.PodSpec", "properties", "containers");
  assert.equal(
    at(containers, "items", "$ref"),
    "#/components/schemas/io.k8s.api.core.v1.Container",
  );
  assert.match(String(at(containers, "description")), /List of containers/);
  assert.equal(at(containers, "x-kubernetes-patch-merge-key"), "name");
  assert.equal(at(containers, "x-kubernetes-patch-strategy"), "merge");
});

test("every property that kubectl explain lists has a description", () => {
  const schemas = at(v3("apis/apps/v1"), "components", "schemas") as Record<string, JsonObject>;
  for (const [name, schema] of Object.entries(schemas)) {
    for (const [field, property] of Object.entries(schema["properties"] ?? {})) {
      if (name.endsWith(".WatchEvent")) continue; // upstream says nothing of its type
      assert.ok((property as JsonObject)["description"], `${name}.${field}`);
    }
  }
});

test("kubectl finds strategic merge and server-side validation on the PATCH of a kind", () => {
  const patch = at(v3("apis/apps/v1"), "paths", deploymentPath, "patch");
  const types = Object.keys(at(patch, "requestBody", "content") as object);
  assert.ok(types.includes("application/strategic-merge-patch+json"));
  assert.ok(types.includes("application/apply-patch+yaml"));
  const names = (at(patch, "parameters") as readonly JsonObject[]).map((p) => p["name"]);
  assert.deepEqual(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
  assert.equal(at(patch, "x-kubernetes-action"), "patch");
  assert.deepEqual(at(patch, "x-kubernetes-group-version-kind"), {
    group: "apps",
    version: "v1",
    kind: "Deployment",
  });
});

const deploymentPath = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";

test("no reference leads nowhere", () => {
  const surfaces = [builtin, extended];
  for (const surface of surfaces) {
    for (const name of openapiV3Names(surface)) {
      const document = v3(name, surface);
      const schemas = (document["components"] as JsonObject)["schemas"] ?? {};
      for (const [, target] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
        const definition = (target ?? "").replace("#/components/schemas/", "");
        assert.ok(Object.hasOwn(schemas as object, definition), `${name}: ${target}`);
      }
    }
  }
});

test("a custom kind has paths and a definition, but no protobuf and no strategic merge", () => {
  const document = v3("apis/stable.example.com/v1", extended);
  const path = "/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}";
  const patch = at(document, "paths", path, "patch");
  assert.deepEqual(Object.keys(at(patch, "requestBody", "content") as object), [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
  ]);
  assert.deepEqual(Object.keys(at(patch, "responses", "200", "content") as object), [
    "application/json",
    "application/yaml",
  ]);
  assert.ok(at(document, "components", "schemas", "com.example.stable.v1.CronTab"));
  assert.ok(at(openapiV2Document(extended), "definitions", "com.example.stable.v1.CronTab"));
});

function json(document: EncodedDocument | undefined): unknown {
  return JSON.parse(new TextDecoder().decode(document?.body));
}

const pace = { turn: (): Promise<void> => Promise.resolve() };

test("the index carries the hash of each document", async () => {
  const documents = new OpenapiDocuments(() => builtin);
  const index = json(await documents.v3Index(pace));
  const url = at(index, "paths", "apis/apps/v1", "serverRelativeURL");
  const hash = (await documents.v3("apis/apps/v1", "json", pace))?.hash ?? "";
  assert.match(hash, /^[0-9A-F]{128}$/);
  assert.equal(url, `/openapi/v3/apis/apps/v1?hash=${hash}`);
  assert.equal(await documents.v3("apis/none/v1", "json", pace), undefined);
});

test("a change of the surface makes anew only what it touched", async () => {
  let surface = builtin;
  const documents = new OpenapiDocuments(() => surface);
  const show = (next: ApiSurface): void => {
    surface = next;
    documents.surfaceChanged();
  };
  const custom3 = () => documents.v3("apis/stable.example.com/v1", "json", pace);
  const core = await documents.v3("api/v1", "json", pace);
  const v2 = await documents.v2("json", pace);
  const index = await documents.v3Index(pace);
  show(extended);
  assert.equal(await documents.v3("api/v1", "json", pace), core);
  assert.notEqual((await documents.v3Index(pace)).hash, index.hash);
  assert.notEqual((await documents.v2("json", pace)).hash, v2.hash);
  const before = await custom3();
  const changed = custom("CronTab", { spec: { type: "string" } });
  show({ ...extended, custom: [changed, ...definitions.slice(1)] });
  assert.notEqual((await custom3())?.hash, before?.hash);
  show(builtin);
  assert.equal(await custom3(), undefined);
  assert.equal((await documents.v3Index(pace)).hash, index.hash);
});

/** A stand-in for the loop that counts how often a document was begun: each takes turns of its own. */
function countedTurns() {
  let turns = 0;
  return { turn: (): Promise<void> => Promise.resolve(void turns++), count: () => turns };
}

const products: readonly (readonly [
  string,
  (documents: OpenapiDocuments, turns: { turn: () => Promise<void> }) => Promise<unknown>,
])[] = [
  ["version 2 in JSON", (documents, turns) => documents.v2("json", turns)],
  ["version 2 in protobuf", (documents, turns) => documents.v2("protobuf", turns)],
  ["the version 3 index", (documents, turns) => documents.v3Index(turns)],
  ["a version 3 document in JSON", (documents, turns) => documents.v3("api/v1", "json", turns)],
  ["the same in protobuf", (documents, turns) => documents.v3("api/v1", "protobuf", turns)],
];

for (const [name, ask] of products) {
  test(`900 that ask for ${name} before it is made cost what one does`, async () => {
    const alone = countedTurns();
    await ask(new OpenapiDocuments(() => extended), alone);
    const crowd = countedTurns();
    const documents = new OpenapiDocuments(() => extended);
    const answers = await Promise.all(Array.from({ length: 900 }, () => ask(documents, crowd)));
    assert.equal(crowd.count(), alone.count());
    assert.equal(new Set(answers).size, 1);
  });

  test(`${name}, asked for after a change while it is made, is of the changed surface`, async () => {
    let surface = builtin;
    const documents = new OpenapiDocuments(() => surface);
    const early = ask(documents, pace);
    await Promise.resolve();
    surface = extended;
    documents.surfaceChanged();
    const late = ask(documents, pace);
    assert.deepEqual(await late, await ask(new OpenapiDocuments(() => extended), pace));
    await early;
  });
}

/** A message as its fields: number -> values in order; nested messages stay bytes. */
function fields(bytes: Uint8Array): ReadonlyMap<number, readonly (number | Uint8Array)[]> {
  const found = new Map<number, (number | Uint8Array)[]>();
  let position = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[position++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (position < bytes.length) {
    const tag = varint();
    const values = found.get(tag >> 3) ?? [];
    found.set(tag >> 3, values);
    if ((tag & 7) === 0) values.push(varint());
    else if ((tag & 7) === 2) {
      const length = varint();
      values.push(bytes.subarray(position, (position += length)));
    } else assert.fail(`wire type ${tag & 7}`);
  }
  return found;
}

function message(bytes: Uint8Array, ...path: readonly number[]): Uint8Array {
  return path.reduce((inner, number) => {
    const value = fields(inner).get(number)?.[0];
    assert.ok(value instanceof Uint8Array, `no field ${number}`);
    return value;
  }, bytes);
}

function text(bytes: Uint8Array, ...path: readonly number[]): string {
  return new TextDecoder().decode(message(bytes, ...path));
}

/** Values of a message that is a list of (name, value). */
function entries(bytes: Uint8Array, field: number): ReadonlyMap<string, Uint8Array> {
  const list = fields(bytes).get(field) ?? [];
  return new Map(
    list.map((item): [string, Uint8Array] => {
      assert.ok(item instanceof Uint8Array);
      return [text(item, 1), message(item, 2)];
    }),
  );
}

test("the protobuf form holds the paths and definitions of the JSON form", () => {
  const document = openapiV2Document(extended);
  const bytes = encodeOpenapiV2(document);
  assert.equal(text(bytes, 1), "2.0");
  assert.equal(text(bytes, 2, 1), "Kubernetes");
  const paths = entries(message(bytes, 8), 2);
  assert.deepEqual([...paths.keys()], Object.keys(document["paths"] as object));
  const schemas = entries(message(bytes, 9), 1);
  assert.deepEqual([...schemas.keys()], Object.keys(document["definitions"] as object));
  const spec = schemas.get("io.k8s.api.core.v1.PodSpec") ?? new Uint8Array();
  const properties = entries(message(spec, 25), 1);
  assert.deepEqual(
    [...properties.keys()],
    Object.keys(at(document, "definitions", "io.k8s.api.core.v1.PodSpec", "properties") as object),
  );
  const containers = properties.get("containers") ?? new Uint8Array();
  assert.equal(text(containers, 22, 1), "array");
  assert.equal(text(containers, 23, 1, 1), "#/definitions/io.k8s.api.core.v1.Container");
  const extensions = entries(containers, 31);
  assert.equal(text(extensions.get("x-kubernetes-patch-merge-key") ?? bytes, 2), '"name"\n');
});

test("old kubectl finds kinds and query parameters in the protobuf form", () => {
  const bytes = encodeOpenapiV2(openapiV2Document(builtin));
  const patch = message(entries(message(bytes, 8), 2).get(deploymentPath) ?? bytes, 8);
  const gvk = entries(patch, 13).get("x-kubernetes-group-version-kind") ?? bytes;
  assert.deepEqual(JSON.parse(text(gvk, 2)), {
    group: "apps",
    version: "v1",
    kind: "Deployment",
  });
  const names = (fields(patch).get(8) ?? []).map((item) => {
    assert.ok(item instanceof Uint8Array);
    const parameter = message(item, 1);
    return fields(parameter).has(1) ? text(parameter, 1, 2) : text(parameter, 2, 3, 4);
  });
  assert.deepEqual(names, ["body", "dryRun", "fieldManager", "fieldValidation", "force"]);
});
