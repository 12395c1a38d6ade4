/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SeenObject } from "../evidence.ts";
import { secondsAgo, seen } from "../testing/evidence.ts";
import { stuckNamespaces } from "./namespaces.ts";

function terminating(seconds: number, conditions: object[] = []): SeenObject {
  const status = { conditions } as NonNullable<SeenObject["status"]>;
  const metadata = { name: "shop", deletionTimestamp: secondsAgo(seconds), finalizers: ["a.b/c"] };
  return { metadata, spec: { finalizers: ["kubernetes"] }, status };
}

const away = {
  type: "NamespaceDeletionDiscoveryFailure",
  status: "True",
  message: "metrics.k8s.io/v1beta1: stale",
};

test("a namespace that is Terminating for six minutes is named, with the group that holds it", () => {
  const [verdict] = stuckNamespaces.judge(seen({ namespaces: [terminating(360, [away])] }));
  assert.equal(verdict?.sentence, "namespace shop is Terminating for 6 minutes");
  assert.equal(verdict.culprit, away.message);
});

test("without a condition its finalizers are named, and what is missing is said", () => {
  const [verdict] = stuckNamespaces.judge(seen({ namespaces: [terminating(360)] }));
  assert.equal(verdict?.culprit, "finalizers a.b/c, kubernetes");
  assert.notEqual(verdict.unseen, undefined);
});

test("a namespace that is Terminating for four minutes, or not at all, is well", () => {
  const living: SeenObject = { metadata: { name: "shop" } };
  assert.deepEqual(
    stuckNamespaces.judge(seen({ namespaces: [terminating(240, [away]), living] })),
    [],
  );
});
