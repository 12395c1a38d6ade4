/**
 * Names of Object.prototype wherever a client chooses a name: an ordinary answer, never a 5xx, never what
 * an object literal inherits.
 */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { given } from "#base/given.ts";
import { parseCron } from "#api/values/cron.ts";
import { findValues, parseJsonPath } from "#api/json-path/json-path.ts";
import {
  ask,
  type Answer,
  type Ask,
  type Plane,
  pod,
  pods,
  request,
  withPlane,
} from "#apiserver/testing/plane.ts";

const names = [
  "constructor",
  "__proto__",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "isPrototypeOf",
  "__defineGetter__",
];

const core = "/api/v1/namespaces/default";
const configMaps = `${core}/configmaps`;

interface Probe {
  readonly what: string;
  readonly method: string;
  readonly target: string;
  readonly ask?: Ask;
  readonly expect: readonly number[];
}

/** An object with an own field of that name, `__proto__` too. */
function field(name: string, value: unknown): object {
  return JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as object;
}

function readProbes(name: string): readonly Probe[] {
  const get = (what: string, target: string, expect: readonly number[], headers = {}): Probe => ({
    what,
    method: "GET",
    target,
    expect,
    ask: { headers },
  });
  return [
    get("group", `/apis/${name}`, [404]),
    get("group and version", `/apis/${name}/${name}`, [404]),
    get("group, version and resource", `/apis/${name}/${name}/${name}`, [404]),
    get("version of core", `/api/${name}/pods`, [404]),
    get("version of apps", `/apis/apps/${name}/deployments`, [404]),
    get("resource", `/api/v1/${name}`, [404]),
    get("namespaced resource", `${core}/${name}`, [404]),
    get("namespace", `/api/v1/namespaces/${name}/pods`, [200]),
    get("object", `${pods}/${name}`, [404]),
    get("subresource", `${pods}/p/${name}`, [404]),
    get("subresource of a namespace", `/api/v1/namespaces/default/${name}`, [404]),
    get("OpenAPI document", `/openapi/v3/${name}`, [404]),
    get("OpenAPI of a group", `/openapi/v3/apis/${name}/${name}`, [404]),
    get("path", `/${name}`, [404]),
    get("health check", `/readyz/${name}`, [404]),
    get("excluded check", `/readyz?exclude=${name}`, [200]),
    get("query parameter", `${pods}?${name}=${name}`, [200]),
    get("includeObject", `${pods}?includeObject=${name}`, [200, 400]),
    get("timeout", `${pods}?timeout=1${name}`, [200, 400]),
    get("resourceVersionMatch", `${pods}?resourceVersionMatch=${name}`, [422, 400]),
    get("label selector", `${pods}?labelSelector=${name}`, [200, 400]),
    get("label selector's set", `${pods}?labelSelector=${name}+in+(${name})`, [200, 400]),
    get("field selector", `${pods}?fieldSelector=${name}%3D1`, [400]),
    get("nested field selector", `${pods}?fieldSelector=metadata.${name}%3D1`, [400]),
    get("header", pods, [200], { [name.toLowerCase()]: name }),
    get("accept", pods, [406], { accept: `application/${name}` }),
    get("accept type", pods, [406], { accept: name }),
    get("accept parameter", pods, [200], { accept: `application/json;${name}=${name}` }),
    get("transform", pods, [406], { accept: `application/json;as=${name};g=${name};v=${name}` }),
    get("encoding", pods, [200], { "accept-encoding": name }),
    get("impersonated user", pods, [200], { "impersonate-user": name }),
    get("impersonated extra", pods, [200], {
      "impersonate-user": name,
      [`impersonate-extra-${name.toLowerCase()}`]: name,
    }),
  ];
}

