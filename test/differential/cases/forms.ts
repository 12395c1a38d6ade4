/**
 * The forms of answers: what each Accept header gets from documents, objects, lists, subresources, reviews and
 * errors, and which methods documents take.
 */
import { get, patch, post, put, type Case, type Step, type Suite } from "../exchange.ts";

const protobuf = "application/vnd.kubernetes.protobuf";
const meta = "g=meta.k8s.io;v=v1";
const discovery = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const plainTypes = [
  "application/json",
  protobuf,
  "application/cbor",
  "text/plain",
  "application/*",
  "image/png",
  "image/png, */*;q=0.1",
  "application/json;q=0",
  "",
];
const shownTypes = [
  `application/json;as=Table;${meta}`,
  `${protobuf};as=Table;${meta}`,
  `application/json;as=PartialObjectMetadata;${meta}`,
  `${protobuf};as=PartialObjectMetadata;${meta}`,
  `application/json;as=PartialObjectMetadataList;${meta}`,
  `application/json;as=Table;${meta}beta1`,
  "application/json;as=Table;v=v1;g=wrong",
  `application/json;stream=watch`,
];

function each(types: readonly string[], steps: readonly Step[]): readonly Step[] {
  return steps.flatMap((step) =>
    types.map((accept) => ({ ...step, headers: { ...step.headers, accept } })),
  );
}

const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
const template = {
  metadata: { labels: { a: "b" } },
  spec: { containers: [{ name: "c", image: "i" }] },
};
const deployment = {
  metadata: { name: "d" },
  spec: { replicas: 0, selector: { matchLabels: { a: "b" } }, template },
};

const objects: Case = {
  name: "objects, lists and parts of objects",
  steps: [
    post(deployments, deployment),
    ...each(
      [...plainTypes, ...shownTypes],
      [
        get(`${deployments}/d`),
        get(`${deployments}/none`),
        get(deployments),
        get(`${deployments}/d/status`),
        get(`${deployments}/d/scale`),
        get(`${deployments}/none/scale`),
        get("/api/v1/namespaces/{ns}/pods/none/log"),
        get("/api/v1/namespaces?limit=x"),
        patch("merge", `${deployments}/d/scale?dryRun=All`, { spec: { replicas: 0 } }),
        post(`${deployments}?dryRun=All`, { ...deployment, metadata: { name: "e" } }),
        post(deployments, "{"),
      ],
    ),
  ],
};

const accounts = "/api/v1/namespaces/{ns}/serviceaccounts";
const authorization = "/apis/authorization.k8s.io/v1";
const questions: Case = {
  name: "questions",
  steps: [
    post(accounts, { metadata: { name: "robot" } }),
    ...each(
      [...plainTypes, ...shownTypes],
      [
        post(`${authorization}/selfsubjectaccessreviews`, {
          spec: { nonResourceAttributes: { path: "/", verb: "get" } },
        }),
        post(`${accounts}/none/token`, { spec: {} }),
      ],
    ),
  ],
};

const documents: Case = {
  name: "documents",
  steps: each(
    [...plainTypes, `application/json;${discovery}`, `${protobuf};${discovery}`],
    [
      get("/api"),
      get("/apis/policy"),
      get("/apis/policy/v1"),
      get("/apis/none"),
      get("/healthz"),
      get("/livez/ping"),
      get("/nothing"),
      get("/openapi/v3/apis/none/v1"),
    ],
  ),
};

const openapi: Case = {
  name: "OpenAPI is refused without a word",
  steps: each(
    [protobuf, "text/plain", "image/png"],
    [get("/openapi/v2"), get("/openapi/v3/apis/policy/v1")],
  ),
};

const methods: Case = {
  name: "documents take no method but GET",
  steps: ["/api", "/api/v1", "/apis/policy/v1", "/version"].flatMap((path) => [
    post(path, "{}"),
    put(path, "{}"),
    { method: "HEAD", path },
    ...each(["text/plain"], [post(path, "{}"), get(path)]),
  ]),
};

export const forms: Suite = {
  name: "forms",
  cases: [objects, questions, documents, openapi, methods],
};
