/**
 * What admission policies and webhooks see of requests that are no plain write of an object: bindings,
 * evictions, connections, scales, tokens, single deletions and deletions of a whole collection.
 */
import { type AnyStep, type Case, get, patch, post, put, remove } from "../exchange.ts";

type Json = Readonly<Record<string, unknown>>;

const registration = "/apis/admissionregistration.k8s.io/v1";
const pods = "/api/v1/namespaces/{ns}/pods";
const maps = "/api/v1/namespaces/{ns}/configmaps";
const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
/** A stock server takes up to a second until a policy is in force. */
const inForce = { waitMs: 2_500 };
const onlyHere = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "{ns}" } } };

const kind = (path: string): string => `${path}.group + '/' + ${path}.version + ' ' + ${path}.kind`;
const resource = (path: string): string =>
  `${path}.group + '/' + ${path}.version + ' ' + ${path}.resource`;
const shown = (path: string): string =>
  `(${path} == null ? 'null' : has(${path}.kind) ? ${path}.kind : 'no kind')`;
const optional = (field: string): string =>
  `(has(request.${field}) ? '=' + request.${field} : 'absent')`;
/** The variables of a request as one line. */
const told = [
  "request.operation",
  kind("request.kind"),
  resource("request.resource"),
  optional("subResource"),
  kind("request.requestKind"),
  resource("request.requestResource"),
  optional("requestSubResource"),
  optional("name"),
  optional("namespace"),
  "string(request.dryRun)",
  shown("object"),
  shown("oldObject"),
  "(has(request.options) && has(request.options.kind) ? request.options.kind : 'no options')",
  "(namespaceObject == null ? 'none' : namespaceObject.metadata.name)",
].join(" + '|' + ");

const connect = (path: string, rest: object = {}): AnyStep => ({ method: "POST", path, ...rest });
const rule = (groups: readonly string[], resources: readonly string[], operations = ["*"]) => ({
  apiGroups: groups,
  apiVersions: ["*"],
  resources,
  operations,
});

function policy(name: string, resourceRules: readonly Json[], spec: Json): readonly AnyStep[] {
  const head = { apiVersion: "admissionregistration.k8s.io/v1", metadata: { name } };
  const matchConstraints = { resourceRules };
  const bound = { policyName: name, validationActions: ["Deny"], matchResources: onlyHere };
  return [
    post(`${registration}/validatingadmissionpolicies`, {
      ...head,
      kind: "ValidatingAdmissionPolicy",
      spec: { matchConstraints, ...spec },
    }),
    post(`${registration}/validatingadmissionpolicybindings`, {
      ...head,
      kind: "ValidatingAdmissionPolicyBinding",
      spec: bound,
    }),
  ];
}

const removed = (name: string): readonly AnyStep[] => [
  remove(`${registration}/validatingadmissionpolicybindings/${name}`),
  remove(`${registration}/validatingadmissionpolicies/${name}`),
];

const tells = { validations: [{ expression: "false", messageExpression: told }] };

const pod = (name: string): Json => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "nginx" }] },
});
const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "nginx" }] },
};
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d" },
  spec: { selector: { matchLabels: { app: "a" } }, template },
};
const map = (name: string): Json => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels: { app: "a" } },
  data: { name },
});
const binding = (name: string, node: string): Json => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name },
  target: { kind: "Node", name: node },
});
const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
const scale = (replicas: number): Json => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "d", namespace: "{ns}" },
  spec: { replicas },
});
const tokenRequest = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
const tokens = "/api/v1/namespaces/{ns}/serviceaccounts/default/token";

const seen: Case = {
  name: "what a policy is told of subresources",
  steps: [
    post(pods, pod("p")),
    post(deployments, deployment),
    ...policy(
      "diff-subresources",
      [
        rule([""], ["pods/*", "bindings", "serviceaccounts/token", "services/proxy"]),
        rule(["apps"], ["*/scale", "deployments/status"]),
      ],
      tells,
    ),
    post(`${pods}/p/binding`, binding("p", "n"), inForce),
    post(`${pods}/p/binding?dryRun=All`, binding("p", "n")),
    post("/api/v1/namespaces/{ns}/bindings", binding("p", "n")),
    post(`${pods}/p/eviction`, eviction),
    post(`${pods}/p/eviction`, { ...eviction, deleteOptions: { dryRun: ["All"] } }),
    connect(`${pods}/p/exec?command=ls&stdout=true`),
    get(`${pods}/p/exec?command=ls&stdout=true`),
    connect(`${pods}/p/attach?stdout=true`),
    get(`${pods}/p/portforward?ports=80`),
    get(`${pods}/p/proxy`),
    get(`${pods}/p/proxy/some/path`),
    connect(`${pods}/p/proxy/`),
    get("/api/v1/namespaces/{ns}/services/s/proxy/x"),
    connect(`${pods}/absent/exec?command=ls&stdout=true`),
    patch("merge", `${pods}/p/status`, { status: { message: "x" } }),
    patch("strategic", `${pods}/p/resize`, { metadata: { labels: { a: "b" } } }),
    patch("strategic", `${pods}/p/ephemeralcontainers`, {
      spec: { ephemeralContainers: [{ name: "e", image: "nginx" }] },
    }),
    get(`${deployments}/d/scale`),
    put(`${deployments}/d/scale`, scale(2)),
    patch("merge", `${deployments}/d/scale`, { spec: { replicas: 3 } }),
    patch("merge", `${deployments}/d/status`, { status: { replicas: 3 } }),
    post(tokens, tokenRequest),
    patch("merge", `${deployments}/d`, { spec: { replicas: 3 } }),
    ...removed("diff-subresources"),
  ],
};

