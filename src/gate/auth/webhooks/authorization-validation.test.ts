/** AuthorizationConfiguration: what is refused, in upstream's words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readAuthorization } from "../configuration/authorization.ts";
import { ConfigurationError } from "../configuration/shape.ts";
import { compileAuthorization } from "./authorization-validation.ts";

const head = {
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthorizationConfiguration",
};
const connectionInfo = { type: "KubeConfigFile", kubeConfigFile: "/kc.yaml" };
const webhook = {
  timeout: "3s",
  subjectAccessReviewVersion: "v1",
  failurePolicy: "Deny",
  connectionInfo,
};

function compile(file: unknown) {
  return compileAuthorization(readAuthorization(file), (path) => {
    if (path === "/tmp") return "must be a regular file";
    return path === "/kc.yaml"
      ? undefined
      : `error loading file: stat ${path}: no such file or directory`;
  });
}

function faultOf(authorizers: unknown, more: object = {}): string | undefined {
  try {
    compile({ ...head, authorizers, ...more });
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}

test("times that are absent are upstream's, and answers that are not to be remembered have none", () => {
  const never = { ...webhook, cacheAuthorizedRequests: false, cacheUnauthorizedRequests: false };
  const [first, second, third] = compile({
    ...head,
    authorizers: [
      { type: "Webhook", name: "a", webhook },
      { type: "Webhook", name: "b", webhook: { ...never, failurePolicy: "NoOpinion" } },
      { type: "RBAC", name: "rbac" },
    ],
  });
  assert.deepEqual(first, {
    type: "Webhook",
    name: "a",
    kubeConfigFile: "/kc.yaml",
    timeoutMs: 3_000,
    options: {
      name: "a",
      version: "v1",
      authorizedTtlMs: 300_000,
      unauthorizedTtlMs: 30_000,
      failurePolicy: "Deny",
      conditions: [],
    },
  });
  assert.ok(second?.type === "Webhook");
  assert.deepEqual([second.options.authorizedTtlMs, second.options.unauthorizedTtlMs], [0, 0]);
  assert.deepEqual(third, { type: "RBAC", name: "rbac" });
});

test("a file without authorizers, with fields that nobody knows, or of odd durations", () => {
  assert.equal(
    faultOf([]),
    "authorizers: Required value: at least one authorization mode must be defined",
  );
  assert.equal(
    faultOf(
      [
        { type: "RBAC", name: "w", bar: 3 },
        { type: "Node", name: "x", webhookk: 3 },
      ],
      {
        foo: "bar",
      },
    ),
    'strict decoding error: unknown field "authorizers[0].bar", unknown field "authorizers[1].webhookk", unknown field "foo"',
  );
  assert.equal(
    faultOf([{ type: "RBAC", name: "w", webhook: { timeout: 3 } }]),
    "json: cannot unmarshal number into Go struct field WebhookConfiguration.authorizers.webhook.timeout of type string",
  );
  assert.equal(
    faultOf([{ type: "RBAC", name: "w", webhook: { timeout: "xs" } }]),
    'time: invalid duration "xs"',
  );
  assert.match(
    faultOf([{ type: "ABAC", name: "w" }]) ?? "",
    /^authorizers\[0\]\.type: Invalid value: "ABAC": it is not served here/,
  );
});

/** Recorded from a stock kube-apiserver 1.36.3 that was started with this file. */
test("all findings of a file come at once, in upstream's order and words", () => {
  const odd = {
    timeout: "60s",
    subjectAccessReviewVersion: "v2",
    matchConditionSubjectAccessReviewVersion: "v1beta1",
    failurePolicy: "Allow",
    authorizedTTL: "-1s",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "rel.yaml" },
    matchConditions: [
      { expression: "request.foo" },
      { expression: "request.user" },
      { expression: "" },
      { expression: "request.user == 'a'" },
      { expression: "request.user == 'a'" },
    ],
  };
  const other = (name: string, kubeConfigFile: string) => ({
    type: "Webhook",
    name,
    webhook: { ...webhook, connectionInfo: { type: "KubeConfigFile", kubeConfigFile } },
  });
  const authorizers = [
    { type: "Webhook", name: "UPPER", webhook: odd },
    { type: "Foo", name: "foo" },
    { type: "RBAC", name: "rbac", webhook: {} },
    { type: "RBAC", name: "rbac2" },
    { type: "Node" },
    { type: "" },
    { type: "Webhook", name: "rbac" },
    { type: "Webhook", name: "w2", webhook: {} },
    {
      type: "Webhook",
      name: "w3",
      webhook: { ...webhook, matchConditions: [{ expression: "true" }] },
    },
    other("w4", "/nonexistent"),
    other("w5", "/tmp"),
    { type: "Webhook", name: "w6", webhook: { ...webhook, connectionInfo: { type: "Foo" } } },
  ];
  const expected = [
    `authorizers[0].name: Invalid value: "UPPER": authorizer name is invalid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    'authorizers[0].timeout: Invalid value: "1m0s": must be > 0s and <= 30s',
    'authorizers[0].authorizedTTL: Invalid value: "-1s": must be > 0s',
    'authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
    'authorizers[0].matchConditionSubjectAccessReviewVersion: Unsupported value: "v1beta1": supported values: "v1"',
    'authorizers[0].failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"',
    'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "rel.yaml": must be an absolute path',
    `authorizers[0].matchConditions[0].expression: Invalid value: "request.foo": compilation failed: ERROR: <input>:1:8: undefined field 'foo'\n | request.foo\n | .......^`,
    'authorizers[0].matchConditions[1].expression: Invalid value: "request.user": must evaluate to bool but got string',
    "authorizers[0].matchConditions[2].expression: Required value",
    `authorizers[0].matchConditions[4].expression: Duplicate value: "request.user == 'a'"`,
    'authorizers[1].type: Unsupported value: "Foo": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"',
    'authorizers[2].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
    'authorizers[3].type: Duplicate value: "RBAC"',
    "authorizers[4].name: Required value",
    "authorizers[5].type: Required value",
    'authorizers[6].name: Duplicate value: "rbac"',
    "authorizers[6].webhook: Required value: required when type=Webhook",
    "authorizers[7].timeout: Required value",
    "authorizers[7].subjectAccessReviewVersion: Required value",
    "authorizers[7].failurePolicy: Required value",
    "authorizers[7].connectionInfo.type: Required value",
    "authorizers[8].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified",
    'authorizers[9].connectionInfo.kubeConfigFile: Invalid value: "/nonexistent": error loading file: stat /nonexistent: no such file or directory',
    'authorizers[10].connectionInfo.kubeConfigFile: Invalid value: "/tmp": must be a regular file',
    'authorizers[11].connectionInfo.type: Unsupported value: {"Type":"Foo","KubeConfigFile":null}: supported values: "InClusterConfig", "KubeConfigFile"',
  ];
  assert.equal(faultOf(authorizers), `[${expected.join(", ")}]`);
});
