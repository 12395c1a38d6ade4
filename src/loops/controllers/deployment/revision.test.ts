/** Which ReplicaSet is the newest, and what its annotations remember. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, ReplicaSet } from "#api/gen/types.ts";
import { templateHash } from "../pods/template-hash.ts";
import { template } from "../testing/world.ts";
import * as revision from "./revision.ts";

const deployment: Deployment = {
  metadata: { name: "web", annotations: { note: "n", [revision.revisionAnnotation]: "9" } },
  spec: { selector: {}, template },
};

function replicaSet(name: string, second: number, hash: string): ReplicaSet {
  const labels = { ...template.metadata.labels, [revision.hashLabel]: hash };
  return {
    metadata: { name, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
    spec: { selector: {}, template: { ...template, metadata: { labels } } },
  };
}

test("the newest ReplicaSet has the Deployment's template, hash aside; of several the oldest", () => {
  const other = { ...replicaSet("z", 0, "h"), spec: { selector: {}, template: {} } };
  const sets = [other, replicaSet("b", 2, "x"), replicaSet("a", 1, "y")];
  assert.equal(revision.findNewReplicaSet(deployment, sets)?.metadata?.name, "a");
  assert.equal(revision.findNewReplicaSet(deployment, [other]), undefined);
});

const annotations: readonly (readonly [
  string,
  Record<string, string>,
  bigint,
  Record<string, string>,
])[] = [
  ["a new one gets its number", {}, 3n, { revision: "3", note: "n" }],
  ["what it had stays", { own: "o" }, 1n, { own: "o", note: "n", revision: "1" }],
  [
    "an old number becomes history",
    { revision: "1" },
    4n,
    { revision: "4", history: "1", note: "n" },
  ],
  [
    "history grows",
    { revision: "4", history: "1,2" },
    6n,
    { revision: "6", history: "1,2,4", note: "n" },
  ],
  [
    "a number beyond 2^53 keeps its digits",
    { revision: "3546343826724305832" },
    3546343826724305833n,
    { revision: "3546343826724305833", history: "3546343826724305832", note: "n" },
  ],
  ["what is no number stays", { revision: "v7" }, 8n, { revision: "v7", note: "n" }],
  ["a number never falls", { revision: "7" }, 3n, { revision: "7", note: "n" }],
];
const keys: Readonly<Record<string, string>> = {
  revision: revision.revisionAnnotation,
  history: revision.revisionHistoryAnnotation,
};
const full = (short: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(short).map(([key, value]) => [keys[key] ?? key, value]));
for (const [what, current, next, expected] of annotations) {
  test(`annotations of the newest: ${what}`, () => {
    assert.deepEqual(revision.newestAnnotations(deployment, full(current), next), full(expected));
  });
}

test("the next revision is exact to 64 bits, and wraps as Go's int64", () => {
  const at = (text: string) => ({
    metadata: { annotations: { [revision.revisionAnnotation]: text } },
  });
  const next = (...texts: string[]) =>
    revision.nextRevision(texts.map((text) => at(text) as never));
  assert.equal(next("3546343826724305832", "7"), 3546343826724305833n);
  assert.equal(next("1e3", "2"), 3n);
  assert.equal(next(), 1n);
  assert.equal(next("9223372036854775807"), -9223372036854775808n);
});

test("history forgets its oldest numbers at 2000 characters", () => {
  const history = Array.from({ length: 500 }, (_one, at) => String(at + 1000)).join(",");
  const next = revision.newestAnnotations(deployment, full({ revision: "1999", history }), 2000n);
  const kept = next[revision.revisionHistoryAnnotation] ?? "";
  assert.ok(kept.length <= 2000 && kept.endsWith(",1999"));
});

test("names fit, and the hash depends on content and collisions only", () => {
  const long = { metadata: { name: "x".repeat(253) } };
  assert.equal(revision.replicaSetName(long, "abc").length, 253);
  const shuffled = { spec: template.spec, metadata: template.metadata };
  assert.equal(templateHash(shuffled, 0), templateHash(template, 0));
  assert.notEqual(templateHash(template, 1), templateHash(template, 0));
});
