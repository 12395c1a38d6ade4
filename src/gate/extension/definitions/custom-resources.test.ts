/** Custom resources through the handler of an API server: what a client sees. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { ask, watch } from "#apiserver/testing/plane.ts";
import {
  conditionOf,
  cronTab,
  cronTabDefinition,
  cronTabs,
  type CustomPlane,
  define,
  definitionsPath,
  settled,
  withCustomPlane,
} from "../testing/plane.ts";

const name = "crontabs.stable.example.com";
const definitionPath = `${definitionsPath}/${name}`;
const merge = "application/merge-patch+json";

function withCronTabs(
  version: object,
  f: (plane: CustomPlane) => Promise<void>,
): () => Promise<void> {
  return () =>
    withCustomPlane(async (plane) => {
      await define(plane, cronTabDefinition(version));
      await f(plane);
    });
}

async function create(plane: CustomPlane, object: AnyObject, query = ""): Promise<AnyObject> {
  const { status, json, text } = await ask(plane, "POST", `${cronTabs}${query}`, { body: object });
  assert.equal(status, 201, text);
  return json;
}

function spec(object: AnyObject): Record<string, unknown> {
  return object["spec"] as Record<string, unknown>;
}

describe("a definition", () => {
  test(
    "is established at once, and says so in upstream's words",
    withCronTabs({}, async (plane) => {
      const { json } = await ask(plane, "GET", definitionPath);
      const { conditions, acceptedNames, storedVersions } = json["status"] as {
        conditions: { type: string; reason: string; message: string }[];
        acceptedNames: object;
        storedVersions: string[];
      };
      assert.deepEqual(
        conditions.map(({ type, reason, message }) => [type, reason, message]),
        [
          ["NamesAccepted", "NoConflicts", "no conflicts found"],
          ["Established", "InitialNamesAccepted", "the initial names have been accepted"],
        ],
      );
      assert.deepEqual(acceptedNames, {
        plural: "crontabs",
        singular: "crontab",
        kind: "CronTab",
        listKind: "CronTabList",
        shortNames: ["ct"],
      });
      assert.deepEqual(storedVersions, ["v1"]);
    }),
  );

  test(
    "keeps what others observed of it",
    withCronTabs({}, async (plane) => {
      const body = { status: { observedGeneration: 7 } };
      const patched = await ask(plane, "PATCH", `${definitionPath}/status`, { type: merge, body });
      assert.equal(patched.status, 200, patched.text);
      const { json } = await ask(plane, "GET", definitionPath);
      assert.equal((json["status"] as { observedGeneration?: number }).observedGeneration, 7);
      assert.equal(conditionOf(json, "Established"), "True");
    }),
  );

  test("that wants the names of another is not served, and is once they are free", () =>
    withCustomPlane(async (plane) => {
      await define(plane, cronTabDefinition());
      const names = { plural: "others", singular: "other", kind: "CronTab", shortNames: ["ct"] };
      const second = cronTabDefinition({}, { names });
      const body = { ...second, metadata: { name: "others.stable.example.com" } };
      await ask(plane, "POST", definitionsPath, { body });
      const refused = await settled(
        plane,
        "others.stable.example.com",
        (stored) => conditionOf(stored, "NamesAccepted") === "False",
      );
      const conditions = (refused["status"] as { conditions: { message: string }[] }).conditions;
      assert.equal(conditions[0]?.message, '"CronTabList" is already in use');
      const path = "/apis/stable.example.com/v1/namespaces/default/others";
      assert.equal((await ask(plane, "GET", path)).status, 404);
      await ask(plane, "DELETE", definitionPath);
      await settled(
        plane,
        "others.stable.example.com",
        (stored) => conditionOf(stored, "Established") === "True",
      );
      assert.equal((await ask(plane, "GET", path)).status, 200);
    }));

  test(
    "that is deleted takes its objects along, refuses new ones meanwhile, and is a 404 afterwards",
    withCronTabs({}, async (plane) => {
      const held = cronTab("held");
      await create(plane, {
        ...held,
        metadata: { name: "held", finalizers: ["example.com/hold"] },
      });
      await create(plane, cronTab("free"));
      const deleted = await ask(plane, "DELETE", definitionPath);
      assert.equal(deleted.status, 200);
      assert.deepEqual(deleted.json.metadata?.finalizers, [
        "customresourcecleanup.apiextensions.k8s.io",
      ]);
      const refused = await ask(plane, "POST", cronTabs, { body: cronTab("new") });
      assert.equal(refused.status, 403);
      assert.match(
        refused.text,
        /create not allowed while custom resource definition is terminating/,
      );
      await settled(
        plane,
        name,
        () => plane.registry.count({ group: "stable.example.com", resource: "crontabs" }, "") === 1,
      );
      const list = await ask(plane, "GET", cronTabs);
      assert.deepEqual(
        (list.json["items"] as AnyObject[]).map((item) => item.metadata?.name),
        ["held"],
      );
      await ask(plane, "PATCH", `${cronTabs}/held`, {
        type: merge,
        body: { metadata: { finalizers: null } },
      });
      await plane.clock.advance(2_000);
      await gone(plane, definitionPath);
      assert.equal((await ask(plane, "GET", cronTabs)).status, 404);
    }),
  );
});

async function gone(plane: CustomPlane, path: string): Promise<void> {
  for (let turns = 0; turns < 1000; turns++) {
    if ((await ask(plane, "GET", path)).status === 404) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`${path} did not go`);
}

test("a definition whose objects nobody has asked for has no cache, and a look at the metrics makes none", () =>
  withCustomPlane(async (plane) => {
    await define(plane, cronTabDefinition());
    const cached = (): boolean =>
      [...plane.registry.cores()].some(({ resource }) => resource.resource === "crontabs");
    const { text } = await ask(plane, "GET", "/metrics");
    assert.doesNotMatch(text, /crontabs/);
    await ask(plane, "GET", "/apis/stable.example.com/v1");
    assert.equal(cached(), false);
    await create(plane, cronTab("a"));
    assert.equal(cached(), true);
    const metrics = await ask(plane, "GET", "/metrics");
    assert.match(
      metrics.text,
      /apiserver_storage_objects\{resource="crontabs.stable.example.com"\} 1/,
    );
  }));

describe("a custom object", () => {
  test(
    "is pruned, defaulted and validated, and unknown fields are told",
    withCronTabs({}, async (plane) => {
      const body = cronTab("a", { cronSpec: "* * * * *", colour: "red" });
      const made = await ask(plane, "POST", cronTabs, { body });
      assert.equal(made.status, 201, made.text);
      assert.deepEqual(spec(made.json), { cronSpec: "* * * * *", image: "busybox" });
      assert.deepEqual(made.headers["warning"], ['299 - "unknown field \\"spec.colour\\""']);
      const strict = await ask(plane, "POST", `${cronTabs}?fieldValidation=Strict`, { body });
      assert.equal(strict.status, 400);
      assert.match(strict.text, /strict decoding error: unknown field \\"spec.colour\\"/);
      const wrong = await ask(plane, "POST", cronTabs, { body: cronTab("b", { replicas: -1 }) });
      assert.equal(wrong.status, 422);
      assert.match(
        wrong.text,
        /CronTab.stable.example.com \\"b\\" is invalid: spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0/,
      );
    }),
  );

  test(
    "counts its generation by everything but metadata, and keeps its status apart",
    withCronTabs({ subresources: { status: {} } }, async (plane) => {
      const made = await create(plane, { ...cronTab("a"), status: { replicas: 9 } });
      assert.equal(made["status"], undefined);
      assert.equal(made.metadata?.generation, 1);
      const path = `${cronTabs}/a`;
      const labelled = await ask(plane, "PATCH", path, {
        type: merge,
        body: { metadata: { labels: { a: "b" } }, status: { replicas: 1 } },
      });
      assert.equal(labelled.json.metadata?.generation, 1);
      assert.equal(labelled.json["status"], undefined);
      const status = await ask(plane, "PATCH", `${path}/status`, {
        type: merge,
        body: {
          metadata: { labels: { a: "c" } },
          spec: { cronSpec: "x" },
          status: { replicas: 2 },
        },
      });
      assert.deepEqual(status.json["status"], { replicas: 2 });
      assert.deepEqual(status.json.metadata?.labels, { a: "b" });
      assert.equal(spec(status.json)["cronSpec"], "* * * * *");
      assert.equal(status.json.metadata?.generation, 1);
      const changed = await ask(plane, "PATCH", path, {
        type: merge,
        body: { spec: { replicas: 2 } },
      });
      assert.equal(changed.json.metadata?.generation, 2);
      assert.deepEqual(changed.json["status"], { replicas: 2 });
    }),
  );

  test(
    "takes merge, JSON and apply patches, and no strategic merge",
    withCronTabs({}, async (plane) => {
      const path = `${cronTabs}/a`;
      const applied = await ask(plane, "PATCH", `${path}?fieldManager=me`, {
        type: "application/apply-patch+yaml",
        body: cronTab("a", { replicas: 1 }),
      });
      assert.equal(applied.status, 201, applied.text);
      const again = await ask(plane, "PATCH", `${path}?fieldManager=me`, {
        type: "application/apply-patch+yaml",
        body: cronTab("a", { replicas: 1 }),
      });
      assert.equal(again.json.metadata?.resourceVersion, applied.json.metadata?.resourceVersion);
      const json = await ask(plane, "PATCH", path, {
        type: "application/json-patch+json",
        body: [{ op: "replace", path: "/spec/replicas", value: 3 }],
      });
      assert.equal(spec(json.json)["replicas"], 3);
      const type = "application/strategic-merge-patch+json";
      assert.equal((await ask(plane, "PATCH", path, { type, body: {} })).status, 415);
    }),
  );

  test(
    "is scaled by server-side apply, and who applied owns the replicas at their own path",
    withCronTabs(
      {
        subresources: {
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
      },
      async (plane) => {
        await create(plane, cronTab("a", { replicas: 2 }), "?fieldManager=maker");
        const apply = (manager: string, replicas: number, force = "") =>
          ask(plane, "PATCH", `${cronTabs}/a/scale?fieldManager=${manager}${force}`, {
            type: "application/apply-patch+yaml",
            body: { apiVersion: "autoscaling/v1", kind: "Scale", spec: { replicas } },
          });
        assert.equal((await apply("one", 3)).status, 409);
        const forced = await apply("one", 3, "&force=true");
        assert.equal(forced.status, 200, forced.text);
        assert.deepEqual(forced.json["spec"], { replicas: 3 });
        const conflict = await apply("two", 4);
        assert.equal(
          conflict.json["message"],
          'Apply failed with 1 conflict: conflict with "one" with subresource "scale": .spec.replicas',
        );
        const { json } = await ask(plane, "GET", `${cronTabs}/a`);
        const [entry] = json.metadata?.managedFields ?? [];
        assert.equal(entry?.apiVersion, "stable.example.com/v1");
        assert.deepEqual(entry?.fieldsV1, { "f:spec": { "f:replicas": {} } });
        assert.equal(spec(json)["replicas"], 3);
      },
    ),
  );

  test(
    "is scaled at the paths of its definition",
    withCronTabs(
      {
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
      },
      async (plane) => {
        await create(plane, cronTab("none"));
        const missing = await ask(plane, "GET", `${cronTabs}/none/scale`);
        assert.equal(missing.status, 500);
        assert.match(missing.text, /the spec replicas field \\".spec.replicas\\" does not exist/);
        await create(plane, cronTab("a", { replicas: 2 }));
        const scale = await ask(plane, "GET", `${cronTabs}/a/scale`);
        assert.deepEqual(scale.json["spec"], { replicas: 2 });
        const body = { ...scale.json, spec: { replicas: 5 } };
        const put = await ask(plane, "PUT", `${cronTabs}/a/scale`, { body });
        assert.equal(put.status, 200, put.text);
        const after = await ask(plane, "GET", `${cronTabs}/a`);
        assert.equal(spec(after.json)["replicas"], 5);
        assert.equal(after.json.metadata?.generation, 2);
      },
    ),
  );

  test(
    "is a table by its printer columns, and by name and age without any",
    withCronTabs(
      {
        additionalPrinterColumns: [
          { name: "Spec", type: "string", jsonPath: ".spec.cronSpec" },
          { name: "Replicas", type: "integer", jsonPath: ".spec.replicas", priority: 1 },
        ],
      },
      async (plane) => {
        await create(plane, cronTab("a"));
        const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
        const table = await ask(plane, "GET", cronTabs, { headers });
        const { columnDefinitions, rows } = table.json as unknown as {
          columnDefinitions: { name: string; priority: number }[];
          rows: { cells: unknown[] }[];
        };
        assert.deepEqual(
          columnDefinitions.map((column) => [column.name, column.priority]),
          [
            ["Name", 0],
            ["Spec", 0],
            ["Replicas", 1],
          ],
        );
        assert.deepEqual(rows[0]?.cells, ["a", "* * * * *", null]);
      },
    ),
  );

  test(
    "is selected by the fields its definition names, in lists and watches",
    withCronTabs({ selectableFields: [{ jsonPath: ".spec.image" }] }, async (plane) => {
      await create(plane, cronTab("a", { image: "red" }));
      await create(plane, cronTab("b", { image: "blue" }));
      const list = await ask(plane, "GET", `${cronTabs}?fieldSelector=spec.image%3Dred`);
      assert.equal((list.json["items"] as AnyObject[]).length, 1);
      const other = await ask(plane, "GET", `${cronTabs}?fieldSelector=spec.cronSpec%3Dx`);
      assert.equal(other.status, 400);
      const watching = await watch(plane, `${cronTabs}?watch=1&fieldSelector=spec.image%3Dblue`);
      assert.deepEqual(
        watching.events().map(({ object }) => object.metadata?.name),
        ["b"],
      );
      watching.close();
    }),
  );

  test(
    "is found by discovery, and its kind and scope are what the path says",
    withCronTabs({ subresources: { status: {} } }, async (plane) => {
      const { json } = await ask(plane, "GET", "/apis/stable.example.com/v1");
      const resources = json["resources"] as { name: string; shortNames?: string[] }[];
      assert.deepEqual(
        resources.map((resource) => resource.name),
        ["crontabs", "crontabs/status"],
      );
      assert.deepEqual(resources[0]?.shortNames, ["ct"]);
      assert.equal((await ask(plane, "GET", "/apis/stable.example.com/v1/crontabs/a")).status, 404);
      assert.equal((await ask(plane, "GET", "/apis/stable.example.com/v1/crontabs")).status, 200);
    }),
  );
});

describe("versions of one definition", () => {
  const old = {
    name: "v1beta1",
    served: true,
    storage: false,
    deprecated: true,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: { cronSpec: { type: "string" } } } },
      },
    },
  };

  async function defineBoth(plane: CustomPlane): Promise<void> {
    const one = cronTabDefinition();
    const { versions } = one["spec"] as { versions: object[] };
    await define(plane, cronTabDefinition({}, { versions: [...versions, old] }));
  }

  test("show one object, each as its schema has it, and the old one warns", () =>
    withCustomPlane(async (plane) => {
      await defineBoth(plane);
      await create(plane, cronTab("a", { cronSpec: "x", replicas: 3 }));
      const beta = "/apis/stable.example.com/v1beta1/namespaces/default/crontabs";
      const shown = await ask(plane, "GET", `${beta}/a`);
      assert.equal(shown.json.apiVersion, "stable.example.com/v1beta1");
      assert.deepEqual(spec(shown.json), { cronSpec: "x" });
      assert.deepEqual(shown.headers["warning"], [
        '299 - "stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab"',
      ]);
      const body = { ...cronTab("b", { cronSpec: "y" }), apiVersion: "stable.example.com/v1beta1" };
      const made = await ask(plane, "POST", beta, { body });
      assert.equal(made.status, 201, made.text);
      const stored = await ask(plane, "GET", `${cronTabs}/b`);
      assert.deepEqual(spec(stored.json), { cronSpec: "y", image: "busybox" });
      const list = await ask(plane, "GET", beta);
      assert.deepEqual(
        (list.json["items"] as AnyObject[]).map((item) => spec(item)),
        [{ cronSpec: "x" }, { cronSpec: "y" }],
      );
    }));
});

describe("a changed definition", () => {
  test(
    "is in force with the answer to its change: defaults on read, fields gone, watches ended",
    withCronTabs({}, async (plane) => {
      await create(plane, cronTab("a"));
      const watching = await watch(plane, `${cronTabs}?watch=1`);
      const { json } = await ask(plane, "GET", definitionPath);
      const next = structuredClone(json) as unknown as {
        spec: {
          versions: {
            schema: {
              openAPIV3Schema: { properties: { spec: { properties: Record<string, unknown> } } };
            };
          }[];
        };
      };
      const properties = next.spec.versions[0]?.schema.openAPIV3Schema.properties.spec.properties;
      assert.ok(properties);
      delete properties["cronSpec"];
      properties["added"] = { type: "string", default: "new" };
      const put = await ask(plane, "PUT", definitionPath, { body: next });
      assert.equal(put.status, 200, put.text);
      assert.equal(watching.ended, true);
      const shown = await ask(plane, "GET", `${cronTabs}/a`);
      assert.deepEqual(spec(shown.json), { image: "busybox", added: "new" });
      const list = await ask(plane, "GET", cronTabs);
      assert.deepEqual(spec((list.json["items"] as AnyObject[])[0] ?? {}), spec(shown.json));
    }),
  );
});
