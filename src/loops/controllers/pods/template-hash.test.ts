/** Hashes and revision data of templates, compared with what upstream made of the same templates. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { PodTemplateSpec } from "#api/gen/types.ts";
import { goJson } from "#api/go/go-json.ts";
import { dataHash, templateHash } from "./template-hash.ts";
import { restoringPatch } from "./template-json.ts";

/** Recorded from upstream 1.36.3: ComputeHash and the patch of its DaemonSet controller. */
interface Recorded {
  readonly name: string;
  readonly template: PodTemplateSpec;
  readonly hash: string;
  readonly hashOfZero: string;
  readonly hashOfOne: string;
  readonly patch: string;
  /** From the name that a stock controller manager gave a StatefulSet's revision. */
  readonly statefulSetHash?: string;
}

const file = new URL("testdata/templates.json", import.meta.url);
const recorded = JSON.parse(readFileSync(file, "utf8")) as readonly Recorded[];

for (const { name, template, hash, hashOfZero, hashOfOne, patch } of recorded) {
  test(`the hash is upstream's: ${name}`, () => {
    assert.equal(templateHash(template, undefined), hash);
    assert.equal(templateHash(template, 0), hashOfZero);
    assert.equal(templateHash(template, 1), hashOfOne);
  });

  test(`the data of a revision is what Go's encoder makes, byte for byte: ${name}`, () => {
    assert.equal(goJson(restoringPatch(template)), patch);
  });
}

test("zero values that a client has spelled out do not count, as in a Go struct", () => {
  const { template, hash, patch } = recorded[0] ?? assert.fail("nothing is recorded");
  const spelled = {
    ...template,
    spec: {
      containers: [],
      ...template.spec,
      hostNetwork: false,
      nodeName: "",
      nodeSelector: {},
      volumes: [],
    },
  };
  assert.equal(templateHash(spelled, undefined), hash);
  assert.equal(goJson(restoringPatch(spelled)), patch);
});

test("a StatefulSet's revision is hashed over its data and the collision count", () => {
  const known = recorded.filter(({ statefulSetHash }) => statefulSetHash !== undefined);
  assert.equal(known.length, 2);
  for (const { patch, statefulSetHash } of known) {
    assert.equal(dataHash(patch, 0), statefulSetHash);
    assert.notEqual(dataHash(patch, 1), statefulSetHash);
  }
});
