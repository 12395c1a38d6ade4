/** Conversion webhooks: upstream's conformance behaviours, and what else they promise. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import {
  collection,
  type ConversionWorld,
  custom,
  definitionName,
  definitionsPath,
  openConversionWorld,
  versions,
} from "./conversion-world.ts";
import { bindingOf, bindings, policies, policy } from "./policy-world.ts";

const name = "[sig-api-machinery] CustomResourceConversionWebhook [Privileged:ClusterAdmin]";

/** A world for one test: each changes its definition. */
async function inWorld(f: (world: ConversionWorld) => Promise<void>): Promise<void> {
  const world = await openConversionWorld();
  try {
    await f(world);
  } finally {
    await world.stop();
  }
}

describe(name, () => {
  test("should be able to convert from CR v1 to CR v2", () =>
    inWorld(async (world) => {
      await world.define();
      const body = custom("v1", "cr-instance-1");
      const created = await world.create(collection("v1"), body);
      assert.equal(created.status, 201, created.text);
      const read = await world.ask("GET", `${collection("v2")}/cr-instance-1`);
      assert.equal(read.status, 200, read.text);
      const { host, port, hostPort, apiVersion } = read.json as AnyObject & Record<string, unknown>;
      assert.deepEqual(
        { host, port, hostPort, apiVersion },
        { host: "local", port: "80", hostPort: undefined, apiVersion: "stable.example.com/v2" },
      );
    }));

  test("should be able to convert a non homogeneous list of CRs", () =>
    inWorld(async (world) => {
      await world.define();
      await world.create(collection("v1"), custom("v1", "cr-instance-1"));
      const patch = { spec: { versions: versions("v2") } };
      const path = `${definitionsPath}/${definitionName}`;
      const type = "application/merge-patch+json";
      const changed = await world.ask("PATCH", path, { body: patch, type });
      assert.equal(changed.status, 200, changed.text);
      await world.create(collection("v2"), custom("v2", "cr-instance-2"));
      for (const version of ["v1", "v2"]) {
        const { json, text, status } = await world.ask("GET", collection(version));
        assert.equal(status, 200, text);
        const { items } = json as unknown as { readonly items: readonly AnyObject[] };
        const own = version === "v1" ? "hostPort" : "host";
        assert.deepEqual(
          items.map((item) => [item.apiVersion, item[own] !== undefined]),
          Array.from({ length: 2 }, () => [`stable.example.com/${version}`, true]),
        );
      }
    }));
});

const v1 = collection("v1");
const v2 = collection("v2");
const merge = "application/merge-patch+json";

