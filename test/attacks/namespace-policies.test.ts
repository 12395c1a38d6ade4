/** A Namespace is in the namespace that it is: what policies and webhooks see of it, and what they look up by it. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { StaticTokens } from "#auth/token-file.ts";
import {
  constraints,
  openPolicyWorld,
  policies,
  policy,
  type PolicyWorld,
} from "../conformance/policy-world.ts";
import {
  configMap,
  configuration,
  openWebhookWorld,
  pathOf,
  registration,
  rule,
  type WebhookWorld,
} from "../conformance/webhook-world.ts";

const matchConstraints = {
  resourceRules: [
    {
      apiGroups: [""],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: ["namespaces", "namespaces/status", "namespaces/finalize"],
    },
  ],
};
const ignoring = { failurePolicy: "Ignore", matchConstraints };
const staticToken = "alice-token";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

function namespace(name: string, more: object = {}): object {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, ...more } };
}

describe("a policy about Namespaces", () => {
  let world: PolicyWorld;
  before(async () => {
    world = await openPolicyWorld({
      staticTokens: new StaticTokens(`${staticToken},alice,u1,"devs"\n`),
    });
  });
  after(() => world.stop());

  async function under(
    spec: object,
    binding: object,
    method: string,
    path: string,
    sent: { readonly body?: object; readonly type?: string; readonly token?: string } = {},
  ): Promise<string> {
    await world.put("validating", "about", { ...ignoring, ...spec }, binding);
    const answer = await world.ask(method, path, sent);
    await world.remove("validating", "about");
    return answer.status < 300 ? "allowed" : answer.text;
  }

  const itself = { validations: [{ expression: "!request.namespace.startsWith('prod-')" }] };
  const denied = /denied request: failed expression: !request\.namespace\.startsWith/;

  test("sees its name as request.namespace, when it is made, changed and deleted", async () => {
    await world.create("/api/v1/namespaces", namespace("prod-seen"));
    const at = "/api/v1/namespaces/prod-seen";
    const type = "application/merge-patch+json";
    const body = { metadata: { labels: { a: "b" } } };
    const made = { body: namespace("prod-new") };
    assert.match(await under(itself, {}, "POST", "/api/v1/namespaces", made), denied);
    assert.match(await under(itself, {}, "PATCH", at, { body, type }), denied);
    assert.match(await under(itself, {}, "PATCH", `${at}/status`, { body, type }), denied);
    const whole = { body: namespace("prod-seen", { labels: { a: "c" } }) };
    assert.match(await under(itself, {}, "PUT", at, whole), denied);
    assert.match(await under(itself, {}, "PUT", `${at}/finalize`, whole), denied);
    assert.match(await under(itself, {}, "DELETE", at), denied);
    const other = { body: namespace("test-new") };
    assert.equal(await under(itself, {}, "POST", "/api/v1/namespaces", other), "allowed");
  });

  test("sees the name that an apply creates", async () => {
    const sent = { body: namespace("prod-applied"), type: "application/apply-patch+yaml" };
    const at = "/api/v1/namespaces/prod-applied?fieldManager=m";
    assert.match(await under(itself, {}, "PATCH", at, sent), denied);
  });

  test("sees no namespaceObject, and no namespace of a name that is still to be generated", async () => {
    const none = {
      validations: [{ expression: "namespaceObject != null" }],
      failurePolicy: "Fail",
    };
    const made = { body: namespace("prod-none") };
    assert.match(
      await under(none, {}, "POST", "/api/v1/namespaces", made),
      /failed expression: namespaceObject != null/,
    );
    const metadata = { generateName: "prod-" };
    const generated = { body: { apiVersion: "v1", kind: "Namespace", metadata } };
    const unnamed = { validations: [{ expression: "!has(request.namespace)" }] };
    assert.equal(await under(unnamed, {}, "POST", "/api/v1/namespaces", generated), "allowed");
  });

  test("reads parameters of the Namespace itself", async () => {
    await world.create("/api/v1/namespaces", namespace("with-param"));
    await world.create("/api/v1/namespaces/with-param/configmaps", configMap("p", { may: "no" }));
    const spec = {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      validations: [{ expression: "params.data.may == 'yes'" }],
    };
    const binding = { paramRef: { name: "p", parameterNotFoundAction: "Allow" } };
    assert.match(
      await under(spec, binding, "DELETE", "/api/v1/namespaces/with-param"),
      /failed expression: params\.data\.may == 'yes'/,
    );
  });

  test("asks the authorizer about the Namespace in itself", async () => {
    await world.create("/api/v1/namespaces", namespace("granted"));
    const rules = [{ apiGroups: [""], resources: ["namespaces"], verbs: ["patch", "destroy"] }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "d" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }];
    const within = `${rbac}/namespaces/granted`;
    await world.create(`${within}/roles`, { metadata: { name: "d" }, rules });
    await world.create(`${within}/rolebindings`, { metadata: { name: "d" }, roleRef, subjects });
    const patch = {
      body: { metadata: { labels: { by: "alice" } } },
      type: "application/merge-patch+json",
      token: staticToken,
    };
    const asks = (verb: string): object => ({
      failurePolicy: "Fail",
      validations: [{ expression: `authorizer.requestResource.check('${verb}').allowed()` }],
    });
    const at = "/api/v1/namespaces/granted";
    assert.equal(await under(asks("destroy"), {}, "PATCH", at, patch), "allowed");
    assert.match(await under(asks("burn"), {}, "PATCH", at, patch), /failed expression/);
  });

  test("that mutates sees its name, too", async () => {
    const mutations = [
      {
        patchType: "ApplyConfiguration",
        applyConfiguration: {
          expression: "Object{metadata: Object.metadata{labels: {'of': request.namespace}}}",
        },
      },
    ];
    await world.put("mutating", "names", {
      matchConstraints: constraints(["namespaces"]),
      mutations,
    });
    const { json } = await world.create("/api/v1/namespaces", namespace("named"));
    await world.remove("mutating", "names");
    assert.equal(json.metadata?.labels?.["of"], "named");
  });

  test("is one of a cluster-scoped object by its scope", async () => {
    const scoped = (scope: string): object => ({
      matchConstraints: {
        resourceRules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["*"], scope },
        ],
      },
      validations: [{ expression: "false" }],
    });
    const made = { body: namespace("scoped") };
    const at = "/api/v1/namespaces?dryRun=All";
    assert.equal(await under(scoped("Namespaced"), {}, "POST", at, made), "allowed");
    assert.match(await under(scoped("Cluster"), {}, "POST", at, made), /failed expression: false/);
  });

  test("whose excluded names hold it lets it pass", async () => {
    const excluded = (name: string): object => ({
      matchConstraints: {
        ...matchConstraints,
        excludeResourceRules: [{ ...matchConstraints.resourceRules[0], resourceNames: [name] }],
      },
      validations: [{ expression: "false" }],
    });
    const made = { body: namespace("excluded") };
    const at = "/api/v1/namespaces?dryRun=All";
    assert.equal(await under(excluded("excluded"), {}, "POST", at, made), "allowed");
    assert.match(await under(excluded("other"), {}, "POST", at, made), /failed expression: false/);
  });

  test("is written as one of any other kind", async () => {
    const path = `${policies("validating")}?dryRun=All`;
    const { status } = await world.create(path, policy("validating", "plain", { ...itself }));
    assert.equal(status, 201);
  });
});

describe("an owner given to a Namespace", () => {
  let world: PolicyWorld;
  before(async () => {
    const plugin = "OwnerReferencesPermissionEnforcement";
    world = await openPolicyWorld({
      staticTokens: new StaticTokens(`${staticToken},alice,u1\n`),
      admissionPlugins: { enable: [plugin], disable: [] },
    });
  });
  after(() => world.stop());

  test("takes the right to delete it, which a Role of the Namespace may give", async () => {
    const statuses: number[] = [];
    for (const verbs of [["patch"], ["patch", "delete"]]) {
      const name = `owned-${verbs.length}`;
      await world.create("/api/v1/namespaces", namespace(name));
      const within = `${rbac}/namespaces/${name}`;
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" };
      const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }];
      const rules = [{ apiGroups: [""], resources: ["namespaces"], verbs }];
      await world.create(`${within}/roles`, { metadata: { name: "r" }, rules });
      await world.create(`${within}/rolebindings`, { metadata: { name: "r" }, roleRef, subjects });
      const owner = { apiVersion: "v1", kind: "Namespace", name: "default", uid: "u" };
      const patched = await world.ask("PATCH", `/api/v1/namespaces/${name}`, {
        body: { metadata: { ownerReferences: [owner] } },
        type: "application/merge-patch+json",
        token: staticToken,
      });
      statuses.push(patched.status);
    }
    assert.deepEqual(statuses, [403, 200]);
  });
});

describe("a webhook about Namespaces", () => {
  let world: WebhookWorld;
  before(async () => {
    world = await openWebhookWorld();
  });
  after(() => world.stop());

  test("is asked with its name as the namespace, by its conditions and in its review", async () => {
    world.hooks.on("/seen", () => ({ allowed: true }));
    const clientConfig = { url: world.hooks.url("/seen"), caBundle: world.hooks.caBundle };
    const hook = configuration("validating", "seen", {
      clientConfig,
      rules: [rule(["namespaces", "namespaces/status"], { operations: ["*"] })],
      matchConditions: [{ name: "own", expression: "request.namespace == 'asked'" }],
    });
    await world.create(`${registration}/${pathOf("validating")}`, hook);
    await world.create("/api/v1/namespaces", namespace("asked"));
    await world.create("/api/v1/namespaces", namespace("not-asked"));
    await world.ask("DELETE", "/api/v1/namespaces/asked");
    const seen = world.hooks.asked.map(({ operation, namespace: of }) => `${operation} ${of}`);
    assert.deepEqual(seen, ["CREATE asked", "DELETE asked"]);
  });
});
