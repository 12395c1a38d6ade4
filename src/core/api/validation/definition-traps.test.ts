/** Definitions as people get them wrong: findings as Kubernetes 1.36.3 words them, and what is stored of the rest. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { strategyFor } from "../strategies/strategies.ts";
import { created, onCreate } from "./testing/findings.ts";

function definition(spec: object): string {
  const schema = { openAPIV3Schema: { type: "object" } };
  const version = { name: "v1", served: true, storage: true, schema };
  const names = { plural: "as", singular: "a", kind: "A", listKind: "AList" };
  return JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "as.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names,
      versions: [version],
      conversion: { strategy: "None" },
      ...spec,
    },
  });
}

const at = "spec.conversion.webhookClientConfig.service.path";
const label = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters";

const paths: readonly (readonly [path: string, findings: readonly string[]])[] = [
  ["", []],
  ["/", []],
  ["/convert", []],
  ["/a/b.c/", []],
  ["//", [`${at}: Invalid value: "//": segment[0] may not be empty`]],
  [
    "x",
    [
      `${at}: Invalid value: "x": must start with a '/'`,
      `${at}: Invalid value: "x": segment[0] may not be empty`,
    ],
  ],
  ["/a//b", [`${at}: Invalid value: "/a//b": segment[1] may not be empty`]],
  ["/Convert/a_b", [`segment[0]: ${label}`, `segment[1]: ${label}`]],
];

test("the path of a webhook's Service is made of DNS names", () => {
  for (const [path, expected] of paths) {
    const clientConfig = { service: { name: "n", namespace: "ns", port: 443, path } };
    const webhook = { clientConfig, conversionReviewVersions: ["v1"] };
    const found = onCreate(definition({ conversion: { strategy: "Webhook", webhook } }));
    assert.equal(found.length, expected.length, found.join("\n"));
    expected.forEach((text, index) => assert.ok(found[index]?.includes(text), text));
  }
});

test("of several storage versions only the first counts as stored", () => {
  const schema = { openAPIV3Schema: { type: "object" } };
  const version = { served: true, storage: true, schema };
  const versions = [
    { name: "v1", ...version },
    { name: "v2", ...version },
  ];
  const made = created(definition({ versions }));
  assert.deepEqual((made["status"] as { storedVersions: unknown }).storedVersions, ["v1"]);
  assert.ok(
    onCreate(definition({ versions })).includes(
      'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
    ),
  );
});

test("a conversion webhook that says nothing is not stored", () => {
  const strategy = strategyFor("apiextensions.k8s.io", "customresourcedefinitions");
  const cases = [
    [{}, undefined],
    [{ conversionReviewVersions: ["v1"] }, { conversionReviewVersions: ["v1"] }],
  ] as const;
  for (const [webhook, expected] of cases) {
    const made = created(definition({ conversion: { strategy: "None", webhook } }));
    const { conversion } = made["spec"] as { conversion: { webhook?: object } };
    assert.deepEqual(conversion.webhook, expected);
    const updated = strategy.prepareForUpdate(made, made)["spec"] as typeof made & {
      conversion: { webhook?: object };
    };
    assert.deepEqual(updated.conversion.webhook, expected);
  }
});
