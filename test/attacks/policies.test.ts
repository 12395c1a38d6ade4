/** Admission policies of hostile or careless writers. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  constraints,
  openPolicyWorld,
  policies,
  policy,
  type PolicyWorld,
} from "../conformance/policy-world.ts";
import { configMap } from "../conformance/webhook-world.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const everything = {
  resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] }],
};
const secondsMost = 5;

describe("a policy that reaches too far", () => {
  let world: PolicyWorld;
  before(async () => {
    world = await openPolicyWorld();
  });
  after(() => world.stop());

  async function answerUnder(
    spec: object,
    body: object,
    binding: object = {},
  ): Promise<Awaited<ReturnType<PolicyWorld["create"]>>> {
    await world.put("validating", "hostile", spec, binding);
    const answer = await world.create(`${maps}?dryRun=All`, body);
    await world.remove("validating", "hostile");
    return answer;
  }

  const long = "[0,1,2,3,4,5,6,7,8,9]";
  const nested = `${`${long}.all(x, `.repeat(8)}true${")".repeat(8)}`;
  for (const [name, expression] of [
    ["counts to a hundred million", nested],
    [
      "repeats a text",
      "'x'.replace('x', object.data.big).replace('a', object.data.big).size() > 0",
    ],
    ["matches a slow pattern", "object.data.big.matches('(a*)*(a*)*(a*)*b')"],
  ] as const) {
    test(`an expression that ${name} ends by its budget`, async () => {
      const body = configMap("big", { big: "a".repeat(200_000) });
      const before = process.cpuUsage();
      const answer = await answerUnder({ validations: [{ expression }] }, body);
      const { user, system } = process.cpuUsage(before);
      const seconds = (user + system) / 1e6;
      assert.ok(answer.status === 422 || answer.status === 201, answer.text);
      assert.ok(seconds < secondsMost, `${seconds} s of CPU`);
    });
  }

  test("expensive expressions share one budget, and running out denies or lets pass as failurePolicy says", async () => {
    const costly = `${`${long}.all(x, `.repeat(5)}true${")".repeat(5)}`;
    const validations = Array.from({ length: 40 }, (_, at) => ({
      expression: `${costly} || ${at} > 0`,
    }));
    const refused = await answerUnder({ validations }, configMap("x"));
    assert.equal(refused.status, 422);
    assert.match(
      refused.text,
      /validation failed due to running out of cost budget, no further validation rules will be run/,
    );
    const ignored = await answerUnder({ validations, failurePolicy: "Ignore" }, configMap("x"));
    assert.equal(ignored.status, 201);
  });

  test("a message with line breaks or of many bytes is not shown", async () => {
    const message = "must be good";
    for (const messageExpression of [
      "'Warning: x\\r\\nSet-Cookie: a=b\\n'+'c'",
      "string(object.data.big)",
      "1 / 0 == 1 ? 'a' : 'b'",
    ]) {
      const body = configMap("x", { big: "a".repeat(6_000) });
      const validations = [{ expression: "false", message, messageExpression }];
      const { text } = await answerUnder({ validations }, body);
      assert.match(text, /denied request: must be good"/);
    }
  });

  test("audit annotations are bounded in number, and each in bytes", async () => {
    const annotation = (at: number): object => ({ key: `k${at}`, valueExpression: "'x'" });
    const auditAnnotations = Array.from({ length: 21 }, (_, at) => annotation(at));
    const many = policy("validating", "many", { auditAnnotations });
    const refused = await world.create(policies("validating"), many);
    assert.equal(refused.status, 422);
    assert.match(refused.text, /must not have more than 20 auditAnnotations/);
    const valueExpression = "string(object.data.big)";
    const big = { auditAnnotations: [{ key: "big", valueExpression }] };
    const answer = await answerUnder(big, configMap("x", { big: "é".repeat(100_000) }));
    assert.equal(answer.status, 201);
  });

  test("a parameter of another namespace is read only where the binding names that namespace", async () => {
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } };
    assert.equal((await world.create("/api/v1/namespaces", body)).status, 201);
    const secret = configMap("param", { word: "sesame" });
    await world.create("/api/v1/namespaces/other/configmaps", secret);
    const spec = {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      validations: [{ expression: "object.data.word == params.data.word" }],
    };
    const map = configMap("x", { word: "sesame" });
    const paramRef = { name: "param", parameterNotFoundAction: "Deny" };
    const own = await answerUnder(spec, map, { paramRef });
    assert.match(
      own.text,
      /no params found for policy binding with `Deny` parameterNotFoundAction/,
    );
    const named = await answerUnder(spec, map, { paramRef: { ...paramRef, namespace: "other" } });
    assert.equal(named.status, 201, named.text);
  });

  test("a policy about everything denies neither its own removal nor reviews", async () => {
    const spec = { matchConstraints: everything, validations: [{ expression: "false" }] };
    await world.put("validating", "all", spec);
    assert.equal((await world.create(maps, configMap("x"))).status, 422);
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "more" } };
    assert.equal((await world.create("/api/v1/namespaces", namespace)).status, 422);
    const review = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { verb: "get", resource: "pods" } },
    };
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert.equal((await world.create(path, review)).status, 201);
    await world.remove("validating", "all");
    assert.equal((await world.create(`${maps}?dryRun=All`, configMap("x"))).status, 201);
  });

  test("an object without a namespace has none to ask about", async () => {
    const group = "rbac.authorization.k8s.io";
    const matchConstraints = constraints(["clusterroles"], group);
    const validations = [{ expression: "namespaceObject == null && !has(request.namespace)" }];
    await world.put("validating", "cluster", { matchConstraints, validations });
    const body = { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: "alone" } };
    const answer = await world.create(`/apis/${group}/v1/clusterroles?dryRun=All`, body);
    await world.remove("validating", "cluster");
    assert.equal(answer.status, 201, answer.text);
  });

  test("a mutation changes neither the kind nor the name, nor makes an invalid object", async () => {
    const patches = [
      "[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]",
      "[JSONPatch{op: 'replace', path: '/metadata/namespace', value: 'kube-system'}]",
      "[JSONPatch{op: 'add', path: '/data', value: 5}]",
      "[JSONPatch{op: 'add', path: '/data', value: {'no key': 'x'}}]",
    ];
    for (const expression of patches) {
      const mutations = [{ patchType: "JSONPatch", jsonPatch: { expression } }];
      await world.put("mutating", "reach", { mutations });
      const answer = await world.create(maps, configMap("reached"));
      await world.remove("mutating", "reach");
      assert.ok(answer.status >= 400, `${expression}: ${answer.text}`);
      assert.equal((await world.ask("GET", `${maps}/reached`)).status, 404);
    }
  });

  test("a thousand policies that do not match do not slow a write down", async () => {
    const matchConstraints = constraints(["secrets"]);
    for (let at = 0; at < 1_000; at++) {
      const spec = { matchConstraints, validations: [{ expression: "false" }] };
      await world.put("validating", `many-${at}`, spec);
    }
    assert.equal((await world.create(`${maps}?dryRun=All`, configMap("beside"))).status, 201);
    const start = process.hrtime.bigint();
    for (let at = 0; at < 50; at++) {
      assert.equal((await world.create(`${maps}?dryRun=All`, configMap("beside"))).status, 201);
    }
    const milliseconds = Number(process.hrtime.bigint() - start) / 1e6 / 50;
    assert.ok(milliseconds < 50, `${milliseconds} ms a write`);
  });
});
