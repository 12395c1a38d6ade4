/** Ownership case by case: what updates and applies own, share, take over, conflict about and remove. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { convert } from "../convert/convert.ts";
import type { AnyObject, JsonObject } from "../object.ts";
import { schemaOf } from "../schema/schema.ts";
import { ApiError } from "../status.ts";
import { applyPatch, trackUpdate } from "./field-manager.ts";
import type { FieldManagement } from "./field-manager.ts";
import { managerName, updateManagersMax } from "./managers.ts";
import {
  Server,
  container,
  deployment,
  deployments,
  managementOf,
  pods,
  second,
  t0,
  withContainers,
} from "./testing/server.ts";
import { applyTypes } from "./updater.ts";

const owned = (server: Server, manager: string): unknown => server.entry(manager)?.fieldsV1;
const spec = (server: Server): JsonObject => (server.object?.["spec"] ?? {}) as JsonObject; // a test's view
const failsWith = (code: number, message: string | RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError);
  assert.equal(error.code, code);
  if (typeof message === "string") assert.equal(error.message, message);
  else assert.match(error.message, message);
  return true;
};

test("an update owns what it wrote, as upstream writes it down", () => {
  const server = new Server(deployments);
  server.update("kubectl", {
    ...deployment({
      metadata: { labels: { app: "a" } },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "a" } },
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } },
        template: {
          metadata: { labels: { app: "a" } },
          spec: {
            containers: [
              {
                name: "c",
                image: "i",
                resources: {},
                ports: [{ containerPort: 80, protocol: "TCP" }],
              },
            ],
            dnsPolicy: "ClusterFirst",
          },
        },
      },
      status: {},
    }),
  });
  assert.deepEqual(server.object?.metadata?.managedFields, [
    {
      manager: "kubectl",
      operation: "Update",
      apiVersion: "apps/v1",
      time: "2026-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: {
        "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
        "f:spec": {
          "f:replicas": {},
          "f:selector": {},
          "f:strategy": { "f:rollingUpdate": { ".": {}, "f:maxSurge": {} }, "f:type": {} },
          "f:template": {
            "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
            "f:spec": {
              "f:containers": {
                'k:{"name":"c"}': {
                  ".": {},
                  "f:image": {},
                  "f:name": {},
                  "f:ports": {
                    ".": {},
                    'k:{"containerPort":80,"protocol":"TCP"}': {
                      ".": {},
                      "f:containerPort": {},
                      "f:protocol": {},
                    },
                  },
                  "f:resources": {},
                },
              },
              "f:dnsPolicy": {},
            },
          },
        },
      },
    },
  ]);
});

test("an apply owns exactly what it names", () => {
  const server = new Server(deployments);
  server.apply("m", deployment({ metadata: { labels: { a: "b" } }, spec: { replicas: 3 } }));
  assert.deepEqual(owned(server, "m"), {
    "f:metadata": { "f:labels": { "f:a": {} } },
    "f:spec": { "f:replicas": {} },
  });
  assert.equal(server.entry("m")?.operation, "Apply");
});

test("applying the same again changes nothing at all, whatever the clock says", () => {
  const server = new Server(deployments);
  const config = deployment({ spec: { replicas: 3, ...withContainers(container("c")) } });
  const first = server.apply("m", config);
  server.tick();
  const again = applyPatch(deployments, {
    live: first,
    applied: config,
    manager: "m",
    force: false,
    nowMs: t0 + 5 * second,
  });
  assert.equal(again.changed, false);
  assert.deepEqual(again.object, first);
});

test("a field another applier owns is a conflict that names it", () => {
  const server = new Server(deployments);
  server.apply("one", deployment({ spec: { replicas: 3 } }));
  assert.throws(
    () => server.apply("two", deployment({ spec: { replicas: 4 } })),
    failsWith(409, 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'),
  );
});

test("a field an updater owns is a conflict that names its version", () => {
  const server = new Server(deployments);
  server.update("m", deployment({ spec: { replicas: 3, paused: true } }));
  assert.throws(
    () => server.apply("two", deployment({ spec: { replicas: 4 } })),
    (error: unknown) => {
      assert.ok(error instanceof ApiError);
      assert.equal(error.reason, "Conflict");
      assert.deepEqual(error.status.details?.causes, [
        {
          reason: "FieldManagerConflict",
          message: 'conflict with "m" using apps/v1',
          field: ".spec.replicas",
        },
      ]);
      return true;
    },
  );
});

test("several conflicts are listed by manager and path", () => {
  const server = new Server(deployments);
  server.apply(
    "b",
    deployment({ spec: { replicas: 3, ...withContainers(container("c", { image: "x" })) } }),
  );
  server.apply("a", deployment({ spec: { paused: true } }));
  const config = deployment({
    spec: { replicas: 4, paused: false, ...withContainers(container("c", { image: "y" })) },
  });
  assert.throws(
    () => server.apply("z", config),
    failsWith(
      409,
      'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.paused\nconflicts with "b":\n- .spec.replicas\n- .spec.template.spec.containers[name="c"].image',
    ),
  );
});

test("force takes the field over", () => {
  const server = new Server(deployments);
  server.apply("one", deployment({ spec: { replicas: 3, paused: true } }));
  server.apply("two", deployment({ spec: { replicas: 4 } }), true);
  assert.equal(spec(server)["replicas"], 4);
  assert.deepEqual(owned(server, "one"), { "f:spec": { "f:paused": {} } });
  assert.deepEqual(owned(server, "two"), { "f:spec": { "f:replicas": {} } });
});

test("equal values are shared, and go when the last owner lets go", () => {
  const server = new Server(deployments);
  server.apply("one", deployment({ spec: { replicas: 3 } }));
  server.apply("two", deployment({ spec: { replicas: 3 } }));
  server.apply("one", deployment({}));
  assert.equal(server.entry("one"), undefined);
  assert.equal(spec(server)["replicas"], 3);
  server.apply("two", deployment({}));
  assert.equal(server.object?.["spec"], undefined);
  assert.equal(server.object?.metadata?.managedFields, undefined);
});

test("a removed list element goes, its neighbours and others' fields in it stay", () => {
  const server = new Server(deployments);
  server.apply(
    "one",
    deployment({
      spec: withContainers(container("a", { image: "x" }), container("b", { image: "y" })),
    }),
  );
  server.apply("two", deployment({ spec: withContainers(container("b", { tty: true })) }));
  server.apply("one", deployment({ spec: withContainers(container("a", { image: "x" })) }));
  const template = spec(server)["template"];
  assert.deepEqual(template, {
    spec: {
      containers: [
        { name: "a", image: "x" },
        { name: "b", tty: true },
      ],
    },
  });
});

test("an element only its remover owned goes with the defaults in it", () => {
  const server = new Server(deployments);
  const first = server.apply(
    "one",
    deployment({ spec: withContainers(container("a"), container("b")) }),
  );
  server.object = structuredClone(first);
  const stored = spec(server)["template"] as unknown as { spec: { containers: object[] } }; // a test's view
  stored.spec.containers[1] = { name: "b", imagePullPolicy: "Always" };
  server.apply("one", deployment({ spec: withContainers(container("a")) }));
  assert.deepEqual(spec(server)["template"], { spec: { containers: [{ name: "a" }] } });
});

test("what an updater changed inside survives the applier's removal of the rest", () => {
  const server = new Server(deployments);
  server.apply("one", deployment({ metadata: { labels: { a: "1", b: "2" } } }));
  const live = server.object ?? {};
  server.update("u", {
    ...live,
    metadata: { ...live.metadata, labels: { a: "1", b: "3", c: "4" } },
  });
  assert.deepEqual(owned(server, "u"), { "f:metadata": { "f:labels": { "f:b": {}, "f:c": {} } } });
  server.apply("one", deployment({}));
  assert.deepEqual(server.object?.metadata?.labels, { b: "3", c: "4" });
});

test("an update takes ownership from appliers and forgets what is gone", () => {
  const server = new Server(deployments);
  server.apply("one", deployment({ spec: { replicas: 3, paused: true } }));
  server.update(
    "u",
    deployment({ spec: { replicas: 5 }, metadata: server.object?.metadata ?? {} }),
  );
  assert.equal(server.entry("one"), undefined);
  assert.deepEqual(owned(server, "u"), { "f:spec": { "f:replicas": {} } });
});

test("an update that changes nothing keeps the entries and their times", () => {
  const server = new Server(deployments);
  const first = server.update("u", deployment({ spec: { replicas: 3 } }));
  server.tick();
  assert.deepEqual(server.update("other", structuredClone(first)), first);
});

test("set lists are owned value by value, atomic lists as a whole", () => {
  const server = new Server(pods);
  const pod = (finalizers: string[], tolerations: object[]): AnyObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", finalizers },
    spec: { containers: [], tolerations },
  });
  server.apply("one", pod(["a.b/x"], [{ key: "k" }]));
  server.apply("two", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", finalizers: ["a.b/y"] },
  });
  assert.deepEqual(server.object?.metadata?.finalizers, ["a.b/x", "a.b/y"]);
  assert.deepEqual(owned(server, "two"), { "f:metadata": { "f:finalizers": { 'v:"a.b/y"': {} } } });
  assert.deepEqual(owned(server, "one"), {
    "f:metadata": { "f:finalizers": { 'v:"a.b/x"': {} } },
    "f:spec": { "f:tolerations": {} },
  });
  assert.throws(
    () => server.apply("two", pod(["a.b/y"], [{ key: "other" }])),
    failsWith(409, /conflict with "one": .spec.tolerations$/),
  );
});

test("a list key with a default may be left out of the configuration", () => {
  const services = managementOf("Service", "v1");
  const service = (ports: object[]): AnyObject => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s" },
    spec: { ports },
  });
  const server = new Server(
    services,
    service([
      { port: 53, protocol: "UDP" },
      { port: 53, protocol: "TCP" },
    ]),
  );
  server.apply("m", service([{ port: 53, name: "dns" }]));
  assert.deepEqual(spec(server)["ports"], [
    { port: 53, protocol: "UDP" },
    { port: 53, protocol: "TCP", name: "dns" },
  ]);
  assert.throws(
    () => server.apply("m", service([{ port: 1 }, { port: 1 }])),
    failsWith(500, /\.spec\.ports: duplicate entries for key \[port=1,protocol="TCP"\]/),
  );
});

test("shared list elements take the applied order, others keep their place", () => {
  const server = new Server(
    deployments,
    deployment({ spec: withContainers(...["a", "b", "c", "d"].map((n) => container(n))) }),
  );
  server.apply(
    "m",
    deployment({ spec: withContainers(container("c"), container("a"), container("e")) }),
  );
  const template = spec(server)["template"] as unknown as {
    spec: { containers: { name: string }[] };
  }; // a test's view
  assert.equal(template.spec.containers.map((c) => c.name).join(""), "bcdae");
});

test("a field that is not in the schema is refused in upstream's words", () => {
  const server = new Server(deployments);
  assert.throws(
    () => server.apply("m", deployment({ spec: { bogus: 1 } })),
    failsWith(
      500,
      "failed to create typed patch object (n/d; apps/v1, Kind=Deployment): .spec.bogus: field not declared in schema",
    ),
  );
});

test("a field that is not in the schema is refused within what is owned as a whole, too", () => {
  const server = new Server(deployments);
  const toleration = (more: object) => ({
    template: { spec: { tolerations: [{ key: "a" }, more] } },
  });
  const cases: readonly (readonly [object, string])[] = [
    [{ selector: { bogus: 1 } }, ".spec.selector.bogus"],
    [toleration({ bogus: 1 }), ".spec.template.spec.tolerations[1].bogus"],
  ];
  for (const [wrong, path] of cases) {
    assert.throws(
      () => server.apply("m", deployment({ spec: wrong })),
      failsWith(
        500,
        `failed to create typed patch object (n/d; apps/v1, Kind=Deployment): ${path}: field not declared in schema`,
      ),
    );
  }
  server.apply("m", deployment({ spec: toleration({ key: "b" }) }));
});

test("managed fields and another version in what is applied are bad requests", () => {
  const server = new Server(deployments);
  assert.throws(
    () => server.apply("m", deployment({ metadata: { managedFields: [] } })),
    failsWith(400, "metadata.managedFields must be nil"),
  );
  assert.throws(
    () => server.apply("m", { ...deployment({}), apiVersion: "apps/v2" }),
    failsWith(
      400,
      "Incorrect version specified in apply patch. Specified patch version: apps/v2, expected: apps/v1",
    ),
  );
});

test("status is nobody's through the main resource, and its writer's through the subresource", () => {
  const server = new Server(deployments);
  server.update("u", deployment({ spec: { replicas: 1 }, status: { replicas: 1 } }));
  assert.deepEqual(owned(server, "u"), { "f:spec": { "f:replicas": {} } });
  const status = { ...deployments, subresource: "status", resetFields: [["spec"]] };
  const live = server.object ?? {};
  const next = trackUpdate(status, {
    live,
    next: { ...live, status: { replicas: 2 } },
    manager: "controller",
    nowMs: t0,
  });
  const entry = next.metadata?.managedFields?.find((e) => e.manager === "controller");
  assert.equal(entry?.subresource, "status");
  assert.deepEqual(entry?.fieldsV1, { "f:status": { "f:replicas": {} } });
});

test("an object nobody tracked is owned by before-first-apply once somebody applies", () => {
  const server = new Server(deployments, deployment({ spec: { replicas: 1, paused: true } }));
  assert.throws(
    () => server.apply("m", deployment({ spec: { replicas: 2 } })),
    failsWith(
      409,
      'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas',
    ),
  );
  server.apply("m", deployment({ spec: { replicas: 2 } }), true);
  assert.deepEqual(owned(server, "before-first-apply"), { "f:spec": { "f:paused": {} } });
});

test("managed fields can be reset, and are then not tracked until the next apply", () => {
  const server = new Server(deployments);
  server.update("u", deployment({ spec: { replicas: 1 } }));
  server.update("u", deployment({ metadata: { managedFields: [{}] }, spec: { replicas: 1 } }));
  assert.equal(server.object?.metadata?.managedFields, undefined);
  server.update("u", deployment({ spec: { replicas: 2 } }));
  assert.equal(server.object?.metadata?.managedFields, undefined);
});

test("an update without managed fields keeps those of the live object", () => {
  const server = new Server(deployments);
  server.apply("m", deployment({ spec: { replicas: 1 } }));
  server.update("u", deployment({ spec: { replicas: 1, paused: true } }));
  assert.deepEqual(owned(server, "m"), { "f:spec": { "f:replicas": {} } });
  assert.deepEqual(owned(server, "u"), { "f:spec": { "f:paused": {} } });
});

test("more than ten updaters become ten, the oldest as ancient-changes", () => {
  const server = new Server(deployments);
  for (let at = 0; at < updateManagersMax + 5; at += 1) {
    const labels = { ...server.object?.metadata?.labels, [`l${at}`]: "x" };
    server.update(`u${at}`, deployment({ metadata: { labels }, spec: { replicas: 1 } }));
    server.tick();
  }
  const entries = server.object?.metadata?.managedFields ?? [];
  assert.equal(entries.length, updateManagersMax);
  assert.equal(entries[0]?.manager, "ancient-changes");
  assert.deepEqual(Object.keys(owned(server, "ancient-changes") as object), [
    "f:metadata",
    "f:spec",
  ]);
  assert.equal(entries.at(-1)?.manager, "u14");
});

test("owners in another version of the kind are compared in theirs", () => {
  const v2 = managementOf("HorizontalPodAutoscaler", "autoscaling/v2");
  const v1 = managementOf("HorizontalPodAutoscaler", "autoscaling/v1");
  const kind = "HorizontalPodAutoscaler";
  const metadata = { name: "h" };
  const first = applyPatch(v1, {
    live: undefined,
    applied: {
      apiVersion: "autoscaling/v1",
      kind,
      metadata,
      spec: { maxReplicas: 3, targetCPUUtilizationPercentage: 80 },
    },
    manager: "one",
    force: false,
    nowMs: t0,
  });
  const live = convert(first.object, "autoscaling/v2");
  const request = { live, manager: "two", force: false, nowMs: t0 };
  const applied = { apiVersion: "autoscaling/v2", kind, metadata, spec: { maxReplicas: 4 } };
  assert.throws(
    () => applyPatch(v2, { ...request, applied }),
    failsWith(409, /"one": .spec.maxReplicas$/),
  );
  const same = applyPatch(v2, { ...request, applied: { ...applied, spec: { maxReplicas: 3 } } });
  assert.equal(same.object.metadata?.managedFields?.length, 2);
});

test("custom resources without schema merge as maps, and lists are whole", () => {
  const types = applyTypes({ schema: () => null, lookup: schemaOf, convert });
  const widgets: FieldManagement = {
    types,
    apiVersion: "e.com/v1",
    subresource: "",
    resetFields: [],
  };
  const widget = (more: object): AnyObject => ({
    apiVersion: "e.com/v1",
    kind: "Widget",
    metadata: { name: "w" },
    ...more,
  });
  const server = new Server(widgets);
  server.apply("one", widget({ spec: { a: { x: 1 }, l: [1] } }));
  server.apply("two", widget({ spec: { a: { y: null } } }));
  assert.deepEqual(spec(server), { a: { x: 1, y: null }, l: [1] });
  assert.deepEqual(owned(server, "one"), {
    "f:spec": { ".": {}, "f:a": { ".": {}, "f:x": {} }, "f:l": {} },
  });
  assert.throws(
    () => server.apply("two", widget({ spec: { l: [1, 2] } })),
    failsWith(409, /"one": .spec.l$/),
  );
});

test("kubectl may take over what it applied client-side, and its annotation follows", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const config = deployment({ spec: { replicas: 1 } });
  const server = new Server(deployments);
  server.update(
    "kubectl-client-side-apply",
    deployment({
      metadata: { annotations: { [annotation]: JSON.stringify(config) } },
      spec: { replicas: 1, paused: false },
    }),
  );
  server.apply("kubectl", deployment({ spec: { replicas: 2 } }));
  assert.equal(spec(server)["replicas"], 2);
  const renewed = JSON.parse(server.object?.metadata?.annotations?.[annotation] ?? "") as AnyObject; // written by us
  assert.deepEqual(renewed["spec"], { replicas: 2 });
  assert.throws(
    () => server.apply("kubectl", deployment({ spec: { paused: true } })),
    failsWith(409, /\.spec\.paused$/),
  );
});

test("a manager is named by the request or by its user agent up to the slash", () => {
  assert.equal(managerName("m", "kubectl/v1"), "m");
  assert.equal(managerName("", "kubectl/v1.36 (linux)"), "kubectl");
  assert.equal(managerName("", `${"x".repeat(200)}/v1`), "x".repeat(128));
  assert.equal(managerName("", "a\u0007b"), "ab");
});

test("many long values of the wrong type are a short text", () => {
  const long = ["x".repeat(4_000)];
  const labels = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`k${at}`, long]));
  const server = new Server(deployments);
  assert.throws(
    () => server.apply("m", deployment({ spec: { selector: { matchLabels: labels } } })),
    (error: Error) => error.message.length < 100_000,
  );
});

test("a value of the wrong type is shown, the beginning of a long one", () => {
  const server = new Server(deployments);
  const wrong = { paused: 1, template: { spec: { nodeName: ["😀".repeat(100_000)] } } };
  assert.throws(
    () => server.apply("m", deployment({ spec: wrong })),
    (error: Error) => {
      assert.match(error.message, /\.spec\.paused: expected boolean, got &\{1\}/);
      const shown =
        '.spec.template.spec.nodeName: expected string, got &value.valueUnstructured{Value:[]interface {}{"😀';
      assert.ok(error.message.includes(shown));
      assert.ok(error.message.length < 10_000);
      return true;
    },
  );
});
