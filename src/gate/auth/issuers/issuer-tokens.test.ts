/** Tokens of OpenID Connect issuers: signatures, keys that are rotated, claims that become users. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TokenResult } from "../auth.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { silentLog } from "#platform/log.ts";
import type { FetchDocument } from "./issuer-keys.ts";
import { IssuerTokens } from "./issuer-tokens.ts";
import { signingAlgorithms } from "./jws.ts";
import { configured, TestIssuer } from "./testing.ts";
import type { CompiledIssuer } from "./validation.ts";

function setup(
  issuer: Pick<TestIssuer, "fetch">,
  first: readonly CompiledIssuer[] = configured({}),
  algorithms: readonly string[] = signingAlgorithms,
) {
  const clock = new FakeClock();
  let issuers = first;
  const deps = { clock, log: silentLog, open: () => issuer.fetch, issuers: () => issuers };
  const tokens = new IssuerTokens(deps, { apiAudiences: ["api"], algorithms });
  const ask = async (token: string, audiences: readonly string[] = []): Promise<TokenResult> =>
    tokens.authenticateToken(token, audiences);
  const reload = (next: readonly CompiledIssuer[]): void => void (issuers = next);
  return { clock, ask, reload };
}

function said(result: TokenResult): string {
  if (result.kind === "user") return result.user.name;
  return result.kind === "none" ? "none" : result.message;
}

for (const algorithm of signingAlgorithms) {
  test(`${algorithm} is verified, and neither a changed token nor another key's signature is`, async () => {
    const issuer = new TestIssuer();
    const key = await issuer.addKey("k", algorithm);
    const other = await new TestIssuer().addKey("k", algorithm);
    const { ask } = setup(issuer);
    const token = await issuer.token(key);
    const [header, claims, signature = ""] = token.split(".");
    const read = Buffer.from(claims ?? "", "base64url").toString();
    const changed = Buffer.from(read.replace("jane", "root")).toString("base64url");
    const wrong =
      "oidc: verify token: failed to verify signature: failed to verify id token signature";
    assert.equal(said(await ask(token)), "jane");
    assert.equal(said(await ask(`${header}.${changed}.${signature}`)), wrong);
    assert.equal(said(await ask(await issuer.token(other))), wrong);
    assert.equal(said(await ask(`${header}.${claims}.`)), wrong);
  });
}

test("algorithms that were not allowed, none and HMAC among them, are refused by name", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k", "RS256");
  const { ask } = setup(issuer, configured({}), ["RS256"]);
  const good = await issuer.token(key);
  const [, claims = ""] = good.split(".");
  for (const alg of ["none", "HS256", "EdDSA", "RS512", "rs256", ""]) {
    const header = Buffer.from(JSON.stringify({ alg, kid: "k" })).toString("base64url");
    const expected = `oidc: verify token: oidc: id token signed with unsupported algorithm, expected ["RS256"] got ${JSON.stringify(alg)}`;
    assert.equal(said(await ask(`${header}.${claims}.c2ln`)), expected);
  }
  assert.equal(said(await ask(good)), "jane");
});

test("a key verifies only tokens of its own algorithm, and keys for encryption verify none", async () => {
  const issuer = new TestIssuer();
  const bound = await issuer.addKey("bound", "RS256");
  const free = await issuer.addKey("free", "RS256", { alg: undefined });
  const encrypting = await issuer.addKey("encrypting", "RS256", { use: "enc" });
  const { ask } = setup(issuer);
  const pss = await issuer.token({ ...(await issuer.addKey("pss", "PS256")), keyId: "bound" });
  assert.match(said(await ask(pss)), /failed to verify id token signature/);
  assert.equal(said(await ask(await issuer.token(free))), "jane");
  assert.equal(said(await ask(await issuer.token(bound))), "jane");
  assert.match(said(await ask(await issuer.token(encrypting))), /failed to verify id token/);
});

test("a symmetric key in the key set is no key", async () => {
  const issuer = new TestIssuer();
  const secret = new Uint8Array(32).fill(7);
  issuer.published.push({ kty: "oct", kid: "s", k: Buffer.from(secret).toString("base64url") });
  const { ask } = setup(issuer);
  const { SignJWT } = await import("jose");
  const forged = await new SignJWT({ iss: issuer.url, aud: "kubernetes", sub: "root", exp: 4e9 })
    .setProtectedHeader({ alg: "HS256", kid: "s" })
    .sign(secret);
  assert.match(said(await ask(forged)), /unsupported algorithm/);
});

test("a token without an end, past it, before its beginning or for others is refused", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k");
  const { ask, clock } = setup(issuer);
  const now = clock.nowMs() / 1_000;
  const cases: readonly (readonly [object, string])[] = [
    [{ exp: now - 1 }, "oidc: token is expired (Token Expiry: 2025-12-31 23:59:59 +0000 UTC)"],
    [{ exp: undefined }, "oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)"],
    [{ exp: "soon" }, "oidc: failed to unmarshal claims: exp is no number"],
    [
      { nbf: now + 61 },
      "oidc: current time 2026-01-01 00:00:00 +0000 UTC before the nbf (not before) time: 2026-01-01 00:01:01 +0000 UTC",
    ],
    [{ aud: "vault" }, 'oidc: expected audience "kubernetes" got ["vault"]'],
    [{ aud: undefined }, 'oidc: expected audience "kubernetes" got []'],
    [
      { aud: 7 },
      "oidc: failed to unmarshal claims: json: cannot unmarshal number into Go struct field idToken.aud of type []string",
    ],
    [
      { sub: 7 },
      "oidc: failed to unmarshal claims: json: cannot unmarshal number into Go struct field idToken.sub of type string",
    ],
  ];
  for (const [claims, why] of cases) {
    assert.equal(said(await ask(await issuer.token(key, claims))), `oidc: verify token: ${why}`);
  }
  assert.equal(said(await ask(await issuer.token(key, { nbf: now + 59 }))), "jane");
  assert.equal(said(await ask(await issuer.token(key, { aud: ["vault", "kubernetes"] }))), "jane");
});

test("one audience of several is enough, and the answer is for the API server's audiences", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k");
  const audiences = { audiences: ["b", "a"], audienceMatchPolicy: "MatchAny" };
  const { ask } = setup(issuer, configured({ issuer: audiences }));
  const good = await issuer.token(key, { aud: "a" });
  const known = await ask(good, ["vault", "api"]);
  assert.ok(known.kind === "user");
  assert.deepEqual(known.user, { name: "jane", groups: ["system:authenticated"] });
  assert.deepEqual(known.audiences, ["api"]);
  assert.equal(said(await ask(good, ["vault"])), "none");
  const wrong = 'oidc: verify token: oidc: expected audience in ["a" "b"] got ["c"]';
  assert.equal(said(await ask(await issuer.token(key, { aud: "c" }))), wrong);
});

test("only the issuer that a token names is asked, with its own keys", async () => {
  const issuer = new TestIssuer();
  const other = new TestIssuer("https://other.example");
  const key = await issuer.addKey("k");
  const otherKey = await other.addKey("k");
  const both = configured({}, { issuer: { url: other.url } });
  const fetch: FetchDocument = (url, signal) =>
    (url.startsWith(other.url) ? other : issuer).fetch(url, signal);
  const { ask: asked } = setup({ fetch }, both);
  const ask = async (token: string): Promise<string> => said(await asked(token));
  assert.equal(await ask(await issuer.token(key)), "jane");
  assert.deepEqual(other.asked, []);
  assert.match(await ask(await issuer.token(otherKey)), /failed to verify id token signature/);
  assert.match(await ask(await other.token(key)), /failed to verify id token signature/);
  assert.equal(await ask(await issuer.token(key, { iss: "https://nobody.example" })), "none");
  assert.equal(await ask("a.b.c"), "none");
  assert.equal(await ask("x".repeat(20_000)), "none");
});

test("a new key is found by the first token that names it, with one fetch for all who wait", async () => {
  const issuer = new TestIssuer();
  const old = await issuer.addKey("old");
  const { ask, clock } = setup(issuer);
  const first = await Promise.all(
    Array.from({ length: 20 }, async () => ask(await issuer.token(old))),
  );
  assert.deepEqual(new Set(first.map(said)), new Set(["jane"]));
  assert.deepEqual(issuer.asked, [
    `${issuer.url}/.well-known/openid-configuration`,
    issuer.jwksUri,
  ]);
  const next = await issuer.addKey("new");
  clock.tick(10_000);
  const token = await issuer.token(next);
  const found = await Promise.all(Array.from({ length: 20 }, () => ask(token)));
  assert.deepEqual(new Set(found.map(said)), new Set(["jane"]));
  assert.equal(issuer.asked.length, 3);
});

test("key ids that nobody has make one fetch in ten seconds, and wrong signatures none", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k");
  const { ask, clock } = setup(issuer);
  await ask(await issuer.token(key));
  const stranger = await new TestIssuer().addKey("k");
  clock.tick(10_000);
  for (let at = 0; at < 50; at++) await ask(await issuer.token(stranger, { at }));
  assert.equal(issuer.asked.length, 2, "a wrong signature of a known key");
  for (let at = 0; at < 50; at++) await ask(await issuer.token({ ...stranger, keyId: `k${at}` }));
  assert.equal(issuer.asked.length, 3);
  clock.tick(10_000);
  for (let at = 0; at < 50; at++) await ask(await issuer.token({ ...stranger, keyId: `l${at}` }));
  assert.equal(issuer.asked.length, 4);
});

test("a key that the issuer withdrew ends with the next fetch, for remembered tokens too", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k");
  const { ask, clock } = setup(issuer);
  const token = await issuer.token(key);
  assert.equal(said(await ask(token)), "jane");
  issuer.published = [];
  await issuer.addKey("next");
  assert.equal(said(await ask(token)), "jane", "keys are not old yet");
  clock.tick(300_000);
  await ask(token);
  await settle();
  assert.match(said(await ask(token)), /failed to verify id token signature/);
});

test("keys stay good while the issuer is away, and a first fetch that failed is tried again", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k");
  issuer.isDown = true;
  const { ask, clock } = setup(issuer);
  const token = await issuer.token(key);
  const away = "oidc: authenticator not initialized";
  assert.equal(said(await ask(token)), away);
  issuer.isDown = false;
  assert.equal(said(await ask(token)), away, "not within ten seconds");
  clock.tick(10_000);
  assert.equal(said(await ask(token)), "jane");
  issuer.isDown = true;
  clock.tick(3_600_000);
  for (const claims of [{ at: 1 }, { at: 2 }]) {
    assert.equal(said(await ask(await issuer.token(key, claims))), "jane");
  }
});

test("an issuer that claims to be another, or publishes its keys in the clear, gives no keys", async () => {
  for (const lie of [
    { claimedIssuer: "https://evil.example" },
    { jwksUri: "http://issuer.example/k" },
  ]) {
    const issuer = new TestIssuer();
    Object.assign(issuer, lie);
    const { ask } = setup(issuer);
    const token = await issuer.token(await issuer.addKey("k"));
    assert.equal(said(await ask(token)), "oidc: authenticator not initialized");
    assert.deepEqual(issuer.asked.length, 1);
  }
});

test("an issuer that never answers is given up after ten seconds", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k");
  const hang: FetchDocument = (_url, signal) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(new Error("aborted"))),
    );
  const { ask, clock } = setup({ fetch: hang });
  const answer = ask(await issuer.token(key));
  await clock.advance(10_000);
  assert.equal(said(await answer), "oidc: authenticator not initialized");
});

test("a changed configuration holds for remembered tokens and for those that wait for keys", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k");
  const { ask, reload } = setup(issuer);
  const token = await issuer.token(key);
  let open = (): void => {};
  issuer.gate = new Promise((resolve) => (open = resolve));
  const waiting = ask(token);
  reload(configured({ issuer: { audiences: ["other"] } }));
  const second = ask(token);
  open();
  assert.equal(said(await waiting), "jane", "it came before the change");
  const refused = 'oidc: verify token: oidc: expected audience "other" got ["kubernetes"]';
  assert.equal(said(await second), refused);
  assert.equal(said(await ask(token)), refused, "the answer of the old one is not remembered");
  reload(configured({}));
  assert.equal(said(await ask(token)), "jane");
  assert.equal(issuer.asked.length, 2, "the keys are those of the same issuer");
  reload([]);
  assert.equal(said(await ask(token)), "none");
});

test("a remembered token ends when it says", async () => {
  const issuer = new TestIssuer();
  const key = await issuer.addKey("k");
  const { ask, clock } = setup(issuer);
  const token = await issuer.token(key, { exp: clock.nowMs() / 1_000 + 60 });
  assert.equal(said(await ask(token)), "jane");
  clock.tick(60_001);
  assert.match(said(await ask(token)), /token is expired/);
});
