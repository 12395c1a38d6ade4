/** Definitions and custom objects as an attacker would write them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { ask, pods, pod } from "#apiserver/testing/plane.ts";
import {
  conditionOf,
  cronTab,
  cronTabDefinition,
  cronTabs,
  type CustomPlane,
  define,
  definitionsPath,
  openCustomPlane,
  settled,
  withCustomPlane,
} from "#extension/testing/plane.ts";
import type { Attributes, Authorizer } from "#auth/auth.ts";

function definitionOf(group: string, plural: string, kind: string, more: object = {}): AnyObject {
  const names = { plural, singular: plural.slice(0, -1), kind };
  const annotations = { "api-approved.kubernetes.io": "unapproved, for a test" };
  const definition = cronTabDefinition({}, { group, names, ...more });
  return { ...definition, metadata: { name: `${plural}.${group}`, annotations } };
}

function itemsOf({ json }: { readonly json: AnyObject }): readonly AnyObject[] {
  return (json["items"] ?? []) as readonly AnyObject[];
}

async function establish(plane: CustomPlane, definition: AnyObject): Promise<void> {
  const answer = await ask(plane, "POST", definitionsPath, { body: definition });
  assert.equal(answer.status, 201, answer.text);
  const name = definition.metadata?.name ?? "";
  await settled(plane, name, (stored) => conditionOf(stored, "Established") === "True");
}

async function untilGone(plane: CustomPlane, path: string): Promise<void> {
  for (let turns = 0; turns < 1000; turns++) {
    if ((await ask(plane, "GET", path)).status === 404) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail(`${path} is still there`);
}

test("a definition that names a built-in resource reaches none of its objects, in no version", () =>
  withCustomPlane(async (plane) => {
    const group = "rbac.authorization.k8s.io";
    const role = { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: "built-in" } };
    const roles = `/apis/${group}/v1/clusterroles`;
    assert.equal((await ask(plane, "POST", roles, { body: { ...role, rules: [] } })).status, 201);
    const schema = { openAPIV3Schema: { type: "object" } };
    const versions = ["v1", "v9"].map((name, at) => ({
      name,
      served: true,
      storage: at === 1,
      schema,
    }));
    await establish(
      plane,
      definitionOf(group, "clusterroles", "Stolen", { scope: "Cluster", versions }),
    );
    assert.equal((await ask(plane, "GET", `/apis/${group}/v9/clusterroles`)).status, 404);
    assert.equal((await ask(plane, "GET", `/apis/${group}/v9`)).status, 404);
    const listed = await ask(plane, "GET", roles);
    assert.equal(listed.json.kind, "ClusterRoleList");
    await ask(plane, "DELETE", `${definitionsPath}/clusterroles.${group}`);
    await untilGone(plane, `${definitionsPath}/clusterroles.${group}`);
    assert.equal((await ask(plane, "GET", `${roles}/built-in`)).status, 200);
  }));

test("a definition in a built-in group-version adds nothing there", () =>
  withCustomPlane(async (plane) => {
    await establish(plane, definitionOf("networking.k8s.io", "crontabs", "CronTab"));
    const { json } = await ask(plane, "GET", "/apis/networking.k8s.io/v1");
    const names = (json["resources"] as { name: string }[]).map(({ name }) => name);
    assert.ok(!names.includes("crontabs"));
    const path = "/apis/networking.k8s.io/v1/namespaces/default/crontabs";
    assert.equal((await ask(plane, "GET", path)).status, 404);
  }));

test("kinds and fields named like members of every object are names like any other", () =>
  withCustomPlane(async (plane) => {
    await establish(plane, definitionOf("example.com", "constructors", "Constructor"));
    await establish(plane, definitionOf("example.com", "tostrings", "ToString"));
    const path = "/apis/example.com/v1/namespaces/default/constructors";
    const text = `{"apiVersion":"example.com/v1","kind":"Constructor","metadata":{"name":"a"},"spec":{"__proto__":{"image":"x"},"constructor":{"prototype":{"polluted":1}},"cronSpec":"*"}}`;
    const made = await ask(plane, "POST", path, { body: text, type: "application/json" });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(made.json["spec"], { cronSpec: "*", image: "busybox" });
    assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
    assert.equal((await ask(plane, "GET", "/apis/example.com/v1/constructor")).status, 404);
    assert.equal((await ask(plane, "GET", "/apis/example.com/__proto__/constructors")).status, 404);
    assert.equal((await ask(plane, "GET", "/apis/__proto__/v1/constructors")).status, 404);
  }));

test("who may act in one namespace reaches no cluster-scoped custom object, nor one of another namespace", async () => {
  let isLimited = false;
  const authorizer: Authorizer = {
    authorize: ({ namespace }: Attributes) => ({
      allowed: !isLimited || namespace === "team",
      denied: false,
      reason: "",
    }),
    rulesFor: () => ({ rules: [], incomplete: false }),
  };
  const plane = await openCustomPlane({ authorizer });
  try {
    await establish(plane, definitionOf("example.com", "globals", "Global", { scope: "Cluster" }));
    await establish(plane, definitionOf("example.com", "locals", "Local"));
    const global = { apiVersion: "example.com/v1", kind: "Global", metadata: { name: "a" } };
    const local = { apiVersion: "example.com/v1", kind: "Local", metadata: { name: "a" } };
    const base = "/apis/example.com/v1";
    assert.equal((await ask(plane, "POST", `${base}/globals`, { body: global })).status, 201);
    const other = await ask(plane, "POST", `${base}/namespaces/other/locals`, { body: local });
    assert.equal(other.status, 201, other.text);
    isLimited = true;
    for (const path of ["globals/a", "globals", "globals/a/status"]) {
      for (const method of ["GET", "PUT", "PATCH", "DELETE", "POST"]) {
        const body = method === "GET" ? {} : { body: global };
        const { status } = await ask(plane, method, `${base}/namespaces/team/${path}`, body);
        assert.ok(status === 404 || status === 403, `${method} ${path}: ${status}`);
      }
    }
    for (const path of ["locals", "locals/a", "namespaces/other/locals/a", "watch/locals"]) {
      assert.equal((await ask(plane, "GET", `${base}/${path}`)).status, 403, path);
    }
    const smuggled = { ...local, metadata: { name: "b", namespace: "other" } };
    const post = await ask(plane, "POST", `${base}/namespaces/team/locals`, { body: smuggled });
    assert.equal(post.status, 400);
    isLimited = false;
    assert.equal((await ask(plane, "GET", `${base}/globals/a`)).status, 200);
    assert.equal((await ask(plane, "GET", `${base}/namespaces/other/locals/b`)).status, 404);
  } finally {
    await plane.close();
  }
});

test("printer columns whose paths lead to too many values show nothing, nor do those after them", () =>
  withCustomPlane(async (plane) => {
    const additionalPrinterColumns = [
      { name: "A", type: "string", jsonPath: ".spec..a..a..a..a" },
      { name: "B", type: "string", jsonPath: ".spec[?(@..a..a..a==1)]" },
      { name: "C", type: "string", jsonPath: ".metadata.name" },
    ];
    const open = {
      openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    };
    await define(plane, cronTabDefinition({ additionalPrinterColumns, schema: open }));
    let spec: object = {};
    for (let depth = 0; depth < 400; depth++) spec = { a: spec };
    const made = await ask(plane, "POST", cronTabs, { body: cronTab("deep", spec) });
    assert.equal(made.status, 201, made.text);
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const table = await ask(plane, "GET", cronTabs, { headers });
    const { rows } = table.json as unknown as { rows: { cells: unknown[] }[] };
    assert.deepEqual(rows[0]?.cells, ["deep", null, null, null]);
  }));

test("an object with very many unknown fields gets a hundred findings at most", () =>
  withCustomPlane(async (plane) => {
    await define(plane, cronTabDefinition());
    const spec = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`unknown${at}`, at]));
    const made = await ask(plane, "POST", cronTabs, { body: cronTab("wide", spec) });
    assert.equal(made.status, 201, made.text.slice(0, 300));
    assert.ok((made.headers["warning"] ?? []).length <= 101);
    const strict = await ask(plane, "POST", `${cronTabs}?fieldValidation=Strict`, {
      body: cronTab("strict", spec),
    });
    assert.equal(strict.status, 400);
    assert.ok(strict.text.length < 100_000);
  }));

test("a scale path that leads through what is no object changes nothing", () =>
  withCustomPlane(async (plane) => {
    const scale = { specReplicasPath: ".spec.__proto__.replicas", statusReplicasPath: ".status.x" };
    const body = cronTabDefinition({ subresources: { scale } });
    const made = await ask(plane, "POST", definitionsPath, { body });
    if (made.status === 201) {
      await settled(
        plane,
        "crontabs.stable.example.com",
        (stored) => conditionOf(stored, "Established") === "True",
      );
      await ask(plane, "POST", cronTabs, { body: cronTab("a") });
      const wanted = { metadata: { name: "a" }, spec: { replicas: 7 } };
      await ask(plane, "PUT", `${cronTabs}/a/scale`, { body: wanted });
    }
    assert.equal(Object.hasOwn(Object.prototype, "replicas"), false);
    assert.equal(({} as { replicas?: number }).replicas, undefined);
  }));

test("hundreds of definitions leave other kinds as they were", () =>
  withCustomPlane(async (plane) => {
    for (let n = 0; n < 300; n++) {
      const body = definitionOf(`g${n}.example.com`, "things", "Thing");
      assert.equal((await ask(plane, "POST", definitionsPath, { body })).status, 201);
    }
    const last = "things.g299.example.com";
    await settled(plane, last, (stored) => conditionOf(stored, "Established") === "True");
    assert.equal((await ask(plane, "POST", pods, { body: pod("a") })).status, 201);
    const groups = await ask(plane, "GET", "/apis");
    assert.equal((groups.json["groups"] as unknown[]).length, 300 + 20);
    assert.equal(itemsOf(await ask(plane, "GET", definitionsPath)).length, 300);
  }));
