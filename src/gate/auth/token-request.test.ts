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
const warned: string[] = [];
const serve = (spec: object, metadata: object = {}, name = "app") =>
  serveTokenRequest({ clock, lookup, tokens, warn: (text) => warned.push(text) }, "ns", name, {
    metadata,
    spec,
  });
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

test("a token that is asked for longer than the maximum is shortened, with upstream's warning", () => {
  warned.length = 0;
  const lifetimes = { maxSeconds: 7_200, extend: false };
  const deps = { clock, lookup, tokens, lifetimes, warn: (text: string) => warned.push(text) };
  const answer = serveTokenRequest(deps, "ns", "app", { spec: { expirationSeconds: 7_201 } });
  assert.equal((answer["spec"] as { expirationSeconds: number }).expirationSeconds, 7_200);
  assert.deepEqual(warned, ["requested expiration of 7201 seconds shortened to 7200 seconds"]);
});

test("a pod's token as admission asks for it lives a year, and its late use is noted", () => {
  const later = new FakeClock({ startMs: clock.nowMs() });
  const uses: boolean[] = [];
  const extending = new ServiceAccountTokens(
    { clock: later, random, lookup },
    {
      issuer: "iss",
      apiAudiences: ["iss"],
      privateKey: makeKeyPair().privateKey,
      olderPublicKeys: [],
      extendedUsed: (isStale) => uses.push(isStale),
    },
  );
  const lifetimes = { maxSeconds: 0, extend: true };
  const ask = (spec: object): string => {
    const deps = { clock: later, lookup, tokens: extending, lifetimes, warn: () => {} };
    const { status } = serveTokenRequest(deps, "ns", "app", { spec }) as unknown as {
      readonly status: { readonly token: string; readonly expirationTimestamp: string };
    };
    assert.equal(status.expirationTimestamp, "2026-01-01T01:00:07Z");
    return status.token;
  };
  const extended = ask({ boundObjectRef: podRef, expirationSeconds: 3_607 });
  // Not of a pod, or for others: as asked for.
  const plain = [
    ask({ expirationSeconds: 3_607 }),
    ask({ boundObjectRef: podRef, expirationSeconds: 3_607, audiences: ["iss", "vault"] }),
  ];
  const fresh = extending.authenticateToken(extended, []);
  assert.ok(fresh.kind === "user" && fresh.note === undefined);
  later.tick(3_700_000);
  for (const token of plain) assert.equal(extending.authenticateToken(token, []).kind, "rejected");
  const stale = extending.authenticateToken(extended, []);
  assert.deepEqual(stale.kind === "user" && stale.note, {
    key: "authentication.k8s.io/stale-token",
    value: "subject: system:serviceaccount:ns:app, seconds after warning threshold: 93",
  });
  assert.deepEqual(uses, [false, true]);
  later.tick(366 * 86_400_000);
  assert.equal(extending.authenticateToken(extended, []).kind, "rejected");
});
