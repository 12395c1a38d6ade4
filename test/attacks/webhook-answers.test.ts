/** Random and broken AdmissionReview answers: each is a verdict or a refusal with a reason, in bounded time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CallError } from "../../src/gate/extension/webhooks/call-error.ts";
import { readVerdict } from "../../src/gate/extension/webhooks/verdict.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const asked = { type: "mutating", version: "v1", uid: "u" } as const;

const field = (good: unknown): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(good) }, fc.jsonValue({ maxDepth: 3 }));

const patch = Buffer.from('[{"op":"add","path":"/metadata/labels","value":{}}]').toString("base64");
const review = fc.record(
  {
    apiVersion: field("admission.k8s.io/v1"),
    kind: field("AdmissionReview"),
    response: fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          uid: field("u"),
          allowed: field(true),
          patch: fc.oneof(field(patch), fc.base64String()),
          patchType: field("JSONPatch"),
          warnings: field(["w"]),
          status: field({ code: 403, message: "no" }),
          auditAnnotations: field({ key: "value" }),
        },
        { requiredKeys: [] },
      ),
    ),
  },
  { requiredKeys: [] },
);

/** What is believed has the types that its readers rely on. */
function check(bytes: Uint8Array): void {
  for (const type of ["mutating", "validating"] as const) {
    try {
      const verdict = readVerdict(bytes, { ...asked, type });
      assert.equal(typeof verdict.allowed, "boolean");
      assert.ok(verdict.warnings.every((text) => typeof text === "string"));
      assert.ok(Object.values(verdict.annotations).every((text) => typeof text === "string"));
      if (type === "validating") assert.equal(verdict.patch, undefined);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      assert.notEqual(error.message, "");
      assert.ok(error.message.length < 10_000, "a reason does not repeat the answer");
    }
  }
}

test("an answer is read into the types of a verdict, or refused with a reason", () => {
  const property = fc.property(review, (value) => check(Buffer.from(JSON.stringify(value))));
  fc.assert(property, { seed, numRuns: 2_000 });
});

test("bytes that are no review are refused", () => {
  const bytes = fc.property(fc.uint8Array({ maxLength: 200 }), (value) => check(value));
  fc.assert(bytes, { seed, numRuns: 1_000 });
  for (const text of ["", "null", "[]", "{}", '{"response":null}', "[".repeat(100_000)])
    assert.throws(() => readVerdict(Buffer.from(text), asked), CallError, text.slice(0, 40));
});
