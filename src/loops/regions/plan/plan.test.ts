/** What a region's object is, how far it may go, and what a budget leaves to each region. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Override } from "../placement.ts";
import { dependenciesOf } from "./dependencies.ts";
import { disruptionShares } from "./disruption-shares.ts";
import { pace } from "./pace.ts";
import { regionObject } from "./region-object.ts";

const web: AnyObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "web",
    namespace: "shop",
    uid: "u1",
    generation: 3,
    resourceVersion: "9",
    labels: { app: "web" },
    annotations: { note: "kept", "deployment.kubernetes.io/revision": "2" },
    finalizers: ["x/y"],
  },
  spec: {
    replicas: 9,
    template: {
      spec: {
        serviceAccountName: "runner",
        containers: [{ name: "main", image: "web:1", envFrom: [{ secretRef: { name: "keys" } }] }],
        volumes: [{ name: "c", configMap: { name: "settings" } }],
      },
    },
  },
  status: { replicas: 4 },
};

const eu = { name: "eu", labels: { continent: "europe" } };
const options = { placementUid: "p1", region: eu, overrides: [] as readonly Override[] };

test("an object of a region has the fields of its source, its own replicas, and our marks", () => {
  const made = regionObject(web, { ...options, replicas: 4 });
  assert.deepEqual(made.metadata, {
    name: "web",
    namespace: "shop",
    labels: { app: "web", "regions.pilothouse.dev/placement": "p1" },
    annotations: {
      note: "kept",
      "regions.pilothouse.dev/source-uid": "u1",
      "regions.pilothouse.dev/source-generation": "3",
      "regions.pilothouse.dev/applied":
        made.metadata?.annotations?.["regions.pilothouse.dev/applied"],
    },
  });
  assert.equal((made["spec"] as { replicas: number }).replicas, 4);
  assert.equal("status" in made, false);
  assert.deepEqual(made, regionObject(structuredClone(web), { ...options, replicas: 4 }));
});

const image = { op: "replace", path: "/spec/template/spec/containers/0/image", value: "eu/web:1" };
const override = (fields: Partial<Override>): Override => ({
  regions: [],
  selector: {},
  kind: "",
  patches: [image],
  ...fields,
});

test("overrides are for regions by name or label and for kinds, and cannot make another object of it", () => {
  const imageOf = (each: Override): unknown => {
    const made = regionObject(web, { ...options, overrides: [each] });
    return JSON.stringify(made["spec"]).includes("eu/web:1");
  };
  assert.equal(imageOf(override({ regions: ["eu"] })), true);
  assert.equal(imageOf(override({ regions: ["us"] })), false);
  assert.equal(imageOf(override({ selector: { matchLabels: { continent: "europe" } } })), true);
  assert.equal(imageOf(override({ kind: "Job" })), false);
  const evil = [
    { op: "replace", path: "/kind", value: "ClusterRoleBinding" },
    { op: "replace", path: "/apiVersion", value: "rbac.authorization.k8s.io/v1" },
    { op: "add", path: "/metadata/name", value: "root" },
    { op: "add", path: "/metadata/namespace", value: "kube-system" },
    { op: "add", path: "/metadata/ownerReferences", value: [{ uid: "x" }] },
    { op: "add", path: "/metadata/labels/regions.pilothouse.dev~1placement", value: "other" },
  ];
  const made = regionObject(web, { ...options, overrides: [override({ patches: evil })] });
  assert.equal(made.kind, "Deployment");
  assert.equal(made.apiVersion, "apps/v1");
  assert.deepEqual([made.metadata?.name, made.metadata?.namespace], ["web", "shop"]);
  assert.equal(made.metadata?.ownerReferences, undefined);
  assert.equal(made.metadata?.labels?.["regions.pilothouse.dev/placement"], "p1");
});

test("what a template names is a dependency, but for what every namespace has", () => {
  const named = dependenciesOf(web, ["ConfigMap", "Secret", "ServiceAccount"]);
  const texts = named.map(({ kind, name }) => `${kind}/${name}`);
  assert.deepEqual(texts, ["ConfigMap/settings", "Secret/keys", "ServiceAccount/runner"]);
  assert.deepEqual(dependenciesOf(web, ["ConfigMap"]).length, 1);
});

test("a move makes new replicas before it takes old ones, within the surge", () => {
  const step = (asked: readonly number[], ready: readonly number[]): readonly number[] => {
    const shares = [0, 4];
    const regions = shares.map((share, i) => ({
      name: `r${i}`,
      share,
      asked: asked[i] ?? 0,
      ready: ready[i] ?? 0,
    }));
    return [...pace(4, 1, regions).values()];
  };
  assert.deepEqual(step([4, 0], [4, 0]), [4, 1]);
  assert.deepEqual(step([4, 1], [4, 0]), [4, 1]);
  assert.deepEqual(step([4, 1], [4, 1]), [3, 1]);
  assert.deepEqual(step([3, 1], [3, 1]), [3, 2]);
  // Nothing is ready anywhere: nothing is held back.
  assert.deepEqual(step([4, 1], [0, 0]), [0, 1]);
});

test("random moves end at the shares, never above the surge, and never below what was ready", () => {
  const random = new FakeRandom(17);
  for (let run = 0; run < 100; run++) {
    const names = ["a", "b", "c"];
    const shares = names.map(() => random.below(6));
    const total = shares.reduce((a, b) => a + b, 0);
    const surge = 1 + random.below(2);
    let asked = names.map(() => random.below(6));
    let ready = asked.map((most) => random.below(most + 1));
    for (let step = 0; step < 60; step++) {
      const regions = names.map((name, i) => ({
        name,
        share: shares[i] ?? 0,
        asked: asked[i] ?? 0,
        ready: ready[i] ?? 0,
      }));
      const next = [...pace(total, surge, regions).values()];
      const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
      assert.ok(sum(next) <= Math.max(total + surge, sum(asked)));
      const stay = ready.map((count, i) => Math.min(count, next[i] ?? 0));
      assert.ok(sum(stay) >= Math.min(total, sum(ready)));
      asked = next;
      ready = stay.map((count, i) => Math.min(next[i] ?? 0, count + random.below(3)));
    }
    assert.deepEqual(asked, shares);
  }
});

test("a global budget is divided, and never exceeded in sum", () => {
  const regions = (reachable: readonly boolean[]) =>
    [3, 3, 3].map((replicas, i) => ({
      name: `r${i}`,
      replicas,
      isReachable: reachable[i] ?? true,
    }));
  const text = (spec: object, reachable: readonly boolean[] = []): string => {
    const shares = disruptionShares({ spec } as unknown as AnyObject, regions(reachable));
    return shares === undefined ? "none" : [...shares.values()].join(" ");
  };
  assert.equal(text({ maxUnavailable: 2 }), "1 1 0");
  assert.equal(text({ maxUnavailable: "10%" }), "1 0 0");
  assert.equal(text({ minAvailable: 5 }), "2 1 1");
  // Three replicas are not reachable: of four that may be missing, one is left for the others.
  assert.equal(text({ minAvailable: 5 }, [false, true, true]), "1 0");
  assert.equal(text({ maxUnavailable: 2 }, [false, true, true]), "0 0");
  assert.equal(text({ minAvailable: "100%" }), "0 0 0");
  assert.equal(text({}), "none");
});
