/**
 * Tokens of an OpenID Connect issuer that is a process of its own: what TokenReview says of each, beside a stock API server
 * with the same file; a file that changes, half written too.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { removeDirectory, temporaryDirectory } from "../harness.ts";
import { noStock, stockPrograms } from "../peers.ts";
import { until } from "../role-harness.ts";
import {
  ask,
  type IssuerKey,
  makeKey,
  type OurServer,
  reviewToken,
  type RunningIssuer,
  sign,
  startIssuer,
  startOurs,
} from "./gate-world.ts";
import { startStockBeside, type StockBeside } from "./stock-beside.ts";

const scratch = temporaryDirectory("issuers");
const apiAudience = "https://kubernetes.default.svc";
const file = join(scratch, "authentication.yaml");

function configuration({ url, ca }: RunningIssuer, audience = "kubernetes"): object {
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [
      {
        issuer: { url, audiences: [audience], certificateAuthority: ca },
        claimMappings: {
          username: { claim: "sub", prefix: "" },
          groups: { claim: "groups", prefix: "g:" },
          uid: { expression: "claims.?id.orValue('')" },
          extra: [{ key: "example.com/team", valueExpression: "claims.?team.orValue('')" }],
        },
        claimValidationRules: [
          { claim: "hd", requiredValue: "x" },
          { expression: "claims.?ok.orValue(true) == true", message: "not ok" },
        ],
        userValidationRules: [
          { expression: "!user.username.startsWith('system:')", message: "reserved" },
        ],
      },
    ],
    anonymous: { enabled: true, conditions: [{ path: "/healthz" }] },
  };
}

const nowSeconds = Math.floor(Date.now() / 1_000);
const invalid = "invalid bearer token";

/** Claims beside the good ones, and what TokenReview says: the error, or a user's name. */
const claims: readonly (readonly [what: string, claims: object, says: string])[] = [
  ["good claims", {}, "jane"],
  ["groups, id and team", { groups: ["a", "b"], id: "7", team: ["red", ""] }, "jane"],
  ["one group", { groups: "a" }, "jane"],
  [
    "a number for groups",
    { groups: 7 },
    'oidc: parse groups claim "groups": json: cannot unmarshal number into Go value of type string',
  ],
  [
    "numbers as groups",
    { groups: [7] },
    'oidc: parse groups claim "groups": json: cannot unmarshal array into Go value of type string',
  ],
  [
    "an end in the past",
    { exp: 1_700_000_000 },
    "oidc: verify token: oidc: token is expired (Token Expiry: 2023-11-14 22:13:20 +0000 UTC)",
  ],
  [
    "no end",
    { exp: undefined },
    "oidc: verify token: oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)",
  ],
  [
    "an end as a text",
    { exp: "1" },
    "oidc: verify token: oidc: token is expired (Token Expiry: 1970-01-01 00:00:01 +0000 UTC)",
  ],
  ["a beginning that is near", { nbf: nowSeconds + 40 }, "jane"],
  [
    "another audience",
    { aud: "x" },
    'oidc: verify token: oidc: expected audience "kubernetes" got ["x"]',
  ],
  [
    "no audience",
    { aud: undefined },
    'oidc: verify token: oidc: expected audience "kubernetes" got []',
  ],
  [
    "a number as the audience",
    { aud: 7 },
    "oidc: verify token: oidc: failed to unmarshal claims: json: cannot unmarshal number into Go struct field idToken.aud of type []string",
  ],
  ["no required claim", { hd: undefined }, "oidc: required claim hd not present in ID token"],
  [
    "another required claim",
    { hd: "y" },
    "oidc: required claim hd value does not match. Got = y, want = x",
  ],
  [
    "a number as the required claim",
    { hd: 7 },
    "oidc: parse claim hd: json: cannot unmarshal number into Go value of type string",
  ],
  [
    "a broken claim rule",
    { ok: false },
    "oidc: error evaluating claim validation expression: validation expression 'claims.?ok.orValue(true) == true' failed: not ok",
  ],
  [
    "a broken user rule",
    { sub: "system:admin" },
    "oidc: error evaluating user info validation rule: validation expression '!user.username.startsWith('system:')' failed: reserved",
  ],
  ["no name", { sub: undefined }, 'oidc: parse username claims "sub": claim not present'],
  [
    "a number as the name",
    { sub: 7 },
    "oidc: verify token: oidc: failed to unmarshal claims: json: cannot unmarshal number into Go struct field idToken.sub of type string",
  ],
  ["another issuer", { iss: "https://other.example" }, invalid],
  [
    "a number as the id",
    { id: 7 },
    "oidc: error evaluating uid claim expression: uid claim expression must return a string",
  ],
];