function writeProbes(name: string): readonly Probe[] {
  const post = (
    what: string,
    expect: readonly number[],
    body: object | string,
    more: { readonly target?: string; readonly type?: string } = {},
  ): Probe => ({
    what,
    method: "POST",
    target: more.target ?? configMaps,
    expect,
    ask: { body, ...given({ type: more.type }) },
  });
  const metadata = { generateName: "x-" };
  return [
    post("content type", [415], "{}", { type: name }),
    post("content subtype", [415], "{}", { type: `application/${name}` }),
    post("kind", [400], { apiVersion: "v1", kind: name, metadata }),
    post("apiVersion", [400], { apiVersion: name, kind: "ConfigMap", metadata }),
    post("group of apiVersion", [400], { apiVersion: `${name}/v1`, kind: name, metadata }),
    post("unknown field", [201], { metadata, ...field(name, { a: 1 }) }),
    post("unknown field, strictly", [400], JSON.stringify(field(name, 1)), {
      target: `${configMaps}?fieldValidation=Strict`,
    }),
    post("repeated field", [400], `{"metadata":{"name":"a"},"${name}":1,"${name}":2}`, {
      target: `${configMaps}?fieldValidation=Strict`,
    }),
    post("field of metadata", [201], { metadata: { ...metadata, ...field(name, 1) } }),
    post(
      "fieldValidation",
      [422, 400],
      { metadata },
      {
        target: `${configMaps}?fieldValidation=${name}`,
      },
    ),
    post("dryRun", [422, 400], { metadata }, { target: `${configMaps}?dryRun=${name}` }),
    post("field manager", [201], { metadata }, { target: `${configMaps}?fieldManager=${name}` }),
    post("label", [201, 422], { metadata: { ...metadata, labels: field(name, "x") } }),
    post("label value", [201, 422], { metadata: { ...metadata, labels: { a: name } } }),
    post("annotation", [201, 422], { metadata: { ...metadata, annotations: field(name, "x") } }),
    post("owner", [201, 422], {
      metadata: {
        ...metadata,
        ownerReferences: [{ apiVersion: name, kind: name, name, uid: name }],
      },
    }),
    post("managed field", [201, 400], {
      metadata: {
        ...metadata,
        managedFields: [
          {
            manager: name,
            operation: "Update",
            apiVersion: "v1",
            fieldsType: "FieldsV1",
            fieldsV1: field(name, {}),
          },
        ],
      },
    }),
    post("Secret type", [201, 422], { metadata, type: name }, { target: `${core}/secrets` }),
    post(
      "Secret text",
      [201],
      { metadata, stringData: field(name, "x") },
      {
        target: `${core}/secrets`,
      },
    ),
    post(
      "resource name",
      [201, 422],
      withContainer({
        resources: { requests: field(name, "1"), limits: field(name, "1") },
      }),
      { target: pods },
    ),
    post(
      "resources of the pod",
      [201, 422],
      {
        ...pod(`r-${names.indexOf(name)}`),
        spec: {
          containers: [
            { name: "c", image: "i", resources: { requests: field(name, "1") } },
            { name: "d", image: "i", resources: { requests: field(name, "1") } },
          ],
          initContainers: [{ name: "e", image: "i", resources: { requests: field(name, "1") } }],
          resources: { limits: { cpu: "1", ...field(name, "1") } },
        },
      },
      { target: pods },
    ),
    post(
      "node selector and node",
      [201, 422],
      {
        ...pod(`n-${names.indexOf(name)}`),
        spec: {
          containers: [{ name: "c", image: "i" }],
          nodeSelector: field(name, name),
          nodeName: name,
          overhead: field(name, "1"),
        },
      },
      { target: pods },
    ),
    post(
      "quota",
      [201, 422],
      { metadata, spec: { hard: field(name, "1"), scopes: [name] } },
      {
        target: `${core}/resourcequotas`,
      },
    ),
    post(
      "limit range",
      [201, 422],
      {
        metadata,
        spec: { limits: [{ type: name, max: field(name, "1"), default: field(name, "1") }] },
      },
      { target: `${core}/limitranges` },
    ),
    post(
      "sysctl",
      [201, 422],
      {
        ...pod("sysctl"),
        spec: {
          containers: [{ name: "c", image: "i" }],
          securityContext: { sysctls: [{ name, value: "1" }], seccompProfile: { type: name } },
        },
      },
      { target: pods },
    ),
    post(
      "scheduling",
      [201, 422],
      {
        metadata,
        spec: {
          schedule: `0 0 1 ${name} *`,
          timeZone: name,
          concurrencyPolicy: name,
          jobTemplate: { spec: { template: { spec: { containers: [], restartPolicy: name } } } },
        },
      },
      { target: "/apis/batch/v1/namespaces/default/cronjobs" },
    ),
    post(
      "priority class",
      [201, 422],
      { metadata: { name }, value: 1 },
      {
        target: "/apis/scheduling.k8s.io/v1/priorityclasses",
      },
    ),
    post(
      "rule",
      [201, 422],
      {
        metadata,
        rules: [{ apiGroups: [name], resources: [name], verbs: [name] }],
      },
      { target: "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles" },
    ),
    post(
      "access review",
      [201],
      {
        spec: {
          user: name,
          resourceAttributes: { group: name, resource: name, verb: name },
          extra: field(name, [name]),
        },
      },
      { target: "/apis/authorization.k8s.io/v1/subjectaccessreviews" },
    ),
    post(
      "binding",
      [400, 404, 422],
      { target: { kind: "Node", name, apiVersion: name } },
      {
        target: `${pods}/${name}/binding`,
      },
    ),
    { what: "method", method: name, target: pods, expect: [405] },
    { what: "method on an object", method: name, target: `${pods}/a`, expect: [405] },
  ];
}

