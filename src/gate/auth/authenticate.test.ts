/** Authentication: certificates, tokens, anonymous, direct callers. */
import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { forApiServer } from "./audiences.ts";
import { anonymousAt, createAuthenticator } from "./authenticate.ts";
import { BootstrapTokens } from "./bootstrap-token.ts";
import { makeAuthority, makeClientCertificate } from "./pki.ts";
import { RequestHeaderAuthenticator } from "./request-header.ts";
import { StaticTokens } from "./token-file.ts";
import { FakeLookup, request } from "./testing.ts";
import { CertificateAuthenticator } from "./x509.ts";

const now = Date.UTC(2026, 0, 1);
const issue = {
  validity: { notBeforeMs: now - 1000, notAfterMs: now + 86_400_000 },
  serial: new Uint8Array(randomBytes(16)),
};
const authority = makeAuthority("ca", issue);
const pem = makeClientCertificate(
  authority,
  { commonName: "alice", organizations: ["dev", "ops"] },
  issue,
).certificate;
const certificate = new Uint8Array(new X509Certificate(pem).raw);

const bootstrapSecret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "bootstrap-token-abcdef", namespace: "kube-system" },
  type: "bootstrap.kubernetes.io/token",
  data: Object.fromEntries(
    Object.entries({
      "token-id": "abcdef",
      "token-secret": "0123456789abcdef",
      "usage-bootstrap-authentication": "true",
      "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
      expiration: "2026-01-02T00:00:00Z",
    }).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  ),
};

/** What a load balancer and a browser's first look need. */
const healthAndVersion: readonly string[] = [
  "/healthz",
  "/healthz/",
  "/livez",
  "/livez/",
  "/readyz",
  "/readyz/",
  "/version",
  "/version/",
];

const apiAudiences = ["api", "api-too"];
const headerOptions = {
  allowedNames: [],
  usernameHeaders: ["X-Remote-User"],
  uidHeaders: [],
  groupHeaders: [],
  extraPrefixes: [],
};

function setup(
  anonymousPaths: readonly string[] | "all" = healthAndVersion,
  { withFrontProxies = false } = {},
) {
  const clock = new FakeClock({ startMs: now });
  const bootstrap = new BootstrapTokens({ clock, lookup: new FakeLookup([bootstrapSecret]) });
  const authenticator = createAuthenticator(
    {
      certificates: new CertificateAuthenticator({ clock }),
      ...(withFrontProxies
        ? { requestHeaders: new RequestHeaderAuthenticator({ clock }, headerOptions) }
        : {}),
      tokens: [
        forApiServer(
          new StaticTokens('# comment\nsecret,bob,u1,"g1,g2"\nbare,carol,\n'),
          apiAudiences,
        ),
        forApiServer(bootstrap, apiAudiences),
      ],
    },
    { mayBeAnonymous: anonymousAt(anonymousPaths) },
  );
  const withToken = (token: string, path = "/api") =>
    authenticator.authenticate(request({ path, headers: { authorization: `Bearer ${token}` } }));
  return { clock, authenticator, withToken };
}

const socket = { kind: "socket", address: "10.0.0.1:1" } as const;

test("a client certificate is its user", async () => {
  const { authenticator } = setup();
  const result = await authenticator.authenticate(request({ peer: { ...socket, certificate } }));
  assert.equal(result.kind, "user");
  if (result.kind !== "user") return;
  assert.equal(result.user.name, "alice");
  assert.deepEqual(result.user.groups, ["dev", "ops", "system:authenticated"]);
});

test("a certificate's user is known again until the certificate expires", () => {
  const { clock } = setup();
  const certificates = new CertificateAuthenticator({ clock });
  const recalled = certificates.recall(request({ peer: { ...socket, certificate } }));
  assert.equal(recalled?.(), true);
  clock.setWall(issue.validity.notAfterMs + 1);
  assert.equal(recalled?.(), false);
  assert.equal(certificates.recall(request({ peer: socket })), undefined);
  const unreadable = { ...socket, certificate: new Uint8Array(3) };
  assert.equal(certificates.recall(request({ peer: unreadable })), undefined);
});

test("a certificate that expires on an open connection stops being good", async () => {
  const { authenticator, clock } = setup();
  const peer = { ...socket, certificate };
  assert.equal((await authenticator.authenticate(request({ peer }))).kind, "user");
  clock.setWall(now + 2 * 86_400_000);
  assert.equal((await authenticator.authenticate(request({ peer }))).kind, "rejected");
});

test("what is left of a certificate's lifetime is told, before its end and after it", async () => {
  const clock = new FakeClock({ startMs: now });
  const left: number[] = [];
  const observeLeft = (seconds: number): void => void left.push(seconds);
  const certificates = new CertificateAuthenticator({ clock, observeLeft });
  const peer = { ...socket, certificate };
  await certificates.authenticate(request({ peer }));
  clock.setWall(issue.validity.notAfterMs + 60_000);
  await certificates.authenticate(request({ peer }));
  await certificates.authenticate(request({ peer: socket }));
  await certificates.authenticate(request({ peer: { ...socket, certificate: new Uint8Array(3) } }));
  assert.deepEqual(left, [(issue.validity.notAfterMs - now) / 1_000, -60]);
});

