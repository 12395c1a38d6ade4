/** A token that comes again on its connection: the same user, for as long as it is good. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createAuthenticator } from "./authenticate.ts";
import type { AuthenticationResult, TokenAuthenticator } from "./auth.ts";
import { IssuerTokens } from "./issuers/issuer-tokens.ts";
import { signingAlgorithms } from "./issuers/jws.ts";
import { configured, TestIssuer } from "./issuers/testing.ts";
import { makeKeyPair } from "./pki.ts";
import { ServiceAccountTokens } from "./service-account-token.ts";
import { FakeLookup, request } from "./testing.ts";
import { CertificateAuthenticator } from "./x509.ts";

const start = 1_800_000_000_000;
const issuer = "https://kubernetes.default.svc";

function object(kind: string, name: string, uid: string) {
  return { apiVersion: "v1", kind, metadata: { name, uid, namespace: "ns" } };
}

/** Requests on connections that are told apart by a letter. */
class Callers {
  readonly #connections = new Map<string, { belongsTo(): void }>();
  readonly #authenticator;
  /** How often the tokens' authenticator was asked. */
  asked = 0;

  constructor(clock: FakeClock, tokens: TokenAuthenticator) {
    const counted: TokenAuthenticator = {
      authenticateToken: (token, audiences) => {
        this.asked++;
        return tokens.authenticateToken(token, audiences);
      },
    };
    this.#authenticator = createAuthenticator(
      { certificates: new CertificateAuthenticator({ clock }), tokens: [counted] },
      { mayBeAnonymous: () => false },
    );
  }

  ask(on: string, token: string, certificateProblem?: string): Promise<AuthenticationResult> {
    const connection = this.#connections.get(on) ?? { belongsTo: () => {} };
    this.#connections.set(on, connection);
    const problem = certificateProblem === undefined ? {} : { certificateProblem };
    const peer = { kind: "socket", address: "10.0.0.1", connection, ...problem } as const;
    return this.#authenticator.authenticate(
      request({ peer, headers: { authorization: `Bearer ${token}` } }),
    );
  }
}

function accountWorld() {
  const clock = new FakeClock({ startMs: start });
  const lookup = new FakeLookup([
    object("ServiceAccount", "app", "sa-1"),
    object("ServiceAccount", "other", "sa-2"),
    object("Pod", "web-0", "pod-1"),
  ]);
  const { privateKey } = makeKeyPair();
  const tokens = new ServiceAccountTokens(
    { clock, random: new FakeRandom(1), lookup },
    { issuer, apiAudiences: [issuer], privateKey, olderPublicKeys: [] },
  );
  const tokenOf = (name: string, uid: string): string =>
    tokens.issue({
      namespace: "ns",
      account: { name, uid },
      audiences: [issuer],
      expirationSeconds: 3_600,
      ...(name === "app" && { pod: { name: "web-0", uid: "pod-1" } }),
    }).token;
  const callers = new Callers(clock, tokens);
  return { clock, lookup, callers, app: tokenOf("app", "sa-1"), other: tokenOf("other", "sa-2") };
}

const nameOf = (result: AuthenticationResult): string =>
  result.kind === "user" ? result.user.name : result.kind;

void describe("the token that came last on a connection", () => {
  void it("is authenticated from memory, as the same user object", async () => {
    const { callers, app } = accountWorld();
    const first = await callers.ask("a", app);
    for (let at = 0; at < 5; at++) {
      const again = await callers.ask("a", app);
      assert.ok(first.kind === "user" && again.kind === "user" && again.user === first.user);
    }
    assert.equal(callers.asked, 1);
  });

  void it("is another one's on another connection, and after another header", async () => {
    const { callers, app, other } = accountWorld();
    await callers.ask("a", app);
    assert.equal(nameOf(await callers.ask("a", other)), "system:serviceaccount:ns:other");
    assert.equal(nameOf(await callers.ask("a", app)), "system:serviceaccount:ns:app");
    assert.equal(nameOf(await callers.ask("b", other)), "system:serviceaccount:ns:other");
    assert.equal(nameOf(await callers.ask("a", `${app}x`)), "rejected");
    assert.equal(nameOf(await callers.ask("a", app.slice(0, -1))), "rejected");
    assert.equal(callers.asked, 6);
  });

  for (const [what, kind] of [
    ["its account", "ServiceAccount"],
    ["its Pod", "Pod"],
  ] as const) {
    void it(`ends with ${what}, with the next request`, async () => {
      const { callers, lookup, app } = accountWorld();
      await callers.ask("a", app);
      lookup.remove((one) => one.kind === kind);
      assert.equal(nameOf(await callers.ask("a", app)), "rejected");
      assert.equal(nameOf(await callers.ask("a", app)), "rejected");
    });
  }

  void it("ends with its time", async () => {
    const { callers, clock, app } = accountWorld();
    await callers.ask("a", app);
    clock.tick(3_600_000 + 120_000);
    assert.equal(nameOf(await callers.ask("a", app)), "rejected");
  });

  void it("is looked at anew where a certificate was shown, good or bad", async () => {
    const { callers, app } = accountWorld();
    await callers.ask("a", app, "of nobody that is known");
    await callers.ask("a", app, "of nobody that is known");
    assert.equal(callers.asked, 2);
  });

  void it("of an issuer ends with the key that signed it, and with another configuration", async () => {
    const clock = new FakeClock();
    const made = new TestIssuer();
    const key = await made.addKey("k", "ES256");
    let issuers = configured({});
    const deps = { clock, log: silentLog, open: () => made.fetch, issuers: () => issuers };
    const tokens = new IssuerTokens(deps, { apiAudiences: ["api"], algorithms: signingAlgorithms });
    const callers = new Callers(clock, tokens);
    const token = await made.token(key);
    assert.equal(nameOf(await callers.ask("a", token)), "jane");
    assert.equal(nameOf(await callers.ask("a", token)), "jane");
    assert.equal(callers.asked, 1);
    issuers = configured({ claimMappings: { username: { claim: "sub", prefix: "new:" } } });
    assert.equal(nameOf(await callers.ask("a", token)), "new:jane");
    issuers = [];
    assert.equal(nameOf(await callers.ask("a", token)), "rejected");
  });
});
