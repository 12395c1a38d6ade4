/** Decoding: findings, refusals and canonical scalars in upstream's words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectSchema } from "./schema-types.ts";
import {
  cannotBeHandled,
  checkFields,
  fieldFindings,
  findingsMax,
  strictDecodingMessage,
} from "./decode.ts";
import { schemaOfKind } from "./schema.ts";

function schema(group: string, version: string, kind: string): ObjectSchema {
  const found = schemaOfKind({ group, version, kind });
  assert.ok(found);
  return found;
}

const pod = schema("", "v1", "Pod");
const deployment = schema("apps", "v1", "Deployment");

function decoded(value: unknown, as: ObjectSchema = pod): Record<string, unknown> {
  const result = checkFields(value, as);
  assert.ok(result.kind === "ok", result.kind === "error" ? result.message : "");
  return result.object;
}

function errorOf(value: unknown, as: ObjectSchema = pod): string {
  const result = checkFields(value, as);
  return result.kind === "error" ? result.message : "";
}

const good = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", labels: { app: "x" }, creationTimestamp: "2026-01-02T03:04:05Z" },
  spec: {
    containers: [
      {
        name: "c",
        image: "i",
        ports: [{ containerPort: 80 }],
        resources: { requests: { cpu: "100m", memory: "1Gi" } },
        readinessProbe: { httpGet: { path: "/", port: "http" } },
      },
    ],
    volumes: [{ name: "v", emptyDir: {} }],
  },
  status: {},
};

test("an object with nothing to change is handed on as it is", () => {
  const result = checkFields(good, pod);
  assert.ok(result.kind === "ok");
  assert.equal(result.object, good);
  assert.deepEqual(result.unknownFields, []);
});

test("unknown fields are dropped from a copy and told by path, in order", () => {
  const container = { name: "c", imgae: "x", constructor: 1, env: [{ name: "e", valeu: "1" }] };
  const value = { spce: {}, metadata: { nam: "a" }, spec: { containers: [container], x: null } };
  const before = structuredClone(value);
  const result = checkFields(value, pod);
  assert.ok(result.kind === "ok");
  assert.deepEqual(fieldFindings(result.unknownFields, undefined), [
    'unknown field "spce"',
    'unknown field "metadata.nam"',
    'unknown field "spec.containers[0].imgae"',
    'unknown field "spec.containers[0].constructor"',
    'unknown field "spec.containers[0].env[0].valeu"',
    'unknown field "spec.x"',
  ]);
  assert.deepEqual(result.object, {
    metadata: {},
    spec: { containers: [{ name: "c", env: [{ name: "e" }], resources: {} }] },
    status: {},
  });
  assert.deepEqual(value, before);
});

test("unknown and duplicate fields are told in upstream's words in the order of the text", () => {
  const keys = {
    ordersOf: () => [3, 4],
    duplicates: [
      { path: ["spec", "unknownDupe"], order: 5 },
      { path: ["spec", "unknownDupe", "deep"], order: 6 },
      { path: ["kind"], order: 1 },
      { path: ["spec", "paused"], order: 9 },
    ],
  };
  const unknown = [
    ["spec", "unknown1"],
    ["spec", "unknownDupe"],
  ];
  const findings = fieldFindings(unknown, keys);
  assert.equal(
    strictDecodingMessage(findings),
    'strict decoding error: duplicate field "kind", unknown field "spec.unknown1", ' +
      'unknown field "spec.unknownDupe", duplicate field "spec.paused"',
  );
});

test("findings are bounded", () => {
  const value = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x${i}`, 1]));
  const result = checkFields(value, pod);
  assert.ok(result.kind === "ok");
  assert.equal(result.unknownFields.length, findingsMax);
  assert.deepEqual(result.object, { metadata: {}, spec: {}, status: {} });
});

test("wrong types are told as Go tells them", () => {
  const spec = (fields: object) => ({ spec: fields });
  assert.equal(
    errorOf(spec({ replicas: "3" }), deployment),
    "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
  );
  assert.equal(
    errorOf(spec({ template: { spec: { containers: [{ env: [{ value: 1 }] }] } } }), deployment),
    "json: cannot unmarshal number into Go struct field " +
      "EnvVar.spec.template.spec.containers.env.value of type string",
  );
  assert.equal(
    errorOf(spec({ containers: {} })),
    "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
  );
  assert.equal(
    errorOf({ metadata: { labels: { a: true } } }),
    "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
  );
  assert.match(
    errorOf({ metadata: { labels: [] } }),
    /unmarshal array .* of type map\[string\]string$/,
  );
  assert.equal(errorOf([]), "json: cannot unmarshal array into Go value of type v1.Pod");
  assert.equal(
    errorOf(spec({ replicas: 1.5 }), deployment),
    "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
  );
  assert.match(
    errorOf(spec({ activeDeadlineSeconds: 2 ** 60 })),
    /cannot unmarshal number 1152921504606847000 into .* of type int64/,
  );
});

test("the 400 names kind and version", () => {
  assert.equal(
    cannotBeHandled({ group: "apps", version: "v1", kind: "Deployment" }, "json: x"),
    'Deployment in version "v1" cannot be handled as a Deployment: json: x',
  );
});

test("null is not given; in lists and maps it is the zero value", () => {
  const value = {
    metadata: { creationTimestamp: null, labels: { a: null } },
    spec: { nodeName: null, containers: [{ name: "c", args: [null, "x"] }, null] },
    status: null,
  };
  assert.deepEqual(decoded(value), {
    metadata: { labels: { a: "" } },
    spec: {
      containers: [
        { name: "c", args: ["", "x"], resources: {} },
        { name: "", resources: {} },
      ],
    },
    status: {},
  });
});

test("empty lists and maps that Go leaves out are not given, others stay, empty structs stay", () => {
  const value = {
    metadata: { finalizers: [], annotations: {} },
    spec: { containers: [], tolerations: [], securityContext: {} },
  };
  assert.deepEqual(decoded(value), {
    metadata: {},
    spec: { containers: [], securityContext: {} },
    status: {},
  });
});

test("quantities come out canonical, also from numbers", () => {
  const requests = { cpu: "0.5", memory: "1024Mi", a: 2, b: "1000m", c: "100m", d: "12Gi" };
  const value = { spec: { containers: [{ resources: { requests } }] } };
  assert.deepEqual(decoded(value), {
    metadata: {},
    spec: {
      containers: [
        {
          name: "",
          resources: {
            requests: { cpu: "500m", memory: "1Gi", a: "2", b: "1", c: "100m", d: "12Gi" },
          },
        },
      ],
    },
    status: {},
  });
  const bad = { spec: { containers: [{ resources: { limits: { cpu: "lots" } } }] } };
  assert.match(errorOf(bad), /^quantities must match the regular expression/);
});

test("times come out in UTC with seconds, micro times with microseconds", () => {
  const meta = { metadata: { creationTimestamp: "2026-01-02T03:04:05.678+02:00" } };
  assert.deepEqual(decoded(meta)["metadata"], { creationTimestamp: "2026-01-02T01:04:05Z" });
  const lease = schema("coordination.k8s.io", "v1", "Lease");
  const renew = {
    spec: { renewTime: "2026-01-02T03:04:05.123456Z", acquireTime: "2026-01-02T03:04:05Z" },
  };
  assert.deepEqual(decoded(renew, lease)["spec"], {
    renewTime: "2026-01-02T03:04:05.123456Z",
    acquireTime: "2026-01-02T03:04:05.000000Z",
  });
  assert.equal(
    errorOf({ metadata: { creationTimestamp: "soon" } }),
    'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
  );
});

test("a time of a wrong type is told like any other field", () => {
  assert.equal(
    errorOf({ metadata: { creationTimestamp: 5 } }),
    "json: cannot unmarshal number into Go struct field " +
      "ObjectMeta.metadata.creationTimestamp of type string",
  );
});

test("bytes must be base64", () => {
  const secret = schema("", "v1", "Secret");
  const { data } = decoded({ data: { a: "aGk=", b: "aG\nk=" } }, secret);
  assert.deepEqual(data, { a: "aGk=", b: "aGk=" });
  assert.equal(errorOf({ data: { a: "a$k=" } }, secret), "illegal base64 data at input byte 1");
});

test("a port is a number or a string", () => {
  const service = schema("", "v1", "Service");
  const value = {
    metadata: {},
    spec: {
      ports: [
        { port: 80, targetPort: "http" },
        { port: 81, targetPort: 8 },
      ],
    },
    status: { loadBalancer: {} },
  };
  assert.equal(decoded(value, service), value);
  assert.match(errorOf({ spec: { ports: [{ targetPort: true }] } }, service), /of type int32/);
});

test("a zero is left out where Go holds no pointer, kept where it does, and of its type in either", () => {
  const container = { name: "c", tty: false, image: "", env: [{ name: "e", value: "" }] };
  const spec = { hostNetwork: false, hostUsers: false, priority: 0, containers: [container] };
  assert.deepEqual(decoded({ spec })["spec"], {
    hostUsers: false,
    priority: 0,
    containers: [{ name: "c", env: [{ name: "e" }], resources: {} }],
  });
  assert.match(errorOf({ spec: { hostNetwork: "" } }), /cannot unmarshal string .* of type bool$/);
  assert.match(errorOf({ spec: { nodeName: 0 } }), /cannot unmarshal number .* of type string$/);
});

test("free JSON passes untouched", () => {
  const revision = schema("apps", "v1", "ControllerRevision");
  const value = { metadata: {}, data: { any: [{ thing: null }], __x: 1 }, revision: 1 };
  assert.equal(decoded(value, revision), value);
});

test("a definition that was brought along is followed", () => {
  const custom: ObjectSchema = {
    name: "com.example.v1.Foo",
    required: [],
    fields: {
      spec: { type: "object", ref: "com.example.v1.Foo.spec" },
      free: { type: "object", preserveUnknownFields: true },
      nothing: { type: "string", nullable: true },
    },
  };
  const spec: ObjectSchema = {
    name: "com.example.v1.Foo.spec",
    required: [],
    fields: { size: { type: "integer" } },
  };
  const value = { spec: { size: 1, sice: 2 }, free: { a: 1 }, nothing: null };
  const result = checkFields(value, custom, (name) => (name === spec.name ? spec : undefined));
  assert.ok(result.kind === "ok");
  assert.deepEqual(result.unknownFields, [["spec", "sice"]]);
  assert.deepEqual(result.object, { spec: { size: 1 }, free: { a: 1 }, nothing: null });
});

const definition = schema("apiextensions.k8s.io", "v1", "CustomResourceDefinition");

function definitionOf(openAPIV3Schema: object): Record<string, unknown> {
  return { spec: { versions: [{ name: "v1", schema: { openAPIV3Schema } }] } };
}

function versionsOf(object: unknown): unknown {
  const { spec } = object as { readonly spec: { readonly versions: unknown } }; // of a definition
  return spec.versions;
}

test("a schema below items is decoded too; its unknown fields are dropped, and not told", () => {
  const items = { type: "string", unknown: 1, pattern: null };
  const result = checkFields(definitionOf({ type: "array", items }), definition);
  assert.ok(result.kind === "ok");
  assert.deepEqual(result.unknownFields, []);
  const openAPIV3Schema = { type: "array", items: { type: "string" } };
  const version = { name: "v1", served: false, storage: false, schema: { openAPIV3Schema } };
  assert.deepEqual(versionsOf(result.object), [version]);
  assert.notEqual(errorOf(definitionOf({ items: { type: 5 } }), definition), "");
  const additional = definitionOf({ additionalProperties: { items: { minLength: "x" } } });
  assert.notEqual(errorOf(additional, definition), "");
  const untouched = { additionalProperties: true, items: [5], default: { a: null } };
  assert.deepEqual(versionsOf(decoded(definitionOf(untouched), definition)), [
    { ...version, schema: { openAPIV3Schema: untouched } },
  ]);
});
