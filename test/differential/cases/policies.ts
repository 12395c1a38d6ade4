/** Admission policies: what is refused when one is written, and what those in force answer. */
import { type AnyStep, type Case, patch, post, remove, type Suite } from "../exchange.ts";

import { policedRequests } from "./policed-requests.ts";

type Json = Readonly<Record<string, unknown>>;
type PolicyType = "Validating" | "Mutating";

const group = "/apis/admissionregistration.k8s.io/v1";
const maps = "/api/v1/namespaces/{ns}/configmaps";
/** A stock server takes up to a second until a policy is in force. */
const inForce = { waitMs: 2_500 };
const names = { only: "kubernetes.io/metadata.name" };
const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
const matchConstraints = { resourceRules: [{ ...rule, operations: ["CREATE", "UPDATE"] }] };

const policiesOf = (type: PolicyType): string => `${group}/${type.toLowerCase()}admissionpolicies`;
const bindingsOf = (type: PolicyType): string =>
  `${group}/${type.toLowerCase()}admissionpolicybindings`;

function object(kind: string, name: string, spec: Json): Json {
  return { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata: { name }, spec };
}

function validating(spec: Json, name = "wrong"): Json {
  return object("ValidatingAdmissionPolicy", name, { matchConstraints, ...spec });
}

function mutating(spec: Json, name = "wrong"): Json {
  const whole = { matchConstraints, reinvocationPolicy: "Never", ...spec };
  return object("MutatingAdmissionPolicy", name, whole);
}

function dry(type: PolicyType, specs: readonly Json[]): readonly AnyStep[] {
  const make = type === "Validating" ? validating : mutating;
  return specs.map((spec) => post(`${policiesOf(type)}?dryRun=All`, make(spec)));
}

const valid = (expression: string, rest: Json = {}): Json => ({
  validations: [{ expression, ...rest }],
});
const apply = (expression: string): Json => ({
  mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
});
const jsonPatch = (expression: string): Json => ({
  mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }],
});
const truth = valid("true");

const wrongExpressions: Case = {
  name: "expressions that do not compile",
  steps: dry("Validating", [
    valid("object.spec.replicas >"),
    valid("1 + 1"),
    valid("nothing.here"),
    valid("params.x == 1"),
    valid("request.nothing == 'a'"),
    valid("namespaceObject.metadata.managedFields == null"),
    valid("variables.missing"),
    valid(" "),
    valid("object.x ==\n  'é' +"),
    valid("true", { messageExpression: "1" }),
    valid("true", {
      messageExpression: "authorizer.path('/x').check('get').allowed() ? 'a' : 'b'",
    }),
    { variables: [{ name: "a", expression: "1" }], ...valid("variables.a == 'x'") },
    {
      variables: [
        { name: "a-b", expression: "1" },
        { name: "", expression: "" },
      ],
      ...truth,
    },
    { matchConditions: [{ name: "a", expression: "'x'" }], ...truth },
    { matchConditions: [{ name: "", expression: "" }], ...truth },
    { auditAnnotations: [{ key: "k", valueExpression: "1" }] },
  ]),
};

const wrongPolicies: Case = {
  name: "policies with wrong fields",
  steps: dry("Validating", [
    {},
    { ...truth, failurePolicy: "Maybe" },
    { ...truth, matchConstraints: {} },
    { ...truth, paramKind: { apiVersion: "a/b/c", kind: "X_Y" } },
    { ...truth, paramKind: {} },
    valid("true", { message: " ", reason: "Gone" }),
    valid("true", { message: "a\nb", messageExpression: " " }),
    {
      auditAnnotations: [
        { key: "a b", valueExpression: "'x'" },
        { key: "a b", valueExpression: "" },
      ],
    },
    {
      ...truth,
      matchConstraints: {
        resourceRules: [{ ...rule, operations: ["READ"], resourceNames: ["a", "a", "b/c"] }],
      },
    },
  ]),
};

const wrongMutations: Case = {
  name: "mutating policies with wrong fields",
  steps: dry("Mutating", [
    {},
    { mutations: [{ patchType: "Merge" }] },
    { mutations: [{ patchType: "JSONPatch" }] },
    { mutations: [{ patchType: "ApplyConfiguration", jsonPatch: { expression: "[]" } }] },
    apply("1"),
    apply("Object{spec: Other{}}"),
    jsonPatch("[1]"),
    jsonPatch("[JSONPatch{op: 1}]"),
    jsonPatch("[JSONPatch{operation: 'add'}]"),
    { ...apply("Object{}"), reinvocationPolicy: "Always" },
    {
      ...apply("Object{}"),
      matchConstraints: { resourceRules: [{ ...rule, operations: ["DELETE"] }] },
    },
  ]),
};

const wrongBindings: Case = {
  name: "bindings with wrong fields",
  steps: [
    {},
    { policyName: "P_", validationActions: ["Deny", "Warn"] },
    { policyName: "p", validationActions: ["Deny"], paramRef: {} },
    {
      policyName: "p",
      validationActions: ["Audit", "Audit", "Cry"],
      paramRef: { name: "a", selector: {}, parameterNotFoundAction: "Maybe" },
    },
  ].map((spec) =>
    post(
      `${bindingsOf("Validating")}?dryRun=All`,
      object("ValidatingAdmissionPolicyBinding", "b", spec),
    ),
  ),
};

