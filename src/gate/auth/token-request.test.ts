/** TokenRequest: what is served and what is refused, with upstream texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { ApiError } from "#api/status.ts";
import { makeKeyPair } from "./pki.ts";
import { ServiceAccountTokens } from "./service-account-token.ts";
import { FakeLookup } from "./testing.ts";
import { serveTokenRequest } from "./token-request.ts";

const clock = new FakeClock({ startMs: Date.UTC(2026, 0, 1) });
const lookup = new FakeLookup([
  {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "app", namespace: "ns", uid: "s" },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", uid: "u" },
    spec: { serviceAccountName: "app", nodeName: "n1" },
  },
]);
const random = new FakeRandom(1);
const tokens = new ServiceAccountTokens(
  { clock, random, lookup },
  {
    issuer: "iss",
    apiAudiences: ["iss"],
    privateKey: makeKeyPair().privateKey,
    olderPublicKeys: [],
  },
);
const serve = (spec: object, metadata: object = {}, name = "app") =>
  serveTokenRequest({ clock, lookup, tokens }, "ns", name, { metadata, spec });
const refused = (f: () => unknown): string => {
  try {
    f();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return `${error.code} ${error.message}`;
  }
  return "served";
};
const podRef = { kind: "Pod", apiVersion: "v1", name: "p" };

test("a request is answered with a token that authenticates", () => {
  const answer = serve({ boundObjectRef: podRef });
  const status = answer["status"] as { token: string; expirationTimestamp: string };
  assert.equal(status.expirationTimestamp, "2026-01-01T01:00:00Z");
  assert.equal(answer.metadata?.creationTimestamp, "2026-01-01T00:00:00Z");
  assert.deepEqual((answer["spec"] as { audiences: string[] }).audiences, ["iss"]);
  const result = tokens.authenticateToken(status.token, []);
  assert.ok(result.kind === "user");
  assert.deepEqual(result.user.extra?.["authentication.kubernetes.io/node-name"], ["n1"]);
});

test("what cannot be bound is refused with upstream's texts", () => {
  assert.equal(
    refused(() => serve({ expirationSeconds: 60 })),
    '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes',
  );
  assert.equal(
    refused(() => serve({}, {}, "none")),
    '404 serviceaccounts "none" not found',
  );
  assert.match(
    refused(() => serve({ boundObjectRef: { ...podRef, uid: "x" } })),
    /^409 .*in record/,
  );
  assert.match(
    refused(() => serve({}, { uid: "x" })),
    /^409 .*the UID in the token request \(x\)/,
  );
  assert.match(
    refused(() => serve({}, { name: "b" })),
    /^422 .*must match the service account name/,
  );
  assert.equal(
    refused(() => serve({ boundObjectRef: { kind: "Deployment", apiVersion: "apps/v1" } })),
    "400 cannot bind token to object of type apps/v1, Kind=Deployment",
  );
});