describe("a conversion webhook", () => {
  let world: ConversionWorld;
  before(async () => {
    world = await openConversionWorld();
    await world.define();
  });
  after(() => world.stop());

  /** How often the webhook was asked while `f` ran, and for how many objects. */
  async function asked(f: () => Promise<unknown>): Promise<readonly number[]> {
    const before = world.questions().length;
    await f();
    return world
      .questions()
      .slice(before)
      .map(({ objects }) => objects.length);
  }

  test("is not called for requests in the stored version", async () => {
    const calls = await asked(async () => {
      const made = await world.create(v1, custom("v1", "plain"));
      assert.equal(made.status, 201, made.text);
      await world.ask("GET", `${v1}/plain`);
      await world.ask("GET", v1);
    });
    assert.deepEqual(calls, []);
  });

  test("converts a list once, however often it is asked for", async () => {
    for (let i = 0; i < 5; i++) await world.create(v1, custom("v1", `listed-${i}`));
    const { length } = (await list(world, v1)).items;
    assert.deepEqual(await asked(() => list(world, v2)), [length]);
    assert.deepEqual(await asked(() => list(world, v2)), []);
    assert.deepEqual(await asked(() => world.ask("GET", `${v2}/listed-0`)), []);
    await world.create(v1, custom("v1", "listed-5"));
    assert.deepEqual(await asked(() => list(world, v2)), [1]);
  });

  test("converts what is written in another version, and the answer back", async () => {
    const made = await world.create(v2, custom("v2", "written"));
    assert.equal(made.status, 201, made.text);
    assert.equal((made.json as Fields)["host"], "local");
    const stored = (await world.ask("GET", `${v1}/written`)).json as Fields;
    assert.deepEqual([stored["hostPort"], stored["host"]], ["local:80", undefined]);
    const patched = await patch(world, `${v2}/written`, { port: "81" }, merge);
    assert.equal(patched.status, 200, patched.text);
    assert.equal((patched.json as Fields)["port"], "81");
    const status = await patch(world, `${v2}/written/status`, { status: { seen: 1 } }, merge);
    assert.deepEqual((status.json as Fields)["status"], { seen: 1 }, status.text);
    const { resourceVersion } = status.json.metadata ?? {};
    const put = await world.ask("PUT", `${v2}/written`, {
      body: {
        ...custom("v2", "written", { port: "82" }),
        metadata: { name: "written", resourceVersion },
      },
    });
    assert.equal(put.status, 200, put.text);
    const end = (await world.ask("GET", `${v1}/written`)).json as Fields;
    assert.deepEqual([end["hostPort"], end["status"]], ["local:82", { seen: 1 }]);
  });

  test("a dry run shows what it would have written, and spoils no later answer", async () => {
    await world.create(v1, custom("v1", "dry"));
    const tried = await patch(world, `${v2}/dry?dryRun=All`, { port: "99" }, merge);
    assert.equal((tried.json as Fields)["port"], "99", tried.text);
    assert.equal(((await world.ask("GET", `${v2}/dry`)).json as Fields)["port"], "80");
    const made = await world.create(`${v2}?dryRun=All`, custom("v2", "never"));
    assert.deepEqual([made.status, (made.json as Fields)["port"]], [201, "80"], made.text);
    assert.equal((await world.ask("GET", `${v2}/never`)).status, 404);
  });

  test("managers of one version keep their fields when another version is applied", async () => {
    const apply = "application/apply-patch+yaml";
    const one = await patch(world, `${v1}/owned?fieldManager=one`, custom("v1", "owned"), apply);
    assert.equal(one.status, 201, one.text);
    const body = { apiVersion: "stable.example.com/v2", kind: "E2eTest", status: { seen: 1 } };
    const two = await patch(
      world,
      `${v2}/owned?fieldManager=two`,
      { ...body, metadata: { name: "owned", labels: { a: "b" } } },
      apply,
    );
    assert.equal(two.status, 200, two.text);
    const owners = two.json.metadata?.managedFields ?? [];
    const entry = owners.find(({ manager }) => manager === "one");
    assert.deepEqual(Object.keys(entry?.fieldsV1 ?? {}), ["f:hostPort"]);
    const stolen = { ...custom("v2", "owned"), host: "other" };
    const conflict = await patch(world, `${v2}/owned?fieldManager=two`, stolen, apply);
    assert.equal(conflict.status, 409, conflict.text);
    assert.match(conflict.text, /conflict with \\"one\\": \.hostPort/);
  });

  test("admission webhooks of one version see and patch what is written in another", async () => {
    const seen: (AnyObject | null)[] = [];
    world.hooks.on("/admit", ({ object, oldObject }) => {
      seen.push(object, oldObject);
      const operations = [
        { op: "add", path: "/hostPort", value: "patched:1" },
        { op: "add", path: "/metadata/labels", value: { by: "webhook" } },
      ];
      const patched = Buffer.from(JSON.stringify(operations)).toString("base64");
      return { allowed: true, patchType: "JSONPatch", patch: patched };
    });
    const rules = [
      {
        operations: ["CREATE", "UPDATE"],
        apiGroups: ["stable.example.com"],
        apiVersions: ["v1"],
        resources: ["e2e-tests"],
      },
    ];
    await world.register("mutating", "equivalent", "/admit", { rules });
    const made = await world.create(v2, custom("v2", "admitted"));
    assert.equal(made.status, 201, made.text);
    const { host, port, metadata } = made.json as AnyObject & Fields;
    assert.deepEqual([host, port, metadata?.labels], ["patched", "1", { by: "webhook" }]);
    const again = await patch(world, `${v2}/admitted`, { port: "2" }, merge);
    assert.equal(again.status, 200, again.text);
    await world.unregister("mutating", "equivalent");
    const versions = seen.map((object) => [object?.apiVersion, object?.["hostPort"]]);
    const own = "stable.example.com/v1";
    assert.deepEqual(versions, [
      [own, "local:80"],
      [undefined, undefined],
      [own, "patched:2"],
      [own, "patched:1"],
    ]);
  });

  test("a policy reads its parameters in the version that it names", async () => {
    await world.create(
      v1,
      custom("v1", "param", { metadata: { name: "param", labels: { a: "b" } } }),
    );
    const paramKind = { apiVersion: "stable.example.com/v2", kind: "E2eTest" };
    const expression = "has(params.host) && params.host == object.data.host";
    const spec = { paramKind, validations: [{ expression }], failurePolicy: "Fail" };
    const paramRefs = [
      { name: "param", namespace: "default", parameterNotFoundAction: "Deny" },
      { selector: { matchLabels: { a: "b" } }, parameterNotFoundAction: "Deny" },
    ];
    for (const paramRef of paramRefs) {
      const bodies = [
        policy("validating", "by-host", spec),
        bindingOf("validating", "by-host", { paramRef }),
      ];
      for (const [at, body] of [policies("validating"), bindings("validating")].map(
        (path, index) => [path, bodies[index] ?? {}] as const,
      )) {
        const made = await world.create(at, body);
        assert.equal(made.status, 201, made.text);
      }
      const write = (host: string): ReturnType<ConversionWorld["ask"]> =>
        world.ask("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {
          body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { host } },
        });
      const refused = await write("elsewhere");
      assert.equal(refused.status, 422, refused.text);
      const asked = world.questions().length;
      assert.equal((await write("local")).status, 201);
      assert.equal(world.questions().length, asked, "what was converted is kept");
      for (const path of [bindings("validating"), policies("validating")]) {
        await world.ask("DELETE", `${path}/by-host`);
      }
    }
  });

  test("a whole collection is deleted in any version", async () => {
    const { length } = (await list(world, v1)).items;
    assert.ok(length > 0);
    const deleted = await world.ask("DELETE", v2);
    assert.equal(deleted.status, 200, deleted.text);
    assert.equal((await list(world, v1)).items.length, 0);
  });
});

type Fields = Readonly<Record<string, unknown>>;

function patch(world: ConversionWorld, path: string, body: object, type: string) {
  return world.ask("PATCH", path, { body, type });
}

async function list(
  world: ConversionWorld,
  path: string,
): Promise<{ readonly items: readonly AnyObject[] }> {
  const { status, text, json } = await world.ask("GET", path);
  assert.equal(status, 200, text);
  return json as unknown as { readonly items: readonly AnyObject[] };
}
