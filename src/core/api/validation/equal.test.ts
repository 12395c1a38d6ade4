/** Two values have one key exactly if they are semantically equal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { exactInteger } from "#base/exact-json.ts";
import { semanticEqual, semanticKey } from "./equal.ts";

const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(
      null,
      undefined,
      0,
      1,
      exactInteger(2n ** 60n),
      "",
      "a",
      "1",
      false,
      true,
      [],
      {},
    ),
    fc.array(tie("json"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "labels", "replicas", "optional"), tie("json"), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
}));

/** JSON has no undefined in lists. */
function isJson(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => item !== undefined && isJson(item));
  return typeof value !== "object" || value === null || Object.values(value).every(isJson);
}

test("semanticKey tells apart what semanticEqual does", () => {
  fc.assert(
    fc.property(json.filter(isJson), json.filter(isJson), (a, b) => {
      assert.equal(semanticKey(a) === semanticKey(b), semanticEqual(a, b));
    }),
    { numRuns: 10_000 },
  );
});
