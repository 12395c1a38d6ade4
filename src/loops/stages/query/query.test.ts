/** Queries of selectors and delays, as jq answers them; nulls are left out, as kwok leaves them out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileQuery } from "./query.ts";

const pod = {
  metadata: { name: "web", labels: { "a.b/c": "1" }, finalizers: [], deletionTimestamp: null },
  status: {
    phase: "Running",
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Initialized", status: "False" },
    ],
  },
  spec: { replicas: 3, containers: [{ name: "x" }, { name: "y" }] },
};

const cases: readonly (readonly [query: string, values: readonly unknown[] | undefined])[] = [
  [".", [pod]],
  [".metadata.name", ["web"]],
  ['.metadata.labels["a.b/c"]', ["1"]],
  ['.metadata.labels."a.b/c"', ["1"]],
  [".metadata.deletionTimestamp", []],
  [".metadata.absent.below", []],
  [".metadata.constructor", []],
  [".metadata.name.below", undefined],
  ['.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"]],
  [".status.conditions[].type", ["Ready", "Initialized"]],
  [".status.conditions[1].status, .spec.containers[-1].name", ["False", "y"]],
  [".spec.absent[]", undefined],
  [".spec.absent[]?", []],
  ['.absent // "other"', ["other"]],
  ['.spec.replicas > 2 and .status.phase == "Running" | not', [false]],
  ["[.spec.containers[].name] | length", [2]],
  ['.spec.containers | map(.name) | join("-")', ["x-y"]],
  ['if .spec.replicas >= 3 then "many" else "few" end', ["many"]],
  [".spec.replicas * 2 + 1", [7]],
  ['.metadata | has("name")', [true]],
  ['.metadata.name | startswith("w")', [true]],
  ["any(.status.conditions[]; .x)", undefined],
  ['.status.conditions | any(.status == "False")', [true]],
  [".spec | keys", [["containers", "replicas"]]],
];

for (const [text, values] of cases) {
  if (text.startsWith("any(")) {
    test("functions that are not jq's subset here are refused", () => {
      assert.throws(() => compileQuery(text), /any\/2 is not among those of stages/);
    });
  } else {
    test(`query ${text}`, () => assert.deepEqual(compileQuery(text).values(pod), values));
  }
}

for (const text of [
  "",
  ".a.",
  "(.a",
  "def f: f; f",
  ".. | .a",
  "reduce .[] as $x (0; 1)",
  ".a | @sh",
]) {
  test(`query ${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => compileQuery(text), { name: "TemplateError" });
  });
}