function said(status: unknown): string {
  const { error, user } = status as { error?: string; user?: { username?: string } };
  return error ?? user?.username ?? "";
}

const expected = (says: string): string =>
  says === "jane" || says === invalid ? says : `[${invalid}, ${says}]`;

describe("tokens of an issuer", () => {
  let issuer: RunningIssuer;
  let ours: OurServer;
  let key: IssuerKey;
  const tokenOf = (more: object): Promise<string> => {
    const good = { iss: issuer.url, aud: "kubernetes", sub: "jane", hd: "x", jti: "1" };
    return sign(key, { ...good, exp: nowSeconds + 3_600, ...more });
  };
  const audience = `--service-account-issuer=${apiAudience}`;

  before(async () => {
    issuer = await startIssuer(join(scratch, "issuer"));
    key = await makeKey("k");
    issuer.publish(key);
    writeFileSync(file, JSON.stringify(configuration(issuer)));
    ours = await startOurs(join(scratch, "ours"), `--authentication-config=${file}`, audience);
  });

  after(async () => {
    // It was started first: left running, it would keep this process when the server does not start.
    await issuer.stop();
    await ours.role.stop();
    removeDirectory(scratch);
  });

  for (const [what, more, says] of claims) {
    test(`TokenReview: ${what}`, async () => {
      assert.equal(said(await reviewToken(ours.url, await tokenOf(more))), expected(says));
    });
  }

  test("a request with a good token is its user's, and anonymous goes where the file says", async () => {
    const nodes = await ask(`${ours.url}/api/v1/nodes`, await tokenOf({}));
    assert.equal(nodes.status, 403);
    assert.match(nodes.text, /User \\"jane\\" cannot list/);
    const paths = ["/healthz", "/healthz/ping", "/version", "/api/v1/nodes"];
    const answers = await Promise.all(paths.map((path) => ask(ours.url + path, undefined)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 401, 401, 401],
    );
  });

  test("a stock API server with this file says the same of each token", async (context) => {
    const programs = stockPrograms();
    if (programs === undefined) return context.skip(noStock);
    const flags = [`--authentication-config=${file}`];
    const stock: StockBeside = await startStockBeside(programs, join(scratch, "stock"), flags);
    try {
      // Its keys are fetched in the background.
      await until("the issuer's keys", async () => {
        const status = await reviewToken(stock.url, await tokenOf({}));
        return said(status) === "jane" ? true : undefined;
      });
      for (const [what, more] of claims) {
        const token = await tokenOf(more);
        const [theirs, own] = await Promise.all(
          [stock.url, ours.url].map((url) => reviewToken(url, token)),
        );
        assert.deepEqual(own, theirs, what);
      }
      for (const audiences of [[apiAudience], ["vault"], ["kubernetes"], ["vault", apiAudience]]) {
        const token = await tokenOf({});
        const [theirs, own] = await Promise.all(
          [stock.url, ours.url].map((url) => reviewToken(url, token, audiences)),
        );
        assert.deepEqual(own, theirs, String(audiences));
      }
    } finally {
      await stock.stop();
    }
  });

  test("a changed file is taken, and one that is half written or locks out what it may not is not", async () => {
    const whole = JSON.stringify(configuration(issuer, "other"));
    const own = await tokenOf({});
    const changed = await tokenOf({ aud: "other" });
    const metric = (status: string): Promise<true> =>
      until(`a reload that is a ${status}`, async () => {
        // A look at the file comes with a request.
        await reviewToken(ours.url, own);
        const { text } = await ask(`${ours.url}/metrics`, "tok");
        const name = "apiserver_authentication_config_controller_automatic_reloads_total";
        return text.includes(`${name}{status="${status}"`) ? true : undefined;
      });
    writeFileSync(file, whole.slice(0, 200));
    await metric("failure");
    assert.equal(said(await reviewToken(ours.url, own)), "jane");
    writeFileSync(file, whole);
    await metric("success");
    assert.equal(said(await reviewToken(ours.url, changed)), "jane");
    assert.match(said(await reviewToken(ours.url, own)), /expected audience "other"/);
    writeFileSync(
      file,
      JSON.stringify({ ...configuration(issuer), anonymous: { enabled: false } }),
    );
    await until("the refusal in the log", () =>
      reviewToken(ours.url, own).then(() =>
        ours.role.output().includes("changed from initial configuration file") ? true : undefined,
      ),
    );
    assert.equal(said(await reviewToken(ours.url, changed)), "jane");
    assert.equal((await ask(`${ours.url}/healthz`, undefined)).status, 200);
  });
});