test("rubbish in place of a certificate is a bad credential", async () => {
  const { authenticator } = setup();
  for (let length = 0; length < certificate.length; length += 7) {
    const peer = { ...socket, certificate: certificate.slice(0, length) };
    assert.equal((await authenticator.authenticate(request({ peer }))).kind, "rejected");
  }
});

test("a static token is its user, uid and groups", async () => {
  const { withToken } = setup();
  assert.deepEqual(await withToken("secret"), {
    kind: "user",
    user: { name: "bob", uid: "u1", groups: ["g1", "g2", "system:authenticated"] },
  });
  assert.deepEqual(await withToken("bare"), {
    kind: "user",
    user: { name: "carol", groups: ["system:authenticated"] },
  });
});

test("a bad token is refused even where anonymous may go", async () => {
  const { withToken } = setup("all");
  assert.deepEqual(await withToken("wrong", "/healthz"), {
    kind: "rejected",
    message: "invalid bearer token",
  });
});

test("a bootstrap token joins system:bootstrappers until it expires", async () => {
  const { withToken, clock } = setup();
  assert.deepEqual(await withToken("abcdef.0123456789abcdef"), {
    kind: "user",
    user: {
      name: "system:bootstrap:abcdef",
      groups: [
        "system:bootstrappers",
        "system:bootstrappers:kubeadm:default-node-token",
        "system:authenticated",
      ],
    },
  });
  assert.equal((await withToken("abcdef.0123456789abcdeX")).kind, "rejected");
  clock.setWall(Date.UTC(2026, 0, 3));
  assert.equal((await withToken("abcdef.0123456789abcdef")).kind, "rejected");
});

const upgrading = { connection: "keep-alive, Upgrade", upgrade: "websocket" };
const bearerProtocol = "base64url.bearer.authorization.k8s.io.";

test("a WebSocket client brings its token as a subprotocol", async () => {
  const { authenticator } = setup();
  const encoded = Buffer.from("secret").toString("base64url");
  const protocol = `v5.channel.k8s.io, ${bearerProtocol}${encoded}`;
  const headers = { "sec-websocket-protocol": protocol };
  const byName = async (more: object): Promise<string> => {
    const result = await authenticator.authenticate(request({ headers: { ...headers, ...more } }));
    return result.kind === "user" ? result.user.name : result.kind;
  };
  assert.equal(await byName(upgrading), "bob");
  assert.equal(await byName({ ...upgrading, authorization: "Bearer wrong" }), "bob");
  assert.equal(await byName({ ...upgrading, authorization: "Bearer bare" }), "carol");
  assert.equal(await byName({}), "none");
});

test("a subprotocol that is no base64url is a token nobody vouches for, not none", async () => {
  const { authenticator } = setup("all");
  const encoded = Buffer.from("secret").toString("base64url");
  const refused = [
    [`${encoded}=`, "invalid base64.bearer.authorization token encoding"],
    [`${encoded}!`, "invalid base64.bearer.authorization token encoding"],
    [
      `${encoded.slice(0, 3)} ${encoded.slice(3)}`,
      "invalid base64.bearer.authorization token encoding",
    ],
    ["_w", "invalid base64.bearer.authorization token"],
    [
      `${encoded}, ${bearerProtocol}${encoded}`,
      "multiple base64.bearer.authorization tokens specified",
    ],
  ] as const;
  for (const [other, message] of refused) {
    const headers = { ...upgrading, "sec-websocket-protocol": `v5, ${bearerProtocol}${other}` };
    const result = await authenticator.authenticate(request({ headers }));
    assert.deepEqual(result, { kind: "rejected", message }, other);
  }
  const alone = { ...upgrading, "sec-websocket-protocol": `${bearerProtocol}${encoded}` };
  assert.deepEqual(await authenticator.authenticate(request({ headers: alone })), {
    kind: "rejected",
    message: "missing additional subprotocol",
  });
});

test("the token is the second word of the header, in one space's distance", async () => {
  const { authenticator } = setup("all");
  const named = async (authorization: string): Promise<string> => {
    const result = await authenticator.authenticate(request({ headers: { authorization } }));
    return result.kind === "user" ? result.user.name : result.kind;
  };
  const anonymous = "system:anonymous";
  assert.equal(await named("Bearer secret x"), "bob");
  assert.equal(await named("bEARER secret"), "bob");
  assert.equal(await named(" \tBearer secret\u00a0 "), "bob");
  assert.equal(await named("Bearer wrong x"), "rejected");
  assert.equal(await named("Bearer wrong secret"), "rejected");
  assert.equal(await named("Bearer \tsecret"), "rejected");
  for (const other of [
    "Bearer  secret",
    "Bearer\tsecret",
    "Bearer",
    "Basic secret",
    "Bearersecret",
  ])
    assert.equal(await named(other), anonymous, other);
});

