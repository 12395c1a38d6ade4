/**
 * The conformance behaviours of admission webhooks that concern custom resources and match conditions, by
 * upstream's names ([sig-api-machinery] AdmissionWebhook).
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { cronTab, cronTabDefinition, cronTabs, definitionsPath } from "#extension/testing/plane.ts";
import { deny, patch } from "#extension/testing/webhook-server.ts";
import { isEstablished } from "./conversion-world.ts";
import {
  configMap,
  configuration,
  openWebhookWorld,
  pathOf,
  registration,
  rule,
  type WebhookWorld,
} from "./webhook-world.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const merge = "application/merge-patch+json";
const name = "crontabs.stable.example.com";
const definition = `${definitionsPath}/${name}`;
const group = { apiGroups: ["stable.example.com"] };
const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };

describe("AdmissionWebhook", () => {
  let world: WebhookWorld;
  before(async () => {
    world = await openWebhookWorld();
    const body = cronTabDefinition({ subresources: { status: {}, scale } });
    assert.equal((await world.create(definitionsPath, body)).status, 201);
    for (;;) {
      const { json } = await world.ask("GET", definition);
      if (isEstablished(json)) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  after(() => world.stop());

  test("should be able to deny custom resource creation, update and deletion", async () => {
    await world.create(cronTabs, cronTab("allowed"));
    const operations = ["CREATE", "UPDATE", "DELETE"];
    const rules = [rule(["crontabs"], { ...group, operations })];
    world.hooks.on("/deny", deny("the custom resource contains unwanted data"));
    await world.register("validating", "deny", "/deny", { rules });
    const one = `${cronTabs}/allowed`;
    const answers = [
      await world.create(cronTabs, cronTab("denied")),
      await world.ask("PATCH", one, { body: { spec: { image: "x" } }, type: merge }),
      await world.ask("DELETE", one),
    ];
    await world.unregister("validating", "deny");
    for (const { status, json } of answers) {
      assert.equal(status, 400);
      assert.match(String(json["message"]), /denied the request: the custom resource contains/);
    }
    assert.equal((await world.ask("DELETE", one)).status, 200);
  });

  test("should mutate custom resource", async () => {
    for (const letter of ["a", "b"]) {
      world.hooks.on(`/${letter}`, ({ object }) => {
        const { image = "" } = (object?.["spec"] ?? {}) as { readonly image?: string };
        return patch({ op: "add", path: "/spec/image", value: `${image}-${letter}` })(
          undefined as never,
        );
      });
      await world.register("mutating", letter, `/${letter}`, {
        rules: [rule(["crontabs"], group)],
      });
    }
    const made = await world.create(cronTabs, cronTab("mutated", { image: "start" }));
    for (const letter of ["a", "b"]) await world.unregister("mutating", letter);
    assert.deepEqual(made.json["spec"], { image: "start-a-b" }, made.text);
  });

  test("should mutate custom resource with pruning", async () => {
    world.hooks.on(
      "/unknown",
      patch(
        { op: "add", path: "/spec/unknown", value: "x" },
        { op: "add", path: "/spec/replicas", value: 2 },
      ),
    );
    await world.register("mutating", "unknown", "/unknown", { rules: [rule(["crontabs"], group)] });
    const made = await world.create(cronTabs, cronTab("pruned"));
    await world.unregister("mutating", "unknown");
    assert.deepEqual(
      made.json["spec"],
      { cronSpec: "* * * * *", image: "busybox", replicas: 2 },
      made.text,
    );
  });

  test("should mutate custom resource with different stored version", async () => {
    await world.create(cronTabs, cronTab("old"));
    const { spec } = cronTabDefinition() as AnyObject & {
      readonly spec: { readonly versions: readonly object[] };
    };
    const [v1 = {}] = spec.versions;
    const versions = [
      { ...v1, storage: false },
      { ...v1, name: "v2", storage: true },
    ];
    const changed = await world.ask("PATCH", definition, {
      body: { spec: { versions } },
      type: merge,
    });
    assert.equal(changed.status, 200, changed.text);
    world.hooks.on("/label", patch({ op: "add", path: "/metadata/labels", value: { by: "hook" } }));
    const rules = [rule(["crontabs"], { ...group, apiVersions: ["v1", "v2"] })];
    await world.register("mutating", "label", "/label", { rules });
    const body = { spec: { image: "y" } };
    const answer = await world.ask("PATCH", `${cronTabs}/old`, { body, type: merge });
    await world.unregister("mutating", "label");
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.apiVersion, "stable.example.com/v1");
    assert.deepEqual(answer.json.metadata?.labels, { by: "hook" });
    const back = {
      spec: {
        versions: [
          { ...v1, subresources: { status: {}, scale } },
          { ...v1, name: "v2", storage: false },
        ],
      },
    };
    assert.equal((await world.ask("PATCH", definition, { body: back, type: merge })).status, 200);
  });

  test("should deny crd creation", async () => {
    const rules = [
      rule(["customresourcedefinitions"], {
        apiGroups: ["apiextensions.k8s.io"],
        operations: ["CREATE"],
      }),
    ];
    world.hooks.on("/crd", deny("the crd contains unwanted label"));
    await world.register("validating", "crd", "/crd", { rules });
    const names = { plural: "others", singular: "other", kind: "Other" };
    const body = {
      ...cronTabDefinition({}, { names }),
      metadata: { name: "others.stable.example.com" },
    };
    const answer = await world.create(definitionsPath, body);
    await world.unregister("validating", "crd");
    assert.equal(answer.status, 400);
    assert.match(
      String(answer.json["message"]),
      /denied the request: the crd contains unwanted label/,
    );
  });

  test("should reject mutating webhook configurations with invalid match conditions", async () => {
    const clientConfig = { url: world.hooks.url("/x"), caBundle: world.hooks.caBundle };
    const matchConditions = [{ name: "bad", expression: "... [] bad expression" }];
    const body = configuration("mutating", "bad", { clientConfig, matchConditions });
    const answer = await world.create(`${registration}/${pathOf("mutating")}`, body);
    assert.equal(answer.status, 422, answer.text);
    assert.match(String(answer.json["message"]), /compilation failed/);
  });

  test("should be able to create and update mutating webhook configurations with match conditions", async () => {
    const conditions = (expression: string) => [{ name: "some", expression }];
    const first = { matchConditions: conditions("object.metadata.name == 'a'") };
    await world.register("mutating", "conditions", "/x", first);
    const path = `${registration}/${pathOf("mutating")}/conditions`;
    const { json } = await world.ask("GET", path);
    const [hook] = json["webhooks"] as unknown as readonly object[];
    const body = {
      webhooks: [{ ...hook, matchConditions: conditions("object.metadata.name == 'b'") }],
    };
    const answer = await world.ask("PATCH", path, { body, type: merge });
    await world.unregister("mutating", "conditions");
    assert.equal(answer.status, 200, answer.text);
  });

  test("should mutate everything except 'skip-me' configmaps", async () => {
    const matchConditions = [{ name: "skip", expression: "object.metadata.name != 'skip-me'" }];
    world.hooks.on("/data", patch({ op: "add", path: "/data", value: { mutated: "yes" } }));
    await world.register("mutating", "data", "/data", { matchConditions });
    const [taken, skipped] = [
      await world.create(maps, configMap("taken", { a: "b" })),
      await world.create(maps, configMap("skip-me", { a: "b" })),
    ];
    await world.unregister("mutating", "data");
    assert.deepEqual(taken.json["data"], { mutated: "yes" });
    assert.deepEqual(skipped.json["data"], { a: "b" });
  });

  test("a webhook on the scale of a custom resource gets a Scale, and may change it", async () => {
    await world.create(cronTabs, cronTab("scaled", { replicas: 1 }));
    world.hooks.on("/scale", patch({ op: "replace", path: "/spec/replicas", value: 3 }));
    const rules = [rule(["crontabs/scale"], group)];
    await world.register("mutating", "scale", "/scale", { rules });
    const body = { spec: { replicas: 2 } };
    const answer = await world.ask("PATCH", `${cronTabs}/scaled/scale`, { body, type: merge });
    await world.unregister("mutating", "scale");
    const asked = world.hooks.asked.at(-1);
    assert.deepEqual(asked?.["kind"], { group: "autoscaling", version: "v1", kind: "Scale" });
    assert.equal(asked?.object?.apiVersion, "autoscaling/v1");
    assert.equal(asked?.object?.kind, "Scale");
    assert.deepEqual(asked?.object?.["spec"], { replicas: 2 });
    assert.deepEqual(asked?.oldObject?.["spec"], { replicas: 1 });
    assert.deepEqual(answer.json["spec"], { replicas: 3 }, answer.text);
  });
});