/** In force for this case's namespace only. */
function inPlace(
  type: PolicyType,
  name: string,
  spec: Json,
  binding: Json = {},
): readonly AnyStep[] {
  const make = type === "Validating" ? validating : mutating;
  const actions = type === "Validating" ? { validationActions: ["Deny"] } : {};
  const matchResources = { namespaceSelector: { matchLabels: { [names.only]: "{ns}" } } };
  const bound = { policyName: name, ...actions, matchResources, ...binding };
  return [
    post(policiesOf(type), make(spec, name)),
    post(bindingsOf(type), object(`${type}AdmissionPolicyBinding`, name, bound)),
  ];
}

function removed(type: PolicyType, name: string): readonly AnyStep[] {
  return [remove(`${bindingsOf(type)}/${name}`), remove(`${policiesOf(type)}/${name}`)];
}

function map(name: string, data: Json, labels: Json = {}): Json {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels }, data };
}

const denied: Case = {
  name: "validations in force",
  steps: [
    ...inPlace("Validating", "diff-denies", {
      variables: [
        { name: "size", expression: "size(object.data)" },
        { name: "bad", expression: "object.data.missing" },
      ],
      validations: [
        { expression: "variables.size < 3", message: "too many" },
        {
          expression: "!has(object.data.no)",
          messageExpression: "'no is ' + object.data.no",
          reason: "Forbidden",
        },
        { expression: "!has(object.data.odd) || variables.bad == ''" },
        { expression: "!has(object.data.line)", messageExpression: "'a\\nb'", reason: "Invalid" },
        {
          expression: "!has(object.data.num) || int(object.data.num) > 0",
          reason: "RequestEntityTooLarge",
        },
      ],
    }),
    post(maps, map("many", { a: "1", b: "2", c: "3" }), inForce),
    post(maps, map("no", { no: "x" })),
    post(maps, map("odd", { odd: "x" })),
    post(maps, map("line", { line: "x" })),
    post(maps, map("num", { num: "x" })),
    post(maps, map("num", { num: "0" })),
    post(maps, map("fine", { num: "7" })),
    patch("merge", `${maps}/fine`, { data: { no: "y" } }),
    remove(`${maps}/fine`),
    ...removed("Validating", "diff-denies"),
  ],
};

const warned: Case = {
  name: "validations that warn",
  steps: [
    ...inPlace("Validating", "diff-warns", valid("false", { message: "not good" }), {
      validationActions: ["Warn"],
    }),
    post(maps, map("warned", {}), inForce),
    ...removed("Validating", "diff-warns"),
  ],
};

const parameters: Case = {
  name: "parameters",
  steps: [
    post(maps, map("max", { max: "1" })),
    ...inPlace(
      "Validating",
      "diff-params",
      {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConditions: [{ name: "not-param", expression: "request.name != 'max'" }],
        ...valid("size(object.data) <= int(params.data.max)"),
      },
      { paramRef: { name: "max", parameterNotFoundAction: "Deny" } },
    ),
    post(maps, map("two", { a: "1", b: "2" }), inForce),
    post(maps, map("one", { a: "1" })),
    remove(`${maps}/max`),
    post(maps, map("none", {}), inForce),
    ...removed("Validating", "diff-params"),
  ],
};

const mutated: Case = {
  name: "mutations in force",
  steps: [
    ...inPlace("Mutating", "diff-mutates", {
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression:
              "Object{metadata: Object.metadata{labels: {'made': 'yes'}}, data: {'added': request.operation}}",
          },
        },
        {
          patchType: "JSONPatch",
          jsonPatch: {
            expression:
              "has(object.data.drop) ? [JSONPatch{op: 'remove', path: '/data/drop'}, JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x.io/y'), value: string(size(object.data))}] : []",
          },
        },
        {
          patchType: "JSONPatch",
          jsonPatch: {
            expression:
              "has(object.data.test) ? [JSONPatch{op: 'test', path: '/data/test', value: 'good'}, JSONPatch{op: 'replace', path: '/data/test', value: 'better'}] : []",
          },
        },
        {
          patchType: "JSONPatch",
          jsonPatch: {
            expression:
              "has(object.data.lost) ? [JSONPatch{op: 'remove', path: '/data/nothing'}] : []",
          },
        },
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression: "has(object.data.wrong) ? Object{nothing: 'x'} : Object{}",
          },
        },
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression: "has(object.data.type) ? Object{metadata: Object.data{}} : Object{}",
          },
        },
      ],
    }),
    post(maps, map("plain", { a: "b" }), inForce),
    post(maps, map("drop", { drop: "b" })),
    post(maps, map("good", { test: "good" })),
    post(maps, map("bad", { test: "bad" })),
    post(maps, map("lost", { lost: "x" })),
    post(maps, map("wrong", { wrong: "x" })),
    post(maps, map("type", { type: "x" })),
    ...removed("Mutating", "diff-mutates"),
  ],
};

const webhookConditions: Case = {
  name: "matchConditions of webhooks",
  steps: ["1", "1 +", "variables.a", "params.a == 1", "request.userInfo.name == 'x'"].map(
    (expression) =>
      post(`${group}/validatingwebhookconfigurations?dryRun=All`, {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "conditions" },
        webhooks: [
          {
            name: "c.example.com",
            rules: [{ ...rule, operations: ["CREATE"] }],
            clientConfig: { url: "https://127.0.0.1:1/x" },
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
            matchConditions: [{ name: "c", expression }],
          },
        ],
      }),
  ),
};

export const policies: Suite = {
  name: "policies",
  cases: [
    wrongExpressions,
    wrongPolicies,
    wrongMutations,
    wrongBindings,
    webhookConditions,
    denied,
    warned,
    parameters,
    mutated,
    ...policedRequests,
  ],
};
