/** Nothing that a user writes to deny something is stored and then ignored. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { unservedKinds, unservedKindsPlugin } from "#admission/unserved-kinds.ts";
import { logUnservedObjects } from "#apiserver/unserved-objects.ts";
import { ask, openPlane, statusOf } from "#apiserver/testing/plane.ts";
import { builtinResources } from "#api/resources.ts";
import { keptLog, type PromisedPlane, startPromised } from "./promised-plane.ts";

const refused = unservedKinds.filter((row) => row.onWrite === "refuse");
const served = builtinResources().filter((info) =>
  refused.some((row) => row.group === info.group && row.resource === info.resource),
);
const expression = { expression: "true" };
const rules = {
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
  ],
};
/** A spec that passes validation: the refusal must not depend on a mistake. */
const bodies: Readonly<Record<string, object>> = {
  validatingadmissionpolicies: { spec: { matchConstraints: rules, validations: [expression] } },
  validatingadmissionpolicybindings: { spec: { policyName: "p", validationActions: ["Deny"] } },
  mutatingadmissionpolicies: {
    spec: {
      reinvocationPolicy: "Never",
      matchConstraints: rules,
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: expression }],
    },
  },
  mutatingadmissionpolicybindings: { spec: { policyName: "p" } },
  validatingwebhookconfigurations: { webhooks: [] },
  mutatingwebhookconfigurations: { webhooks: [] },
};

describe("admission policies and webhooks", () => {
  let promised: PromisedPlane;
  before(async () => {
    promised = await startPromised();
  });
  after(() => promised.stop());

  test("the list is complete: six kinds in every version served", () => {
    assert.equal(refused.length, 6);
    assert.equal(served.length, 10);
  });

  for (const { group, version, resource, kind } of served) {
    test(`${kind} of ${version} is refused by every verb that would put one in place`, async () => {
      const base = `/apis/${group}/${version}/${resource}`;
      const apiVersion = `${group}/${version}`;
      const body = { apiVersion, kind, metadata: { name: "deny-all" }, ...bodies[resource] };
      const sends = [
        ["POST", base, { body }],
        ["POST", `${base}?dryRun=All`, { body }],
        ["POST", base, { body: { ...body, metadata: { generateName: "deny-" } } }],
        [
          "PATCH",
          `${base}/deny-all?fieldManager=me`,
          { body, type: "application/apply-patch+yaml" },
        ],
      ] as const;
      for (const [method, path, sent] of sends) {
        const answer = await promised.ask(method, path, sent);
        assert.equal(answer.status, 501, `${method} ${path}: ${answer.text}`);
        const status = statusOf(answer);
        assert.equal(status.reason, "NotImplemented");
        assert.match(status.message ?? "", new RegExp(`^${kind} is not supported: this server`));
        assert.equal(status.details?.kind, resource);
      }
      const list = await promised.ask("GET", base);
      assert.equal(list.status, 200, "reading still works");
      assert.deepEqual(list.json["items"], [], "nothing was stored");
      assert.equal((await promised.ask("DELETE", `${base}/deny-all`)).status, 404);
    });
  }

  test("discovery still tells of them", async () => {
    const { text } = await promised.ask("GET", "/apis/admissionregistration.k8s.io/v1");
    for (const { resource } of refused) assert.match(text, new RegExp(`"name":"${resource}"`));
  });
});

describe("policies of an older data directory", () => {
  const base = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const body = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "old", finalizers: ["example.com/keep"] },
    webhooks: [],
  };

  test("are told of at the start and when read, cannot be changed, and can be deleted", async () => {
    let isNew = false;
    const plugin = {
      name: "Switch",
      mutate: (request: Parameters<NonNullable<(typeof unservedKindsPlugin)["mutate"]>>[0]) =>
        isNew
          ? (unservedKindsPlugin.mutate?.(request) ?? request.object ?? {})
          : (request.object ?? {}),
    };
    const plane = await openPlane({ plugins: [plugin] });
    assert.equal((await ask(plane, "POST", base, { body })).status, 201);
    isNew = true;
    const { log, lines } = keptLog();
    logUnservedObjects(plane.server.catalog, log);
    assert.deepEqual(
      lines.map(({ level, fields }) => [level, fields]),
      [["warn", { count: 1, names: ["old"] }]],
    );
    for (const path of [base, `${base}/old`]) {
      const read = await ask(plane, "GET", path);
      assert.match(String(read.headers["warning"]), /is not supported: this server does not call/);
    }
    const type = "application/merge-patch+json";
    const patch = { body: { metadata: { labels: { a: "b" } } }, type };
    assert.equal((await ask(plane, "PATCH", `${base}/old`, patch)).status, 501);
    assert.equal((await ask(plane, "PUT", `${base}/old`, { body })).status, 501);
    assert.equal((await ask(plane, "DELETE", `${base}/old`)).status, 200);
    const release = { body: { metadata: { finalizers: null } }, type };
    assert.equal((await ask(plane, "PATCH", `${base}/old`, release)).status, 200);
    assert.equal((await ask(plane, "GET", `${base}/old`)).status, 404);
    await plane.close();
  });
});

describe("kinds that wait for a controller", () => {
  const waiting: readonly (readonly [path: string, body: object, warning: RegExp])[] = [
    [
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: "tools.example.com" },
        spec: {
          group: "example.com",
          scope: "Namespaced",
          names: { plural: "tools", singular: "tool", kind: "Tool", listKind: "ToolList" },
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: "object" } },
            },
          ],
        },
      },
      /CustomResourceDefinition is stored but not served yet/,
    ],
    [
      "/apis/apiregistration.k8s.io/v1/apiservices",
      {
        apiVersion: "apiregistration.k8s.io/v1",
        kind: "APIService",
        metadata: { name: "v1.example.com" },
        spec: {
          group: "example.com",
          version: "v1",
          service: { name: "s", namespace: "default" },
          groupPriorityMinimum: 100,
          versionPriority: 100,
        },
      },
      /APIService is stored, but this server does not forward/,
    ],
    [
      "/apis/networking.k8s.io/v1/servicecidrs",
      {
        apiVersion: "networking.k8s.io/v1",
        kind: "ServiceCIDR",
        metadata: { name: "more" },
        spec: { cidrs: ["10.200.0.0/24"] },
      },
      /ServiceCIDR is stored, but services get addresses of the server's own range/,
    ],
  ];

  test("are stored with a warning, and no condition claims that they work", async () => {
    const promised = await startPromised();
    try {
      for (const [path, body, warning] of waiting) {
        const answer = await promised.ask("POST", path, { body });
        assert.equal(answer.status, 201, answer.text);
        assert.match(answer.warnings, warning);
        assert.doesNotMatch(answer.text, /"status":"True"/);
      }
      const plain = await promised.ask("POST", "/api/v1/namespaces", {
        body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "plain" } },
      });
      assert.equal(plain.warnings, "");
    } finally {
      await promised.stop();
    }
  });
});