const fields: Case = {
  name: "validations of what subresources carry",
  steps: [
    post(pods, pod("p")),
    post(deployments, deployment),
    ...policy(
      "diff-fields",
      [
        rule([""], ["pods/binding", "pods/eviction", "pods/exec"], ["CREATE", "CONNECT"]),
        rule(["apps"], ["deployments/scale"], ["UPDATE"]),
      ],
      {
        validations: [
          { expression: "request.subResource != 'binding' || object.target.name == 'good'" },
          {
            expression:
              "request.subResource != 'scale' || object.spec.replicas <= oldObject.spec.replicas + 1",
            message: "too fast",
          },
          {
            expression: "request.subResource != 'exec' || !('sh' in object.command)",
            messageExpression: "'no shell in ' + request.name + ': ' + object.command[0]",
          },
          {
            expression: "request.subResource != 'exec' || object.stdin == false",
            messageExpression: "'container ' + object.container",
          },
          {
            expression: "request.subResource != 'eviction' || object.metadata.name == 'q'",
            reason: "Forbidden",
          },
        ],
      },
    ),
    post(`${pods}/p/binding`, binding("p", "bad"), inForce),
    connect(`${pods}/p/exec?command=sh&stdout=true`),
    connect(`${pods}/p/exec?command=ls&stdout=true&stdin=true&container=c`),
    post(`${pods}/p/eviction`, eviction),
    put(`${deployments}/d/scale`, scale(9)),
    patch("merge", `${deployments}/d/scale`, { spec: { replicas: 7 } }),
    put(`${deployments}/d/scale`, scale(2)),
    post(`${pods}/p/binding`, binding("p", "good")),
    ...removed("diff-fields"),
  ],
};

const deletions: Case = {
  name: "what a policy is told of deletions",
  steps: [
    ...["a", "b"].map((name) => post(maps, map(name))),
    post(pods, pod("p")),
    ...policy("diff-deletions", [rule([""], ["configmaps", "pods"], ["DELETE"])], tells),
    remove(`${maps}/a`, undefined, inForce),
    remove(`${maps}/a`, { propagationPolicy: "Foreground" }),
    remove(`${maps}/a?dryRun=All`),
    remove(`${maps}/absent`),
    remove(`${pods}/p`),
    remove(maps),
    remove(`${maps}?labelSelector=app%3Da&dryRun=All`),
    remove(`${maps}?labelSelector=app%3Dother`),
    ...removed("diff-deletions"),
  ],
};

const collection: Case = {
  name: "a policy stops the deletion of some of a collection",
  steps: [
    ...["a", "b"].map((name) => post(maps, map(name))),
    ...policy("diff-collection", [rule([""], ["configmaps"], ["DELETE"])], {
      validations: [
        {
          expression: "oldObject.data.name != 'b'",
          messageExpression: "'kept: ' + oldObject.metadata.name + ' ' + string(has(request.name))",
        },
      ],
    }),
    remove(maps, undefined, inForce),
    get(`${maps}?labelSelector=app%3Da`),
    ...removed("diff-collection"),
  ],
};

/** Nobody listens there: the refusal shows that the webhook matched. */
function webhook(type: "Validating" | "Mutating", name: string): AnyStep {
  const hook = (part: string, rules: readonly Json[], expression = "true"): Json => ({
    name: `${part}.example.com`,
    rules,
    clientConfig: { url: `https://127.0.0.1:1/${part}` },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    matchConditions: [{ name: "c", expression }],
    ...onlyHere,
  });
  return post(`${registration}/${type.toLowerCase()}webhookconfigurations`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${type}WebhookConfiguration`,
    metadata: { name },
    webhooks: [
      hook("exec", [rule([""], ["pods/exec"], ["CONNECT"])], "object.command[0] == 'sh'"),
      hook("attach", [rule([""], ["pods/attach"], ["CREATE"])]),
      hook("binding", [rule([""], ["pods/binding"], ["CREATE"])], "object.target.name == 'bad'"),
      hook("eviction", [rule([""], ["pods/eviction"])], "request.requestKind.version == 'v1'"),
      hook("scale", [rule(["*"], ["*/scale"])], "object.spec.replicas > oldObject.spec.replicas"),
      hook("delete", [rule([""], ["configmaps"], ["DELETE"])], "oldObject.data.name == 'b'"),
    ],
  });
}

function hooked(type: "Validating" | "Mutating"): Case {
  const name = `diff-hooks-${type.toLowerCase()}`;
  return {
    name: `${type.toLowerCase()} webhooks on subresources and deletions`,
    steps: [
      ...["a", "b"].map((one) => post(maps, map(one))),
      post(pods, pod("p")),
      post(deployments, deployment),
      webhook(type, name),
      connect(`${pods}/p/exec?command=sh&stdout=true`, inForce),
      post(`${pods}/p/binding`, binding("p", "bad")),
      post(`${pods}/p/binding?dryRun=All`, binding("p", "bad")),
      post(`${pods}/p/eviction`, eviction),
      put(`${deployments}/d/scale`, scale(2)),
      put(`${deployments}/d/scale`, scale(0)),
      remove(`${maps}/b`),
      remove(`${maps}/a`),
      remove(maps),
      remove(`${registration}/${type.toLowerCase()}webhookconfigurations/${name}`),
    ],
  };
}

export const policedRequests: readonly Case[] = [
  seen,
  fields,
  deletions,
  collection,
  hooked("Validating"),
  hooked("Mutating"),
];
