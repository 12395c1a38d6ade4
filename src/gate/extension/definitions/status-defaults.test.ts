/** Defaults of a status that is a subresource: a creator's status is dropped, and its defaults are shown in every verb. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import type { AnyObject } from "#api/object.ts";
import { ask, watch } from "#apiserver/testing/plane.ts";
import {
  cronTab,
  cronTabDefinition,
  cronTabs,
  type CustomPlane,
  define,
  definitionsPath,
  withCustomPlane,
} from "../testing/plane.ts";

const merge = "application/merge-patch+json";
const apply = "application/apply-patch+yaml";
const path = `${cronTabs}/a`;
const pending = { phase: "Pending", conditions: [{ type: "Ready", status: "Unknown" }] };

const status = {
  type: "object",
  default: { conditions: pending.conditions },
  properties: {
    phase: { type: "string", default: "Pending" },
    replicas: { type: "integer" },
    conditions: {
      type: "array",
      items: {
        type: "object",
        properties: { type: { type: "string" }, status: { type: "string", default: "Unknown" } },
      },
    },
  },
};

function version(name: string, isStored: boolean, statusSchema: object = status): object {
  const spec = { type: "object", properties: { cronSpec: { type: "string" } } };
  const properties = { spec, status: statusSchema };
  return {
    name,
    served: true,
    storage: isStored,
    schema: { openAPIV3Schema: { type: "object", properties } },
    subresources: { status: {} },
    selectableFields: [{ jsonPath: ".status.phase" }],
    additionalPrinterColumns: [{ name: "Phase", type: "string", jsonPath: ".status.phase" }],
  };
}

const definition = cronTabDefinition({}, { versions: [version("v1", true), version("v2", false)] });
const v2Path = path.replace("/v1/", "/v2/");

/** What a client sees as the status after it has done this, in the order in which it is done. */
const cases: readonly {
  readonly name: string;
  readonly sees: object | undefined;
  readonly do: (plane: CustomPlane) => Promise<AnyObject>;
}[] = [
  {
    name: "a dry run of a creation",
    sees: pending,
    do: (plane) => made(plane, "POST", `${cronTabs}?dryRun=All`, cronTab("a")),
  },
  {
    name: "a creation, whose own status is dropped",
    sees: pending,
    do: (plane) => made(plane, "POST", cronTabs, { ...cronTab("a"), status: { phase: "Mine" } }),
  },
  { name: "a get", sees: pending, do: (plane) => made(plane, "GET", path) },
  { name: "a get in another version", sees: pending, do: (plane) => made(plane, "GET", v2Path) },
  {
    name: "a get of the status",
    sees: pending,
    do: (plane) => made(plane, "GET", `${path}/status`),
  },
  { name: "a list", sees: pending, do: async (plane) => first(await made(plane, "GET", cronTabs)) },
  {
    name: "a list by a default of the status",
    sees: pending,
    do: async (plane) =>
      first(await made(plane, "GET", `${cronTabs}?fieldSelector=status.phase%3DPending`)),
  },
  { name: "a watch", sees: pending, do: firstWatched },
  {
    name: "a dry run of an update",
    sees: pending,
    do: (plane) => put(plane, `${path}?dryRun=All`, "x"),
  },
  {
    name: "a patch of the specification",
    sees: pending,
    do: (plane) => patched(plane, path, { spec: { cronSpec: "1" }, status: { phase: "Mine" } }),
  },
  {
    name: "an apply of the specification",
    sees: pending,
    do: (plane) => applied(plane, path, { spec: { cronSpec: "2" } }),
  },
  {
    name: "a patch that takes the status away",
    sees: pending,
    do: (plane) => patched(plane, `${path}/status`, { status: null }),
  },
  {
    name: "a patch that takes one field away",
    sees: { ...pending, replicas: 1 },
    do: (plane) => patched(plane, `${path}/status`, { status: { phase: null, replicas: 1 } }),
  },
  {
    name: "a status of one's own, whose absent fields are filled",
    sees: { phase: "Pending", conditions: [{ type: "Ready", status: "Unknown" }] },
    do: (plane) =>
      patched(plane, `${path}/status`, {
        status: { replicas: null, conditions: [{ type: "Ready" }] },
      }),
  },
  {
    name: "an applied status",
    sees: { phase: "Running", conditions: [{ type: "Ready", status: "Unknown" }] },
    do: (plane) => applied(plane, `${path}/status`, { status: { phase: "Running" } }),
  },
  {
    name: "an update, which keeps the status",
    sees: { phase: "Running", conditions: [{ type: "Ready", status: "Unknown" }] },
    do: (plane) => put(plane, path, "3"),
  },
  {
    name: "an apply that creates",
    sees: pending,
    do: (plane) => applied(plane, `${cronTabs}/b`, { spec: { cronSpec: "2" } }),
  },
  { name: "a deletion", sees: pending, do: deletedWithFinalizer },
];

