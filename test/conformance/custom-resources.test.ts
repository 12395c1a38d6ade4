/**
 * Upstream's conformance behaviours of CustomResourceDefinition and FieldValidation, under upstream's names
 * (test/e2e/apimachinery: custom_resource_definition.go, crd_watch.go, crd_publish_openapi.go,
 * crd_selectable_fields.go, field_validation.go). Those of conversion: conversion.test.ts.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { given } from "#base/given.ts";
import type { AnyObject, JsonObject } from "#api/object.ts";
import { type Answer, ask, watch } from "#apiserver/testing/plane.ts";
import {
  type CustomPlane,
  define,
  definitionsPath,
  openCustomPlane,
  settled,
  withCustomPlane,
} from "#extension/testing/plane.ts";

const group = "mygroup.example.com";
const json = "application/json-patch+json";
const merge = "application/merge-patch+json";
const apply = "application/apply-patch+yaml";
const preserving = { "x-kubernetes-preserve-unknown-fields": true };

interface Wanted {
  readonly group?: string;
  readonly kind?: string;
  readonly versions?: readonly object[];
  readonly schema?: object;
  readonly labels?: Readonly<Record<string, string>>;
  readonly conversion?: object;
}

function version(name: string, schema: object, more: object = {}): object {
  const openAPIV3Schema = { type: "object", ...schema };
  return { name, served: true, storage: true, schema: { openAPIV3Schema }, ...more };
}

function definition(wanted: Wanted = {}): AnyObject {
  const { group: of = group, kind = "Noxu", schema = preserving, labels, conversion } = wanted;
  const names = { plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase(), kind };
  const versions = wanted.versions ?? [version("v1", schema)];
  const spec = { group: of, scope: "Cluster", names, versions };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${names.plural}.${of}`, ...given({ labels }) },
    spec: { ...spec, ...given({ conversion }) },
  } as AnyObject;
}

const name = `noxus.${group}`;
const path = `${definitionsPath}/${name}`;
const noxus = `/apis/${group}/v1/noxus`;
const noxu = (of: string, more: object = {}): object => {
  return { apiVersion: `${group}/v1`, kind: "Noxu", metadata: { name: of }, ...more };
};

function good({ status, text, json: body }: Answer): AnyObject {
  assert.ok(status < 300, text);
  return body;
}

function itemsOf(answer: Answer): readonly AnyObject[] {
  return (good(answer) as unknown as { readonly items: readonly AnyObject[] }).items;
}

const namesOf = (answer: Answer): readonly (string | undefined)[] =>
  itemsOf(answer).map(({ metadata }) => metadata?.name);

describe("CustomResourceDefinition resources", () => {
  test("creating/deleting custom resource definition objects works", () =>
    withCustomPlane(async (plane) => {
      await define(plane, definition());
      good(await ask(plane, "DELETE", path));
      for (let turns = 0; turns < 1000; turns++) {
        if ((await ask(plane, "GET", path)).status === 404) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.fail("it is still there");
    }));

  test("listing custom resource definition objects works", () =>
    withCustomPlane(async (plane) => {
      const kinds = Array.from({ length: 10 }, (_, at) => `Listed${at}`);
      const labels = { e2e: "list-test" };
      for (const kind of kinds) await define(plane, definition({ kind, labels }));
      await define(plane, definition({ kind: "Other" }));
      const selected = `${definitionsPath}?labelSelector=e2e%3Dlist-test`;
      const wanted = kinds.map((kind) => `${kind.toLowerCase()}s.${group}`);
      assert.deepEqual(namesOf(await ask(plane, "GET", selected)), wanted);
      good(await ask(plane, "DELETE", selected));
      for (const one of wanted) {
        const found = await ask(plane, "GET", `${definitionsPath}/${one}`);
        assert.ok(found.status === 404 || found.json.metadata?.deletionTimestamp !== undefined);
      }
      const other = good(await ask(plane, "GET", `${definitionsPath}/others.${group}`));
      assert.equal(other.metadata?.deletionTimestamp, undefined);
    }));

  test("getting/updating/patching custom resource definition status sub-resource works", () =>
    withCustomPlane(async (plane) => {
      await define(plane, definition());
      const read = good(await ask(plane, "GET", `${path}/status`));
      const status = read["status"] as { readonly conditions: readonly object[] };
      const messages = (object: AnyObject): readonly unknown[] =>
        (object["status"] as { conditions: { message: string }[] }).conditions.map(
          ({ message }) => message,
        );
      const condition = (message: string): object => {
        return { type: "", status: "", message, reason: "", lastTransitionTime: null };
      };
      const conditions = [...status.conditions, condition("updated")];
      const body = { ...read, status: { ...status, conditions } };
      const updated = good(await ask(plane, "PUT", `${path}/status`, { body }));
      assert.ok(messages(updated).includes("updated"));
      const value = [{ message: "patched" }];
      const patch = [{ op: "add", path: "/status/conditions", value }];
      const patched = good(
        await ask(plane, "PATCH", `${path}/status`, { body: patch, type: json }),
      );
      assert.deepEqual(messages(patched), ["patched"]);
    }));

  test("should include custom resource definition resources in discovery documents", () =>
    withCustomPlane(async (plane) => {
      const of = "apiextensions.k8s.io";
      const { groups } = good(await ask(plane, "GET", "/apis")) as unknown as {
        readonly groups: readonly { readonly name: string; readonly versions: readonly object[] }[];
      };
      const wanted = { groupVersion: `${of}/v1`, version: "v1" };
      assert.deepEqual(groups.find((one) => one.name === of)?.versions, [wanted]);
      const one = good(await ask(plane, "GET", `/apis/${of}`));
      assert.deepEqual(one["versions"], [wanted]);
      const { resources } = good(await ask(plane, "GET", `/apis/${of}/v1`)) as unknown as {
        readonly resources: readonly { readonly name: string }[];
      };
      assert.ok(resources.some((resource) => resource.name === "customresourcedefinitions"));
    }));

  test("custom resource defaulting for requests and from storage works", () =>
    withCustomPlane(async (plane) => {
      const properties = { a: { type: "string" }, b: { type: "string" } };
      await define(plane, definition({ schema: { properties } }));
      const at = "/spec/versions/0/schema/openAPIV3Schema/properties";
      const first = good(await ask(plane, "POST", noxus, { body: noxu("cr-1") }));
      const set = [{ op: "add", path: `${at}/a/default`, value: "A" }];
      good(await ask(plane, "PATCH", path, { body: set, type: json }));
      assert.equal(good(await ask(plane, "GET", `${noxus}/cr-1`))["a"], "A");
      const second = good(await ask(plane, "POST", noxus, { body: noxu("cr-2") }));
      assert.equal(second["a"], "A");
      const move = [
        { op: "remove", path: `${at}/a/default` },
        { op: "add", path: `${at}/b/default`, value: "B" },
      ];
      good(await ask(plane, "PATCH", path, { body: move, type: json }));
      const read = good(await ask(plane, "GET", `${noxus}/cr-2`));
      assert.deepEqual([read["a"], read["b"]], ["A", "B"]);
      const versions = [first, read].map(({ metadata }) => Number(metadata?.resourceVersion));
      assert.ok((versions[0] ?? 0) < (versions[1] ?? 0));
    }));
});

test("CustomResourceDefinition Watch: watch on custom resource definition objects", () =>
  withCustomPlane(async (plane) => {
    await define(plane, definition());
    const watches = await Promise.all(
      ["a", "b"].map((one) =>
        watch(plane, `${noxus}?watch=1&fieldSelector=metadata.name%3D${one}`),
      ),
    );
    for (const one of ["a", "b"]) {
      good(await ask(plane, "POST", noxus, { body: noxu(one) }));
      const body = { dummy: "test" };
      good(await ask(plane, "PATCH", `${noxus}/${one}`, { body, type: merge }));
      good(await ask(plane, "DELETE", `${noxus}/${one}`));
    }
    for (const [at, one] of ["a", "b"].entries()) {
      const events = watches[at]?.events() ?? [];
      const seen = events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ""}`);
      assert.deepEqual(seen, [`ADDED ${one}`, `MODIFIED ${one}`, `DELETED ${one}`]);
      watches[at]?.close();
    }
  }));

describe("CustomResourceFieldSelectors", () => {
  const versions = [
    version(
      "v1",
      { properties: { hostPort: { type: "string" } } },
      { selectableFields: [{ jsonPath: ".hostPort" }] },
    ),
    version(
      "v2",
      { properties: { host: { type: "string" }, port: { type: "string" } } },
      { storage: false, selectableFields: [{ jsonPath: ".host" }, { jsonPath: ".port" }] },
    ),
  ];
  const clientConfig = { url: "https://127.0.0.1:1/" };
  const webhook = { clientConfig, conversionReviewVersions: ["v1"] };
  const conversion = { strategy: "Webhook", webhook };
  const v2 = noxus.replace("/v1/", "/v2/");

  /** As upstream's webhook does it. */
  function converted(object: AnyObject, apiVersion: string): AnyObject {
    const { hostPort = "", host, port, ...rest } = object as AnyObject & Record<string, string>;
    if (apiVersion.endsWith("/v1")) return { ...rest, apiVersion, hostPort: `${host}:${port}` };
    const [newHost, newPort] = hostPort.split(":");
    return { ...rest, apiVersion, host: newHost, port: newPort };
  }

  test("MUST list and watch custom resources matching the field selector", async () => {
    const convertMany = (objects: readonly AnyObject[], to: string): Promise<AnyObject[]> =>
      Promise.resolve(objects.map((one) => (one.apiVersion === to ? one : converted(one, to))));
    const plane = await openCustomPlane({}, { converterOf: () => ({ convertMany }) });
    try {
      await define(plane, definition({ versions, conversion }));
      for (const [one, hostPort] of [
        ["first", "host1:80"],
        ["second", "host1:8080"],
        ["third", "host2:80"],
      ] as const) {
        good(await ask(plane, "POST", noxus, { body: noxu(one, { hostPort }) }));
      }
      const v1List = await ask(plane, "GET", `${noxus}?fieldSelector=hostPort%3Dhost1:80`);
      assert.deepEqual(namesOf(v1List), ["first"]);
      const byHost = `${v2}?fieldSelector=host%3Dhost1`;
      assert.deepEqual(namesOf(await ask(plane, "GET", byHost)), ["first", "second"]);
      const byBoth = `${v2}?fieldSelector=host%3Dhost1,port%3D80`;
      assert.deepEqual(namesOf(await ask(plane, "GET", byBoth)), ["first"]);
      const list = good(await ask(plane, "GET", byHost));
      const { resourceVersion = "" } = list.metadata ?? {};
      const watching = await watch(plane, `${byHost}&watch=1&resourceVersion=${resourceVersion}`);
      const body = { hostPort: "host1:80" };
      good(await ask(plane, "PATCH", `${noxus}/third`, { body, type: merge }));
      good(await ask(plane, "DELETE", `${noxus}/first`));
      const leave = { body: { host: "host2" }, type: merge };
      good(await ask(plane, "PATCH", `${v2}/second`, leave));
      for (let turns = 0; turns < 1000 && watching.events().length < 3; turns++) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      const seen = watching.events().map(({ type, object }) => `${type} ${object.metadata?.name}`);
      assert.deepEqual(seen, ["ADDED third", "DELETED first", "DELETED second"]);
      watching.close();
      const other = await ask(plane, "GET", `${v2}?fieldSelector=hostPort%3Dhost1:80`);
      assert.equal(other.status, 400);
    } finally {
      await plane.close();
    }
  });
});

