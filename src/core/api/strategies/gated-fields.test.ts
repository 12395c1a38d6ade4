/** Fields of features that are off in 1.36 are dropped, and stay where they are in use. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "../object.ts";
import { strategyFor } from "./strategies.ts";
import { isFields } from "../validation/fields.ts";
import { dropGatedFields, gatedFields } from "./gated-fields.ts";

/** An object with `value` at the path, beside another field at each step. */
function objectWith(path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const inner = objectWith(rest, value);
  return name === "*" ? [inner, inner] : { other: 1, [name]: inner };
}

function valuesAt(object: unknown, path: readonly string[]): unknown[] {
  const [name, ...rest] = path;
  if (name === undefined) return object === undefined ? [] : [object];
  if (name !== "*") return isFields(object) ? valuesAt(object[name], rest) : [];
  return Array.isArray(object) ? object.flatMap((one) => valuesAt(one, rest)) : [];
}

const rows = Object.entries(gatedFields).flatMap(([resource, fields]) =>
  fields.map((one) => ({ resource, fields, ...one })),
);

test("each of these fields goes, its neighbours stay, and it is kept once it is stored", () => {
  for (const { resource, fields, path, gate } of rows) {
    const name = `${resource}: ${path.join(".")} (${gate})`;
    const object = objectWith(path, "x") as AnyObject;
    const dropped = dropGatedFields(fields, object, undefined);
    assert.deepEqual(valuesAt(dropped, path), [], name);
    const beside = [...path.slice(0, -1), "other"];
    assert.deepEqual(valuesAt(dropped, beside), valuesAt(object, beside), name);
    assert.deepEqual(
      valuesAt(dropGatedFields(fields, object, object), path),
      valuesAt(object, path),
    );
    assert.equal(dropGatedFields(fields, dropped, undefined), dropped, "nothing to drop, no copy");
  }
});

const pod = {
  containers: [{ name: "c", image: "i", lifecycle: { stopSignal: "SIGTERM" } }],
  schedulingGroup: { podGroupName: "g" },
  volumes: [
    {
      name: "v",
      projected: {
        sources: [
          { clusterTrustBundle: { name: "b", path: "x" } },
          { podCertificate: { signerName: "a.com/b", keyType: "ED25519" } },
          { secret: { name: "s" } },
        ],
      },
    },
  ],
};
const kept = {
  containers: [{ name: "c", image: "i" }],
  volumes: [{ name: "v", projected: { sources: [{}, {}, { secret: { name: "s" } }] } }],
};

function prepared(resource: string, object: object): AnyObject {
  const [group = "", name = ""] = resource.split("/");
  return strategyFor(group, name).prepareForCreate({ metadata: { name: "a" }, ...object });
}

test("strategies drop them on creation, wherever a pod is described", () => {
  const template = { template: { spec: pod } };
  const places: readonly (readonly [string, object, (made: AnyObject) => unknown])[] = [
    [
      "apps/deployments",
      { spec: template },
      (made) => valuesAt(made, ["spec", "template", "spec"]),
    ],
    ["batch/jobs", { spec: template }, (made) => valuesAt(made, ["spec", "template", "spec"])],
    ["/podtemplates", template, (made) => valuesAt(made, ["template", "spec"])],
    [
      "batch/cronjobs",
      { spec: { jobTemplate: { spec: template } } },
      (made) => valuesAt(made, ["spec", "jobTemplate", "spec", "template", "spec"]),
    ],
  ];
  for (const [resource, object, spec] of places) {
    assert.deepEqual(spec(prepared(resource, object)), [kept], resource);
  }
});

test("an update that would bring one drops it, and one that is stored may change", () => {
  const strategy = strategyFor("coordination.k8s.io", "leases");
  const lease = (spec: object): AnyObject => ({ metadata: { name: "a" }, spec });
  const next = lease({ holderIdentity: "h", strategy: "B", preferredHolder: "p" });
  const plain = strategy.prepareForUpdate(next, lease({ holderIdentity: "h" }));
  assert.deepEqual(plain["spec"], { holderIdentity: "h" });
  const inUse = strategy.prepareForUpdate(next, lease({ strategy: "A" }));
  assert.deepEqual(inUse["spec"], { holderIdentity: "h", strategy: "B" });
});

const claims: readonly (readonly [string, object, object | undefined, object])[] = [
  ["of another namespace", { dataSourceRef: { kind: "X", namespace: "o" } }, undefined, {}],
  ["of a kind that only the reference may name", { dataSource: { kind: "X" } }, undefined, {}],
  [
    "that is a claim",
    { dataSource: { kind: "PersistentVolumeClaim", name: "c" } },
    undefined,
    {
      dataSource: { kind: "PersistentVolumeClaim", name: "c" },
      dataSourceRef: { kind: "PersistentVolumeClaim", name: "c" },
    },
  ],
  [
    "by reference",
    { dataSourceRef: { apiGroup: "a.b", kind: "X", name: "c" } },
    undefined,
    {
      dataSource: { apiGroup: "a.b", kind: "X", name: "c" },
      dataSourceRef: { apiGroup: "a.b", kind: "X", name: "c" },
    },
  ],
  [
    "that is stored",
    { dataSourceRef: { kind: "X", namespace: "o" } },
    { dataSourceRef: { kind: "X", namespace: "o" } },
    { dataSourceRef: { kind: "X", namespace: "o" } },
  ],
];

for (const [name, spec, old, expected] of claims) {
  test(`a claim's source ${name}`, () => {
    const strategy = strategyFor("", "persistentvolumeclaims");
    const claim: AnyObject = { metadata: { name: "a" }, spec };
    const made =
      old === undefined
        ? strategy.prepareForCreate(claim)
        : strategy.prepareForUpdate(claim, { metadata: { name: "a" }, spec: old });
    assert.deepEqual(made["spec"], expected);
  });
}

test("MatchLabelKeysInPodTopologySpreadSelectorMerge: a new pod's values of the keys are selected", () => {
  const constraint = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" };
  const labelSelector = { matchLabels: { a: "b" } };
  const spread = { ...constraint, labelSelector, matchLabelKeys: ["hash", "absent"] };
  const made = strategyFor("", "pods").prepareForCreate({
    metadata: { name: "a", labels: { hash: "1" } },
    spec: { containers: [], topologySpreadConstraints: [spread] },
  });
  const expected = {
    ...spread,
    labelSelector: {
      ...labelSelector,
      matchExpressions: [{ key: "hash", operator: "In", values: ["1"] }],
    },
  };
  assert.deepEqual(valuesAt(made, ["spec", "topologySpreadConstraints", "*"]), [expected]);
});

test("ServiceCIDRStatusFieldWiping: a creator's status is dropped", () => {
  const strategy = strategyFor("networking.k8s.io", "servicecidrs");
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  const made = strategy.prepareForCreate({ metadata: { name: "a" }, spec: {}, status });
  assert.notDeepEqual(made["status"], status);
});