function withContainer(more: object): object {
  return {
    metadata: { generateName: "p-" },
    spec: { containers: [{ name: "c", image: "i", ...more }] },
  };
}

function patchProbes(name: string): readonly Probe[] {
  const patch = (
    what: string,
    type: string,
    body: object,
    target = `${configMaps}/base`,
  ): Probe => ({
    what: `${what} patch`,
    method: "PATCH",
    target,
    // Upstream answers 500 to an applied field that no schema has.
    expect: what.startsWith("apply of") ? [500] : [200, 400, 422],
    ask: { body, type: `application/${type}` },
  });
  const data = { data: field(name, "x") };
  const apply = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "base" } };
  return [
    patch("merge", "merge-patch+json", { ...data, ...field(name, { a: 1 }) }),
    patch("merge removing", "merge-patch+json", { data: field(name, null) }),
    patch("strategic", "strategic-merge-patch+json", { ...data, ...field(name, { a: 1 }) }),
    patch("strategic directive", "strategic-merge-patch+json", {
      [`$setElementOrder/${name}`]: [],
      [`$deleteFromPrimitiveList/${name}`]: [name],
      [`$retainKeys`]: [name],
    }),
    patch("strategic list", "strategic-merge-patch+json", {
      metadata: { ownerReferences: [field(name, 1)], ...field(name, []) },
    }),
    patch("JSON add", "json-patch+json", [{ op: "add", path: `/data/${name}`, value: "x" }]),
    patch("JSON add below", "json-patch+json", [
      { op: "add", path: `/${name}/${name}`, value: "x" },
    ]),
    patch("JSON test", "json-patch+json", [{ op: "test", path: `/${name}`, value: {} }]),
    patch("JSON copy", "json-patch+json", [{ op: "copy", from: `/${name}`, path: "/data/c" }]),
    patch("JSON move", "json-patch+json", [{ op: "move", from: `/data/${name}`, path: "/data/m" }]),
    patch("JSON operation", "json-patch+json", [{ op: name, path: "/data" }]),
    patch(
      "apply",
      "apply-patch+yaml",
      { ...apply, ...data },
      `${configMaps}/base?fieldManager=${name}`,
    ),
    patch(
      "apply of an unknown field",
      "apply-patch+yaml",
      { ...apply, ...field(name, { a: 1 }) },
      `${configMaps}/base?fieldManager=m&force=${name}`,
    ),
  ];
}

