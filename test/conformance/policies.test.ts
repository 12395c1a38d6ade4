/**
 * The conformance behaviours of admission policies, by upstream's names ([sig-api-machinery]
 * ValidatingAdmissionPolicy, MutatingAdmissionPolicy).
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  constraints,
  deployment,
  openPolicyWorld,
  policies,
  policy,
  type PolicyWorld,
} from "./policy-world.ts";
import { configMap } from "./webhook-world.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const ofDeployments = { matchConstraints: constraints(["deployments"], "apps") };

describe("ValidatingAdmissionPolicy", () => {
  let world: PolicyWorld;
  before(async () => {
    world = await openPolicyWorld();
  });
  after(() => world.stop());

  test("should validate against a Deployment", async () => {
    await world.put("validating", "replicas", {
      ...ofDeployments,
      validations: [
        {
          expression: "object.spec.replicas > 1",
          messageExpression: "'wants more than 1 replica, got ' + string(object.spec.replicas)",
        },
      ],
    });
    const denied = await world.create(deployments, deployment("one", 1));
    assert.equal(denied.status, 422, denied.text);
    assert.equal(
      denied.json["message"],
      "deployments.apps \"one\" is forbidden: ValidatingAdmissionPolicy 'replicas' with binding 'replicas' denied request: wants more than 1 replica, got 1",
    );
    assert.equal(denied.json["reason"], "Invalid");
    assert.equal((await world.create(deployments, deployment("two", 2))).status, 201);
    const type = "application/merge-patch+json";
    const path = `${deployments}/two`;
    const shrunk = await world.ask("PATCH", path, { body: { spec: { replicas: 0 } }, type });
    assert.equal(shrunk.status, 422);
    const metrics = await world.ask("GET", "/metrics");
    assert.match(
      metrics.text,
      /apiserver_validating_admission_policy_check_total\{policy="replicas",policy_binding="replicas",error_type="invalid_error",enforcement_action="deny"\} 2/,
    );
    await world.remove("validating", "replicas");
    assert.equal((await world.create(deployments, deployment("one", 1))).status, 201);
  });

  test("should allow expressions to refer variables.", async () => {
    await world.put("validating", "variables", {
      ...ofDeployments,
      variables: [
        { name: "replicas", expression: "object.spec.replicas" },
        { name: "oddReplicas", expression: "variables.replicas % 2 == 1" },
      ],
      validations: [
        { expression: "variables.replicas > 1" },
        { expression: "variables.oddReplicas", message: "must be odd" },
      ],
    });
    const few = await world.create(deployments, deployment("v1", 1));
    assert.match(few.text, /denied request: failed expression: variables\.replicas > 1"/);
    const even = await world.create(deployments, deployment("v4", 4));
    assert.match(even.text, /denied request: must be odd"/);
    assert.equal((await world.create(deployments, deployment("v3", 3))).status, 201);
    await world.remove("validating", "variables");
  });

  test("params, namespaces and the authorizer can be asked", async () => {
    await world.create(maps, configMap("limits", { max: "2" }));
    await world.put(
      "validating",
      "params",
      {
        ...ofDeployments,
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConditions: [{ name: "named", expression: "request.name.startsWith('p')" }],
        validations: [
          { expression: "object.spec.replicas <= int(params.data.max)", reason: "Forbidden" },
          { expression: "namespaceObject.metadata.name == request.namespace" },
          { expression: "authorizer.requestResource.check('delete').allowed()" },
        ],
      },
      { paramRef: { name: "limits", parameterNotFoundAction: "Deny" } },
    );
    const denied = await world.create(deployments, deployment("p3", 3));
    assert.equal(denied.status, 403, denied.text);
    assert.match(
      denied.text,
      /failed expression: object\.spec\.replicas <= int\(params\.data\.max\)/,
    );
    const within = await world.create(deployments, deployment("p2", 2));
    assert.equal(within.status, 201, within.text);
    assert.equal((await world.create(deployments, deployment("other", 3))).status, 201);
    await world.ask("DELETE", `${maps}/limits`);
    const without = await world.create(deployments, deployment("p1", 1));
    assert.match(
      without.text,
      /failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction/,
    );
    await world.remove("validating", "params");
  });

  test("actions Warn and Audit let the request through", async () => {
    const validations = [{ expression: "false", message: "never" }];
    const binding = { validationActions: ["Warn", "Audit"] };
    await world.put("validating", "warns", { validations }, binding);
    const warned = await world.create(maps, configMap("warned"));
    assert.equal(warned.status, 201);
    assert.match(
      warned.warnings,
      /Validation failed for ValidatingAdmissionPolicy 'warns' with binding 'warns': never/,
    );
    await world.remove("validating", "warns");
  });

  test("should support ValidatingAdmissionPolicy API operations", async () => {
    const body = policy("validating", "operations", { validations: [{ expression: "true" }] });
    assert.equal((await world.create(policies("validating"), body)).status, 201);
    const path = `${policies("validating")}/operations`;
    const type = "application/merge-patch+json";
    const patched = await world.ask("PATCH", path, {
      body: { metadata: { labels: { a: "b" } } },
      type,
    });
    assert.equal(patched.status, 200);
    const list = await world.ask("GET", `${policies("validating")}?labelSelector=a%3Db`);
    assert.equal((list.json["items"] as readonly object[]).length, 1);
    assert.equal((await world.ask("DELETE", path)).status, 200);
  });
});

describe("MutatingAdmissionPolicy", () => {
  let world: PolicyWorld;
  before(async () => {
    world = await openPolicyWorld();
  });
  after(() => world.stop());

  test("should be able to mutate a Deployment by ApplyConfiguration", async () => {
    const expression =
      "Object{metadata: Object.metadata{labels: {'added': request.name}}, spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{initContainers: [Object.spec.template.spec.initContainers{name: 'mesh', image: 'proxy'}]}}}}";
    const applyConfiguration = { expression };
    await world.put("mutating", "applied", {
      ...ofDeployments,
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration }],
    });
    const created = await world.create(deployments, deployment("meshed", 1));
    assert.equal(created.status, 201, created.text);
    assert.equal(created.json.metadata?.labels?.["added"], "meshed");
    assert.match(created.text, /"initContainers":\[\{[^[]*"name":"mesh"/);
    assert.match(created.text, /"containers":\[\{[^[]*"name":"c"/);
    await world.remove("mutating", "applied");
  });

  test("should be able to mutate a ConfigMap by JSONPatch", async () => {
    const expression =
      "[JSONPatch{op: 'test', path: '/data/a', value: 'b'}, JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}, JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('x.io/y'), value: 'z'}]";
    await world.put("mutating", "patched", {
      mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }],
    });
    const created = await world.create(maps, configMap("patched", { a: "b" }));
    assert.equal(created.status, 201, created.text);
    assert.deepEqual(created.json.metadata?.annotations, { "x.io/y": "z" });
    const untested = await world.create(maps, configMap("untested", { a: "c" }));
    assert.equal(untested.status, 201, untested.text);
    assert.equal(untested.json.metadata?.annotations, undefined);
    await world.remove("mutating", "patched");
  });
});
