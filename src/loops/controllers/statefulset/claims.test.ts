/** Owners of claims under each retention policy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, StatefulSet } from "#api/gen/types.ts";
import type { OwnerReference } from "#api/object.ts";
import { pod } from "../testing/world.ts";
import { claimOwners, firstClaimOwners, isLeftover } from "./claims.ts";
import { makeClaims, makePod, missingIdentity, ordinalOf } from "./identity.ts";

const claimTemplate: PersistentVolumeClaim = { metadata: { name: "data" }, spec: {} };

function set(whenScaled: string, whenDeleted: string): StatefulSet {
  return {
    metadata: { name: "web", namespace: "default", uid: "set" },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web" } },
      serviceName: "peers",
      template: {},
      volumeClaimTemplates: [claimTemplate],
      persistentVolumeClaimRetentionPolicy: { whenScaled, whenDeleted },
    },
  };
}

const bySet: OwnerReference = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  name: "web",
  uid: "set",
  controller: true,
  blockOwnerDeletion: true,
};
const byPod = (name: string): OwnerReference => ({
  ...bySet,
  apiVersion: "v1",
  kind: "Pod",
  name,
  uid: `uid-${name}`,
});

function claim(...ownerReferences: readonly OwnerReference[]): PersistentVolumeClaim {
  return { metadata: { name: "data-web-0", ownerReferences } };
}

/** Policy on scale and on delete; wanted owners of a wanted pod's claim, and of a surplus pod's. */
const policies = [
  ["Retain", "Retain", [], []],
  ["Retain", "Delete", [bySet], [bySet]],
  ["Delete", "Retain", [], [byPod("web-1")]],
  ["Delete", "Delete", [bySet], [byPod("web-1")]],
] as const;
for (const [onScale, onDelete, wanted, surplus] of policies) {
  test(`claims with ${onScale} when scaled and ${onDelete} when deleted`, () => {
    const given = set(onScale, onDelete);
    const every = [[], [bySet], [byPod("web-0")], [byPod("web-1")]] as const;
    for (const now of every) {
      if (now[0]?.name !== "web-1")
        assert.deepEqual(claimOwners(claim(...now), given, pod("web-0")) ?? now, wanted);
      if (now[0]?.name !== "web-0")
        assert.deepEqual(claimOwners(claim(...now), given, pod("web-1")) ?? now, surplus);
    }
    assert.deepEqual(firstClaimOwners(given), wanted);
  });
}

test("a claim of an earlier set or pod of the same name, or of another controller, is left alone", () => {
  const given = set("Delete", "Delete");
  const earlier = { ...bySet, uid: "earlier" };
  assert.equal(claimOwners(claim(earlier), given, pod("web-0")), undefined);
  const foreign = { ...bySet, kind: "Database", name: "db", uid: "db" };
  assert.equal(claimOwners(claim(foreign), given, pod("web-0")), undefined);
  assert.deepEqual(claimOwners(claim(foreign, bySet), given, pod("web-0")), [foreign]);
  const watching = { ...foreign, controller: false };
  assert.deepEqual(claimOwners(claim(watching), given, pod("web-0")), [watching, bySet]);
});

test("a claim that goes with its last pod stands in the way of the next pod of that name", () => {
  assert.equal(isLeftover(claim(byPod("web-0")), set("Delete", "Retain"), "web-0"), true);
  assert.equal(isLeftover(claim(byPod("web-0")), set("Retain", "Retain"), "web-0"), false);
  assert.equal(isLeftover(claim(bySet), set("Delete", "Delete"), "web-0"), false);
  const going = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
  assert.equal(isLeftover(going, set("Retain", "Retain"), "web-0"), true);
});

test("a pod has its name, host name, labels and claims from its ordinal", () => {
  const given = set("Retain", "Retain");
  const volumes = [{ name: "data" }, { name: "other" }];
  const made = makePod(
    given,
    { spec: { containers: [], volumes } },
    {
      ordinal: 2,
      revision: "web-abc",
      owner: bySet,
    },
  );
  assert.equal(made.metadata?.name, "web-2");
  assert.deepEqual(made.metadata?.labels, {
    "controller-revision-hash": "web-abc",
    "statefulset.kubernetes.io/pod-name": "web-2",
    "apps.kubernetes.io/pod-index": "2",
  });
  assert.equal(made.spec?.hostname, "web-2");
  assert.equal(made.spec?.subdomain, "peers");
  assert.deepEqual(made.spec?.volumes, [
    { name: "data", persistentVolumeClaim: { claimName: "data-web-2" } },
    { name: "other" },
  ]);
  assert.equal(missingIdentity(given, made), undefined);
  assert.deepEqual(missingIdentity(given, pod("web-3")), {
    "statefulset.kubernetes.io/pod-name": "web-3",
    "apps.kubernetes.io/pod-index": "3",
  });
  const [first] = makeClaims(given, 2, []);
  assert.deepEqual(first?.metadata, {
    name: "data-web-2",
    namespace: "default",
    labels: { app: "web" },
  });
});

const ordinals = [
  ["web-0", 0],
  ["web-12", 12],
  ["web-01", undefined],
  ["web-x", undefined],
  ["webb-1", undefined],
  ["web-", undefined],
] as const;
for (const [name, ordinal] of ordinals) {
  test(`the ordinal of ${name} in set web is ${ordinal}`, () => {
    assert.equal(ordinalOf(set("Retain", "Retain"), pod(name)), ordinal);
  });
}
