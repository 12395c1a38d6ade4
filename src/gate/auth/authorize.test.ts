/** Authorizers in order, some of which answer later. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attributes, Authorizer, Decision } from "./auth.ts";
import { unionAuthorizer } from "./authorize.ts";

const asked: Attributes = {
  user: { name: "jane", groups: [] },
  verb: "get",
  path: "",
  isResourceRequest: true,
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "p",
};
const none = (reason: string): Decision => ({ allowed: false, denied: false, reason });
const allow: Decision = { allowed: true, denied: false, reason: "yes" };
const deny: Decision = { allowed: false, denied: true, reason: "never" };

function saying(decision: Decision, isLater = false, error?: string): Authorizer {
  const incomplete = error !== undefined;
  return {
    authorize: () => (isLater ? Promise.resolve(decision) : decision),
    rulesFor: () => ({ rules: [], incomplete, ...(incomplete ? { error } : {}) }),
  };
}

test("authorizers that answer at once are not waited for", () => {
  const decision = unionAuthorizer([saying(none("a")), saying(allow)]).authorize(asked);
  assert.deepEqual(decision, allow);
});

test("one that answers later keeps its place in the order", async () => {
  const later = (decision: Decision): Authorizer => saying(decision, true);
  assert.deepEqual(
    await unionAuthorizer([later(deny), saying(allow)]).authorize(asked),
    deny,
    "a denial ends the round",
  );
  assert.deepEqual(
    await unionAuthorizer([later(none("a")), saying(allow)]).authorize(asked),
    allow,
  );
  assert.deepEqual(
    await unionAuthorizer([saying(none("a")), later(none("b")), later(none("c"))]).authorize(asked),
    none("a\nb\nc"),
  );
});

test("why rules are missing is told once each", () => {
  const union = (...errors: string[]): string | undefined =>
    unionAuthorizer(errors.map((error) => saying(allow, false, error))).rulesFor(asked.user, "ns")
      .error;
  assert.equal(union(), undefined);
  assert.equal(union("a", "a"), "a");
  assert.equal(union("a", "b"), "[a, b]");
});
