/** Tokens: issued, verified by an independent library, and dead with what they are bound to. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { decodeJwt, importSPKI, jwtVerify } from "jose";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { discoveryDocument, keySet } from "./oidc.ts";
import { makeKeyPair } from "./pki.ts";
import { ServiceAccountTokens } from "./service-account-token.ts";
import { FakeLookup } from "./testing.ts";

const issuer = "https://kubernetes.default.svc.cluster.local";
const keys = makeKeyPair();
const start = 1_800_000_000_000;

function object(kind: string, name: string, uid: string, namespace = "ns") {
  return { apiVersion: "v1", kind, metadata: { name, uid, namespace } };
}

function setup(privateKey = keys.privateKey, olderPublicKeys: string[] = []) {
  const clock = new FakeClock({ startMs: start });
  const lookup = new FakeLookup([
    object("ServiceAccount", "app", "sa-1"),
    object("Pod", "web-0", "pod-1"),
    object("Node", "n1", "node-1", ""),
  ]);
  const random = new FakeRandom(1);
  const tokens = new ServiceAccountTokens(
    { clock, random, lookup },
    { issuer, apiAudiences: [issuer], privateKey, olderPublicKeys },
  );
  return { clock, lookup, tokens };
}

const order = {
  namespace: "ns",
  account: { name: "app", uid: "sa-1" },
  audiences: [issuer],
  expirationSeconds: 3600,
  pod: { name: "web-0", uid: "pod-1" },
  node: { name: "n1", uid: "node-1" },
};

test("an issued token comes back as its service account, with pod and node in extra", () => {
  const { tokens } = setup();
  const { token, issuedAtMs } = tokens.issue(order);
  assert.equal(issuedAtMs, start);
  const result = tokens.authenticateToken(token, []);
  assert.ok(result.kind === "user");
  assert.deepEqual(result.audiences, [issuer]);
  assert.deepEqual(
    { user: result.user },
    {
      user: {
        name: "system:serviceaccount:ns:app",
        uid: "sa-1",
        groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
        extra: {
          "authentication.kubernetes.io/credential-id": [`JTI=${new FakeRandom(1).uuid()}`],
          "authentication.kubernetes.io/pod-name": ["web-0"],
          "authentication.kubernetes.io/pod-uid": ["pod-1"],
          "authentication.kubernetes.io/node-name": ["n1"],
          "authentication.kubernetes.io/node-uid": ["node-1"],
        },
      },
    },
  );
  const { user } = result;
  assert.ok(result.again !== undefined);
  const again = result.again();
  assert.ok(again?.kind === "user" && again.user === user, "one user for all of its requests");
});

test("an independent library verifies the signature and reads the claims", async () => {
  const { token } = setup().tokens.issue(order);
  await jwtVerify(token, await importSPKI(keys.publicKey, "ES256"), {
    currentDate: new Date(start),
    audience: issuer,
    issuer,
  });
  assert.deepEqual(decodeJwt(token)["kubernetes.io"], {
    namespace: "ns",
    node: { name: "n1", uid: "node-1" },
    pod: { name: "web-0", uid: "pod-1" },
    serviceaccount: { name: "app", uid: "sa-1" },
  });
});

test("a token dies with its pod, and with a new pod of the same name", () => {
  const { tokens, lookup } = setup();
  const { token } = tokens.issue(order);
  assert.equal(tokens.authenticateToken(token, []).kind, "user");
  lookup.remove((o) => o.kind === "Pod");
  assert.deepEqual(tokens.authenticateToken(token, []), {
    kind: "rejected",
    message: "service account token has been invalidated",
  });
  lookup.put(object("Pod", "web-0", "pod-2"));
  assert.match(reason(tokens, token), /pod UID \(pod-2\) does not match/);
});

test("a token dies with its account", () => {
  const { tokens, lookup } = setup();
  const { token } = tokens.issue(order);
  lookup.remove((o) => o.kind === "ServiceAccount");
  assert.equal(reason(tokens, token), 'serviceaccounts "app" not found');
  lookup.put(object("ServiceAccount", "app", "sa-2"));
  assert.equal(reason(tokens, token), "service account UID (sa-2) does not match claim (sa-1)");
});

test("a token expires, a minute of leeway later", () => {
  const { tokens, clock } = setup();
  const { token } = tokens.issue(order);
  clock.setWall(start + 3_659_000);
  assert.equal(tokens.authenticateToken(token, []).kind, "user");
  clock.setWall(start + 3_661_000);
  assert.equal(reason(tokens, token), "service account token has expired");
});

test("a token for other audiences is no key to the API", () => {
  const { tokens } = setup();
  const { token } = tokens.issue({ ...order, audiences: ["vault"] });
  assert.match(reason(tokens, token), /token audiences \["vault"\] is invalid for the target/);
  const asked = tokens.authenticateToken(token, ["vault", "other"]);
  assert.deepEqual(asked.kind === "user" && asked.audiences, ["vault"]);
});

test("a forged, altered or foreign token is refused or unknown", () => {
  const { tokens } = setup();
  const { token } = tokens.issue(order);
  const [header, claims = "", signature] = token.split(".");
  const changed = Buffer.from(claims, "base64url").toString().replace('"app"', '"adm"');
  const forged = [header, Buffer.from(changed).toString("base64url"), signature].join(".");
  assert.equal(reason(tokens, forged), "invalid bearer token");
  const none = Buffer.from('{"alg":"none"}').toString("base64url");
  assert.equal(reason(tokens, `${none}.${claims}.`), "invalid bearer token");
  const foreign = setup(makeKeyPair().privateKey).tokens.issue(order).token;
  assert.equal(reason(tokens, foreign), "invalid bearer token");
  assert.equal(tokens.authenticateToken("opaque", []).kind, "none");
  assert.equal(tokens.authenticateToken("a.b.c", []).kind, "none");
  assert.equal(tokens.authenticateToken("x".repeat(20_000), []).kind, "none");
});

test("tokens of an older key stay good while it is listed; RSA keys sign as well", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = rsa.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const older = rsa.publicKey.export({ type: "spki", format: "pem" }).toString();
  const { token } = setup(pem).tokens.issue(order);
  assert.equal(setup().tokens.authenticateToken(token, []).kind, "rejected");
  assert.equal(setup(keys.privateKey, [older]).tokens.authenticateToken(token, []).kind, "user");
});

test("the key set publishes public halves under the ids the tokens name", () => {
  const { tokens } = setup();
  const [key] = keySet(tokens.keys).keys as readonly Record<string, string>[];
  assert.equal(key?.["kty"], "EC");
  assert.equal(key?.["d"], undefined);
  const header = Buffer.from(tokens.issue(order).token.split(".")[0] ?? "", "base64url");
  assert.equal(JSON.parse(header.toString()).kid, key?.["kid"]);
  assert.deepEqual(discoveryDocument(issuer, "https://x:6443/openid/v1/jwks", tokens.keys), {
    issuer,
    jwks_uri: "https://x:6443/openid/v1/jwks",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  });
});

function reason(tokens: ServiceAccountTokens, token: string): string {
  const result = tokens.authenticateToken(token, []);
  return result.kind === "rejected" ? result.message : result.kind;
}

test("tokens of an older issuer are good beside the new one's, and those of others are not", () => {
  const { clock, lookup } = setup();
  const of = (name: string, olderIssuers: readonly string[] = []) =>
    new ServiceAccountTokens(
      { clock, random: new FakeRandom(1), lookup },
      {
        issuer: name,
        olderIssuers,
        apiAudiences: ["api"],
        privateKey: keys.privateKey,
        olderPublicKeys: [],
      },
    );
  const { token } = of("https://old.example").issue({ ...order, audiences: ["api"] });
  const renewed = of("https://new.example", ["https://old.example"]);
  assert.equal(renewed.authenticateToken(token, []).kind, "user");
  assert.equal(of("https://new.example").authenticateToken(token, []).kind, "none");
  const issued = decodeJwt(renewed.issue({ ...order, audiences: ["api"] }).token);
  assert.equal(issued.iss, "https://new.example");
});