describe("CustomResourcePublishOpenAPI", () => {
  const described = { description: "A noxu", properties: { spec: { type: "object" } } };

  async function schemas(plane: CustomPlane): Promise<Record<string, JsonObject | undefined>> {
    const { definitions } = good(await ask(plane, "GET", "/openapi/v2")) as unknown as {
      readonly definitions: Record<string, JsonObject>;
    };
    return definitions;
  }

  const at = (kind: string, of = group, in1 = "v1"): string =>
    [...of.split(".").reverse(), in1, kind].join(".");

  test("works for CRD with validation schema", () =>
    withCustomPlane(async (plane) => {
      await define(plane, definition({ schema: described }));
      const schema = (await schemas(plane))[at("Noxu")];
      assert.equal(schema?.["description"], "A noxu");
      assert.deepEqual((schema["properties"] as JsonObject)["spec"], { type: "object" });
    }));

  for (const [what, schema, wanted] of [
    ["without validation schema", {}, ["apiVersion", "kind", "metadata"]],
    ["preserving unknown fields at the schema root", { ...described, ...preserving }, undefined],
  ] as const) {
    test(`works for CRD ${what}`, () =>
      withCustomPlane(async (plane) => {
        await define(plane, definition({ schema }));
        const published = (await schemas(plane))[at("Noxu")];
        assert.equal(published?.["type"], "object");
        const { properties } = published;
        assert.deepEqual(properties && Object.keys(properties).sort(), wanted);
      }));
  }

  test("works for CRD preserving unknown fields in an embedded object", () =>
    withCustomPlane(async (plane) => {
      const embedded = { type: "object", "x-kubernetes-embedded-resource": true, ...preserving };
      await define(plane, definition({ schema: { properties: { spec: embedded } } }));
      const properties = (await schemas(plane))[at("Noxu")]?.["properties"] as JsonObject;
      const { type: _, ...untyped } = embedded;
      assert.deepEqual(properties["spec"], untyped);
    }));

  test("works for multiple CRDs of different groups", () =>
    withCustomPlane(async (plane) => {
      const groups = ["one.example.com", "two.example.com"];
      for (const of of groups) await define(plane, definition({ group: of, schema: described }));
      const published = await schemas(plane);
      for (const of of groups) assert.equal(published[at("Noxu", of)]?.["description"], "A noxu");
    }));

  test("works for multiple CRDs of same group but different versions", () =>
    withCustomPlane(async (plane) => {
      const second = version("v2", { description: "new" }, { storage: false });
      await define(plane, definition({ versions: [version("v1", described), second] }));
      const published = await schemas(plane);
      assert.equal(published[at("Noxu")]?.["description"], "A noxu");
      assert.equal(published[at("Noxu", group, "v2")]?.["description"], "new");
    }));

  test("works for multiple CRDs of same group and version but different kinds", () =>
    withCustomPlane(async (plane) => {
      const kinds = ["Noxu", "Curlet"];
      for (const kind of kinds) await define(plane, definition({ kind, schema: described }));
      const published = await schemas(plane);
      for (const kind of kinds) assert.equal(published[at(kind)]?.["description"], "A noxu");
    }));

  test("updates the published spec when one version gets renamed", () =>
    withCustomPlane(async (plane) => {
      const second = version("v2", described, { storage: false });
      await define(plane, definition({ versions: [version("v1", described), second] }));
      assert.ok((await schemas(plane))[at("Noxu", group, "v2")]);
      const body = [{ op: "replace", path: "/spec/versions/1/name", value: "v3" }];
      good(await ask(plane, "PATCH", path, { body, type: json }));
      await settled(plane, name, () => true);
      const published = await schemas(plane);
      assert.ok(published[at("Noxu", group, "v3")]);
      assert.equal(published[at("Noxu", group, "v2")], undefined);
      assert.ok(published[at("Noxu")]);
    }));

  test("removes definition from spec when one version gets changed to not be served", () =>
    withCustomPlane(async (plane) => {
      const second = version("v2", described, { storage: false });
      await define(plane, definition({ versions: [version("v1", described), second] }));
      const body = [{ op: "replace", path: "/spec/versions/1/served", value: false }];
      good(await ask(plane, "PATCH", path, { body, type: json }));
      const published = await schemas(plane);
      assert.equal(published[at("Noxu", group, "v2")], undefined);
      assert.ok(published[at("Noxu")]);
    }));
});