test("a default of the status is seen in every verb", () =>
  withCustomPlane(async (plane) => {
    await define(plane, definition);
    for (const { name, sees, do: act } of cases) {
      assert.deepEqual((await act(plane))["status"], sees, name);
    }
  }));

test("a table shows a default of the status", () =>
  withCustomPlane(async (plane) => {
    await define(plane, definition);
    await made(plane, "POST", cronTabs, cronTab("a"));
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const { json } = await ask(plane, "GET", cronTabs, { headers: { accept } });
    assert.deepEqual((json["rows"] as { cells: unknown[] }[])[0]?.cells, ["a", "Pending"]);
  }));

test("a new default is seen in an object that never had another status", () =>
  withCustomPlane(async (plane) => {
    await define(plane, definition);
    await made(plane, "POST", cronTabs, cronTab("a"));
    const changed = { ...status, default: { phase: "New" } };
    const versions = [version("v1", true, changed), version("v2", false, changed)];
    await patched(plane, `${definitionsPath}/crontabs.stable.example.com`, { spec: { versions } });
    assert.deepEqual((await made(plane, "GET", path))["status"], { phase: "New" });
  }));

test("the first update stores the defaults of the status, and the second one changes nothing", () =>
  withCustomPlane(async (plane) => {
    await define(plane, definition);
    const created = await made(plane, "POST", cronTabs, cronTab("a"));
    const first = await patched(plane, path, {});
    assert.notEqual(first.metadata?.resourceVersion, created.metadata?.resourceVersion);
    assert.equal(first.metadata?.generation, 1);
    const second = await patched(plane, path, {});
    assert.equal(second.metadata?.resourceVersion, first.metadata?.resourceVersion);
  }));

async function made(
  plane: CustomPlane,
  method: string,
  at: string,
  body?: AnyObject,
): Promise<AnyObject> {
  const answer = await ask(plane, method, at, given({ body }));
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
}

/** Without a status. */
async function put(plane: CustomPlane, at: string, cronSpec: string): Promise<AnyObject> {
  const { metadata } = await made(plane, "GET", path);
  return made(plane, "PUT", at, { ...cronTab("a", { cronSpec }), metadata: metadata ?? {} });
}

async function patched(plane: CustomPlane, at: string, body: object): Promise<AnyObject> {
  const answer = await ask(plane, "PATCH", at, { type: merge, body });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function applied(plane: CustomPlane, at: string, fields: object): Promise<AnyObject> {
  const name = at.replace(/^.*crontabs\/([^/]*).*$/, "$1");
  const body = { apiVersion: "stable.example.com/v1", kind: "CronTab", metadata: { name } };
  const query = "?fieldManager=tester&force=true";
  const answer = await ask(plane, "PATCH", at + query, {
    type: apply,
    body: { ...body, ...fields },
  });
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
}

function first(list: AnyObject): AnyObject {
  const [object] = list["items"] as AnyObject[];
  assert.ok(object !== undefined);
  return object;
}

async function firstWatched(plane: CustomPlane): Promise<AnyObject> {
  const stream = await watch(plane, `${cronTabs}?watch=true&resourceVersion=0`);
  const [event] = stream.events();
  assert.ok(event !== undefined);
  return event.object;
}

async function deletedWithFinalizer(plane: CustomPlane): Promise<AnyObject> {
  const object = cronTab("held");
  const metadata = { ...object.metadata, finalizers: ["example.com/hold"] };
  await made(plane, "POST", cronTabs, { ...object, metadata });
  return made(plane, "DELETE", `${cronTabs}/held`);
}