async function probe(plane: Plane, name: string, asked: Probe): Promise<void> {
  const { what, method, target } = asked;
  const answer = await ask(plane, method, target, asked.ask);
  const said = `${what} ${name}: ${answer.status} ${answer.text.slice(0, 300)}`;
  assert.ok(asked.expect.includes(answer.status), `expected ${asked.expect.join(" or ")}: ${said}`);
  assert.doesNotMatch(answer.text, /native code|\[object Object\]|\[Function/, said);
  assert.equal((Object.prototype as { a?: unknown }).a, undefined, "Object.prototype is as it was");
}

suite("names of Object.prototype are names like any other", () => {
  for (const name of names) {
    test(name, () =>
      withPlane(async (plane) => {
        await ask(plane, "POST", configMaps, { body: { metadata: { name: "base" }, data: {} } });
        for (const asked of readProbes(name)) await probe(plane, name, asked);
        for (const asked of writeProbes(name)) await probe(plane, name, asked);
        for (const asked of patchProbes(name)) await probe(plane, name, asked);
        for (const target of [pods, configMaps, `${core}/resourcequotas`]) {
          const accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
          assert.equal((await ask(plane, "GET", target, { headers: { accept } })).status, 200);
        }
      }),
    );
  }
});

test("a ConfigMap and a Secret keep a key of any name", () =>
  withPlane(async (plane) => {
    for (const name of names) {
      const body = `{"metadata":{"name":"keeps"},"data":{${JSON.stringify(name)}:"kept"}}`;
      const made = await ask(plane, "POST", configMaps, { body });
      assert.equal(made.status, 201, made.text);
      await expectKey(plane, `${configMaps}/keeps`, name, "kept");
      const merge = { type: "application/merge-patch+json" };
      const patch = `{"data":{${JSON.stringify(name)}:"patched"}}`;
      await ask(plane, "PATCH", `${configMaps}/keeps`, { body: patch, ...merge });
      await expectKey(plane, `${configMaps}/keeps`, name, "patched");
      await ask(plane, "DELETE", `${configMaps}/keeps`);
      const secret = `{"metadata":{"name":"keeps"},"stringData":{${JSON.stringify(name)}:"kept"}}`;
      await ask(plane, "POST", `${core}/secrets`, { body: secret });
      await expectKey(plane, `${core}/secrets/keeps`, name, "a2VwdA==");
      await ask(plane, "DELETE", `${core}/secrets/keeps`);
    }
  }));

async function expectKey(plane: Plane, target: string, key: string, value: string): Promise<void> {
  const answer: Answer = await ask(plane, "GET", target);
  const { data } = JSON.parse(answer.text) as { data: Record<string, string> };
  assert.ok(Object.hasOwn(data ?? {}, key), `${target} ${key}: ${answer.text}`);
  assert.equal(data[key], value);
}

test("a schedule's names and a path's fields are looked up among their own", () => {
  for (const name of names) {
    for (const spec of [`0 0 1 ${name} *`, `0 0 * * ${name}`, `@${name}`, `@every 1${name}`]) {
      assert.throws(() => parseCron(spec), { name: /Error/ }, spec);
    }
    assert.deepEqual(findValues(parseJsonPath(`.${name}`), { a: 1 }), []);
    assert.deepEqual(findValues(parseJsonPath(`.a.${name}`), { a: [] }), []);
  }
});

test("an extra of an impersonated user may have any name", () =>
  withPlane(async (plane) => {
    for (const name of names) {
      const lower = name.toLowerCase();
      const headers = { "impersonate-user": "u", [`impersonate-extra-${lower}`]: "v" };
      const asked = request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
        body: {},
        headers,
      });
      const answer = await plane.server.handler({
        ...asked,
        impersonateLines: { [`impersonate-extra-${lower}`]: ["v"] },
      });
      assert.equal(answer.status, 201);
      const text = answer.kind === "bytes" ? Buffer.concat(answer.body).toString() : "";
      assert.match(text, new RegExp(`"extra":\\{"${lower}":\\["v"\\]\\}`));
    }
  }));