test("a header of spaces costs one pass", async () => {
  const { authenticator } = setup("all");
  const authorization = `Bearer${" ".repeat(8_000_000)}x`;
  const result = await authenticator.authenticate(request({ headers: { authorization } }));
  assert.equal(result.kind === "user" && result.user.name, "system:anonymous");
});

test("static and bootstrap tokens are for the API server's audiences alone", async () => {
  const { authenticator } = setup();
  const audiencesOf = async (
    token: string,
    wanted: readonly string[],
  ): Promise<readonly string[]> => {
    const result = await authenticator.authenticateToken(token, wanted);
    return result.kind === "user" ? result.audiences : [result.kind];
  };
  for (const token of ["secret", "abcdef.0123456789abcdef"]) {
    assert.deepEqual(await audiencesOf(token, []), apiAudiences);
    assert.deepEqual(await audiencesOf(token, ["vault"]), ["none"]);
    assert.deepEqual(await audiencesOf(token, ["vault", "api-too", "api"]), ["api-too", "api"]);
  }
});

test("a certificate without a common name is anonymous, and a bad credential beside front proxies", async () => {
  const nameless = makeClientCertificate(
    authority,
    { commonName: "", organizations: ["system:masters"] },
    issue,
  ).certificate;
  const peer = { ...socket, certificate: new Uint8Array(new X509Certificate(nameless).raw) };
  const withToken = { peer, headers: { authorization: "Bearer secret" } };
  for (const [withFrontProxies, kind] of [
    [false, "user"],
    [true, "rejected"],
  ] as const) {
    const { authenticator } = setup("all", { withFrontProxies });
    assert.equal((await authenticator.authenticate(request({ peer }))).kind, kind);
    const named = await authenticator.authenticate(request(withToken));
    assert.equal(named.kind === "user" && named.user.name, "bob");
  }
});

test("a good token counts beside a certificate that is not good, a bad one does not", async () => {
  const { authenticator, clock } = setup("all");
  clock.setWall(now + 2 * 86_400_000);
  const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
  const expired = { ...socket, certificate };
  const unknown = {
    ...socket,
    certificateProblem: "x509: certificate signed by unknown authority",
  };
  for (const peer of [expired, unknown]) {
    const named = await authenticator.authenticate(request({ peer, ...bearing("secret") }));
    assert.equal(named.kind === "user" && named.user.name, "bob");
    const refused = await authenticator.authenticate(request({ peer, ...bearing("wrong") }));
    assert.equal(refused.kind, "rejected");
    assert.equal((await authenticator.authenticate(request({ peer }))).kind, "rejected");
  }
});

test("anonymous sees health and version, and nothing else by default", async () => {
  const { authenticator } = setup();
  const kindAt = async (path: string) => (await authenticator.authenticate(request({ path }))).kind;
  assert.equal(await kindAt("/healthz"), "user");
  assert.equal(await kindAt("/readyz/ping"), "user");
  assert.equal(await kindAt("/version"), "user");
  assert.equal(await kindAt("/api"), "none");
  assert.equal(await kindAt("/healthzz"), "none");
});

test("a direct caller is who it says it is", async () => {
  const { authenticator } = setup();
  const user = { name: "system:kube-scheduler", groups: [] };
  const result = await authenticator.authenticate(request({ peer: { kind: "direct", user } }));
  assert.deepEqual(result, {
    kind: "user",
    user: { name: "system:kube-scheduler", groups: ["system:authenticated"] },
  });
});

test("a token file line without a user is refused with its number", () => {
  assert.throws(() => new StaticTokens("a,b,c\nlonely\n"), /token file line 2: expected/);
});

test("a bootstrap token ends at its time, or at once where nobody can read when", () => {
  const kindAt = (expiration: string): string => {
    const value = Buffer.from(expiration).toString("base64");
    const secret = { ...bootstrapSecret, data: { ...bootstrapSecret.data, expiration: value } };
    const clock = new FakeClock({ startMs: Date.parse("2026-01-02T00:00:00Z") });
    const tokens = new BootstrapTokens({ clock, lookup: new FakeLookup([secret]) });
    return tokens.userOf("abcdef.0123456789abcdef") === undefined ? "none" : "user";
  };
  assert.equal(kindAt(""), "user");
  assert.equal(kindAt("2026-01-02T00:00:01Z"), "user");
  assert.equal(kindAt("2026-01-02T01:00:01+01:00"), "user");
  for (const ended of ["2026-01-02T00:00:00Z", "2099", "Fri, 02 Jan 2099 00:00:00 GMT", "soon"]) {
    assert.equal(kindAt(ended), "none", ended);
  }
});
