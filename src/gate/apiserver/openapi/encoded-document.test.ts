/** A document in steps is the document at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "#api/object.ts";
import { allSteps } from "#base/steps.ts";
import { encodeJson, encodeJsonSteps } from "./encoded-document.ts";

for (const document of [
  {},
  { a: {} },
  {
    swagger: "2.0",
    paths: { "/a": { get: {} }, '/"b"': [1, null, "ü"] },
    list: [1],
    definitions: {},
  },
] as readonly JsonObject[]) {
  test(`a document in steps is the document at once: ${JSON.stringify(document)}`, () => {
    const { body, hash } = allSteps(encodeJsonSteps(document));
    const whole = encodeJson(document);
    assert.deepEqual(
      [Buffer.from(body).toString(), hash],
      [Buffer.from(whole.body).toString(), whole.hash],
    );
  });
}

test("a step of a document is one of its members", () => {
  const paths = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`/${at}`, {}]));
  let steps = 0;
  for (const _ of encodeJsonSteps({ paths })) steps++;
  assert.ok(steps > 100);
});