describe("FieldValidation", () => {
  const strict = "fieldValidation=Strict";
  const byApply = `fieldManager=mgr&${strict}`;
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  const template = {
    metadata: { labels: { app: "nginx" } },
    spec: { containers: [{ name: "nginx", image: "nginx:latest" }] },
  };
  const selector = { matchLabels: { app: "nginx" } };
  const ports = {
    type: "array",
    "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
    "x-kubernetes-list-type": "map",
    items: {
      type: "object",
      required: ["containerPort", "protocol"],
      properties: { containerPort: { type: "integer" }, protocol: { type: "string" } },
    },
  };
  const spec = { type: "object", properties: { cronSpec: { type: "string" }, ports } };
  const known = { properties: { spec } };
  const cron = `spec:\n  cronSpec: "* * * * */5"\n  ports:\n  - containerPort: 8080\n    protocol: TCP\n`;

  /** Applies an object written as YAML. */
  async function applied(schema: object, more: string, metadata = ""): Promise<Answer> {
    const plane = await openCustomPlane();
    try {
      await define(plane, definition({ schema }));
      const head = `apiVersion: ${group}/v1\nkind: Noxu\nmetadata:\n  name: mytest\n${metadata}`;
      const body = head + more;
      return await ask(plane, "PATCH", `${noxus}/mytest?${byApply}`, { body, type: apply });
    } finally {
      await plane.close();
    }
  }

  test("should detect unknown and duplicate fields of a typed object", () =>
    withCustomPlane(async (plane) => {
      const rest = JSON.stringify({ selector, template }).slice(1);
      const body = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"unknownField":"foo","replicas":2,"replicas":3,${rest}}`;
      const { status, json: said } = await ask(plane, "POST", `${deployments}?${strict}`, { body });
      assert.equal(status, 400);
      const wanted = `strict decoding error: unknown field "spec.unknownField", duplicate field "spec.replicas"`;
      assert.ok(String(said["message"]).includes(wanted), String(said["message"]));
    }));

  test("should detect unknown metadata fields of a typed object", () =>
    withCustomPlane(async (plane) => {
      const metadata = { name: "d", unknownMeta: "foo" };
      const type = { apiVersion: "apps/v1", kind: "Deployment" };
      const body = { ...type, metadata, spec: { selector, template } };
      const { status, json: said } = await ask(plane, "POST", `${deployments}?${strict}`, { body });
      assert.equal(status, 400);
      const wanted = `strict decoding error: unknown field "metadata.unknownMeta"`;
      assert.ok(String(said["message"]).includes(wanted), String(said["message"]));
    }));

  test("should create/apply a valid CR for CRD with validation schema", async () => {
    assert.equal((await applied(known, cron)).status, 201);
  });

  test("should create/apply a CR with unknown fields for CRD with no validation schema", async () => {
    const made = await applied(preserving, `${cron}  unknown: uk1\n`);
    assert.equal(made.status, 201, made.text);
    assert.equal((made.json["spec"] as JsonObject)["unknown"], "uk1");
  });

  test("should create/apply an invalid CR with extra properties for CRD with validation schema", async () => {
    const { status, text } = await applied(known, `${cron}unknownField: unknown\n`);
    assert.ok(status >= 400);
    assert.ok(text.includes(".unknownField: field not declared in schema"), text);
  });

  test("should detect unknown metadata fields in both the root and embedded object of a CR", async () => {
    const embedded = { type: "object", "x-kubernetes-embedded-resource": true, ...preserving };
    const schema = { properties: { spec: { type: "object", properties: { template: embedded } } } };
    const object = `spec:\n  template:\n    apiVersion: foo/v1\n    kind: Sub\n    metadata:\n      unknownSubMeta: unknown\n      name: subobject\n`;
    const { status, text } = await applied(schema, object, "  unknownMeta: unknown\n");
    assert.ok(status >= 400);
    assert.match(
      text,
      /\.spec\.template\.metadata\.unknownSubMeta: field not declared in schema|\.metadata\.unknownMeta: field not declared in schema/,
    );
  });

  test("should detect duplicates in a CR when preserving unknown fields", async () => {
    const object = `spec:\n  unknown: uk1\n  foo: "a"\n  foo: "b"\n`;
    const { status, text } = await applied({ properties: {}, ...preserving }, object);
    assert.equal(status, 400);
    assert.ok(text.includes(`line 8: key \\"foo\\" already set in map`), text);
  });
});

test("a custom object that is applied twice is written once", () =>
  withCustomPlane(async (plane) => {
    const spec = { type: "object", properties: { a: { type: "string", default: "x" } } };
    await define(plane, definition({ schema: { properties: { spec } } }));
    const to = `${noxus}/one?fieldManager=mgr`;
    const body = noxu("one", { spec: {} });
    const first = good(await ask(plane, "PATCH", to, { body, type: apply }));
    const second = good(await ask(plane, "PATCH", to, { body, type: apply }));
    assert.deepEqual(second, first);
    assert.equal((first["spec"] as JsonObject)["a"], "x");
  }));
