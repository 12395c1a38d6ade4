/** Type checking over what a server publishes: the warnings are those of a check inside of it. Hostile documents end. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { AnyObject, JsonValue } from "#api/object.ts";
import { ask } from "#apiserver/testing/plane.ts";
import { allSteps } from "#base/steps.ts";
import { cronTabDefinition, definitionsPath, openCustomPlane } from "../testing/plane.ts";
import { PublishedKinds, type ReadDocument } from "./published-kinds.ts";
import type { ExpressionWarning } from "./type-check.ts";

interface Recorded {
  readonly name: string;
  readonly spec: object;
  readonly status: { readonly typeChecking: { readonly expressionWarnings?: ExpressionWarning[] } };
}

const file = new URL("testdata/type-checking-1.36.json", import.meta.url);
const recorded = JSON.parse(readFileSync(file, "utf8")) as readonly Recorded[];
const { signal } = new AbortController();
const crontab = {
  openAPIV3Schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          replicas: { type: "integer" },
          port: { "x-kubernetes-int-or-string": true },
          any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    },
  },
};

function policyOf(spec: object): AnyObject {
  return { metadata: { name: "p" }, spec: spec as JsonValue };
}

describe("kinds as our own server publishes them", () => {
  let plane: Awaited<ReturnType<typeof openCustomPlane>>;
  const read: string[] = [];
  const reader: ReadDocument = async (path, accept) => {
    read.push(path);
    const { status, json } = await ask(plane, "GET", path, { headers: { accept } });
    return status === 404 ? undefined : (json as JsonValue); // parsed JSON
  };

  before(async () => {
    plane = await openCustomPlane();
    const body = cronTabDefinition({ schema: crontab });
    assert.equal((await ask(plane, "POST", definitionsPath, { body })).status, 201);
  });
  after(() => plane.close());

  test("warnings are those of a stock kube-controller-manager, text for text", async () => {
    const kinds = new PublishedKinds(reader);
    for (const { name, spec, status } of recorded) {
      const warnings = allSteps(await kinds.check(policyOf(spec), signal));
      assert.deepEqual(warnings, status.typeChecking.expressionWarnings ?? [], name);
    }
  });

  test("a document that has not changed is not read again", async () => {
    const kinds = new PublishedKinds(reader);
    const rule = { apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"] };
    const policy = policyOf({ matchConstraints: { resourceRules: [rule] }, validations: [] });
    read.length = 0;
    for (let at = 0; at < 3; at++) await kinds.check(policy, signal);
    assert.equal(read.filter((path) => path.startsWith("/openapi/v3/")).length, 1);
  });
});

describe("what a server should not publish", () => {
  const rule = { apiGroups: ["x.io"], apiVersions: ["v1"], resources: ["things"] };
  const policy = policyOf({
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression: "object.spec.size > 1" }],
  });
  const thing = { group: "x.io", version: "v1", kind: "Thing" };
  const list = {
    items: [
      {
        metadata: { name: "x.io" },
        versions: [{ version: "v1", resources: [{ resource: "things", responseKind: thing }] }],
      },
    ],
  };
  const index = { paths: { "apis/x.io/v1": { serverRelativeURL: "/document" } } };

  async function warningsWith(documents: Readonly<Record<string, unknown>>): Promise<number> {
    const all: Readonly<Record<string, unknown>> = {
      "/apis": list,
      "/openapi/v3": index,
      ...documents,
    };
    const kinds = new PublishedKinds((path) => Promise.resolve(all[path] as JsonValue | undefined));
    return allSteps(await kinds.check(policy, signal)).length;
  }

  const own = { "x-kubernetes-group-version-kind": [thing], type: "object" };
  const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const doubled = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => {
      const next = refTo(`d${at + 1}`);
      return [`d${at}`, { type: "object", properties: { a: next, b: next } }];
    }),
  );

  const cases: Readonly<Record<string, unknown>> = {
    "nothing at all": undefined,
    "a text": "text",
    "a list": [],
    "schemas that are no objects": { components: { schemas: { a: 1, b: null, c: [own] } } },
    "a kind that is a text": {
      components: { schemas: { a: { "x-kubernetes-group-version-kind": "x" } } },
    },
    "a type that is no text": { components: { schemas: { a: { ...own, type: 7 } } } },
    "properties that double at each of 60 steps": {
      components: { schemas: { a: { ...own, properties: { spec: refTo("d0") } }, ...doubled } },
    },
    "a reference to a prototype": {
      components: { schemas: { a: { ...own, properties: { spec: refTo("__proto__") } } } },
    },
    "a reference to itself": {
      components: { schemas: { a: { ...own, properties: { spec: refTo("a") } } } },
    },
  };

  for (const [name, document] of Object.entries(cases))
    test(`${name}: the check ends, in time`, async () => {
      const before = process.cpuUsage();
      assert.ok((await warningsWith({ "/document": document })) <= 1);
      // Of this process: neighbours on the same cores do not count.
      assert.ok(process.cpuUsage(before).user < 2_000_000);
    });

  test("discovery that is none names no kind", async () => {
    for (const broken of [
      undefined,
      7,
      { items: 7 },
      { items: [{ versions: [{ resources: {} }] }] },
    ])
      assert.equal(await warningsWith({ "/apis": broken }), 0);
  });

  test("a server that does not answer is asked again later: the check rejects", async () => {
    const kinds = new PublishedKinds(() => Promise.reject(new Error("no answer")));
    await assert.rejects(kinds.check(policy, signal), /no answer/);
  });
});
