/**
 * Attacks on the gates, against a live process with two issuers and two webhooks, each a process of its own: tokens of one
 * issuer for another, for other audiences and by other algorithms, floods of unknown keys, webhooks that lie, are slow or
 * answer without end, and files that are half written.
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { exportSPKI } from "jose";
import {
  adminToken,
  ask,
  type IssuerKey,
  makeKey,
  type OurServer,
  reviewAccess,
  reviewToken,
  type RunningIssuer,
  type RunningWebhook,
  sign,
  startIssuer,
  startOurs,
  startWebhook,
} from "../process/gates/gate-world.ts";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";

const scratch = temporaryDirectory("attacked-gates");
const authentication = join(scratch, "authentication.yaml");
const authorization = join(scratch, "authorization.yaml");
const ends = Math.floor(Date.now() / 1_000) + 3_600;
const invalid = "invalid bearer token";

let staff: RunningIssuer;
let robots: RunningIssuer;
let webhook: RunningWebhook;
let ours: OurServer;
let staffKey: IssuerKey;
let robotsKey: IssuerKey;

/** The issuer of robots may name only robots. */
function issuers(): object {
  const of = ({ url, ca }: RunningIssuer, audience: string, prefix: string) => ({
    issuer: { url, audiences: [audience], certificateAuthority: ca },
    claimMappings: { username: { claim: "sub", prefix }, groups: { claim: "groups", prefix: "" } },
    userValidationRules: [
      {
        expression: "!user.groups.exists(g, g.startsWith('system:'))",
        message: "groups of the system are reserved",
      },
    ],
  });
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [of(staff, "kubernetes", "staff:"), of(robots, "robots", "robot:")],
  };
}

function authorizers(): object {
  const connectionInfo = { type: "KubeConfigFile", kubeConfigFile: webhook.kubeconfig };
  const shared = {
    timeout: "10s",
    subjectAccessReviewVersion: "v1",
    matchConditionSubjectAccessReviewVersion: "v1",
    connectionInfo,
  };
  const isSecret =
    "has(request.resourceAttributes) && request.resourceAttributes.resource == 'secrets'";
  const one = (name: string, failurePolicy: string, expression: string) => ({
    type: "Webhook",
    name,
    webhook: { ...shared, failurePolicy, matchConditions: [{ expression }] },
  });
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
    authorizers: [
      one("closed", "Deny", isSecret),
      one("open", "NoOpinion", `!(${isSecret})`),
      { type: "RBAC", name: "rbac" },
    ],
  };
}

const claims = (issuer: RunningIssuer, more: object = {}): object => ({
  iss: issuer.url,
  aud: issuer === staff ? "kubernetes" : "robots",
  sub: "jane",
  exp: ends,
  ...more,
});

async function said(token: string): Promise<string> {
  const status = (await reviewToken(ours.url, token)) as {
    readonly error?: string;
    readonly user?: { readonly username?: string };
  };
  return status.user?.username ?? status.error ?? "";
}

describe("attacks on the gates", () => {
  before(async () => {
    [staff, robots, webhook] = await Promise.all([
      startIssuer(join(scratch, "staff")),
      startIssuer(join(scratch, "robots")),
      startWebhook(join(scratch, "webhook")),
    ]);
    // Both call their key the same.
    [staffKey, robotsKey] = await Promise.all([makeKey("k"), makeKey("k")]);
    staff.publish(staffKey);
    robots.publish(robotsKey);
    writeFileSync(authentication, JSON.stringify(issuers()));
    writeFileSync(authorization, JSON.stringify(authorizers()));
    ours = await startOurs(
      join(scratch, "ours"),
      `--authentication-config=${authentication}`,
      `--authorization-config=${authorization}`,
    );
    assert.equal(await said(await sign(staffKey, claims(staff))), "staff:jane");
    assert.equal(await said(await sign(robotsKey, claims(robots))), "robot:jane");
  });

  after(async () => {
    await ours.role.stop();
    await Promise.all([staff.stop(), robots.stop(), webhook.stop()]);
    removeDirectory(scratch);
  });

  test("an issuer cannot speak for another, whatever names and audiences it signs", async () => {
    const forged = [
      claims(staff),
      claims(staff, { aud: ["kubernetes", "robots"] }),
      claims(robots, { iss: [robots.url, staff.url] }),
      claims(robots, { iss: `${staff.url}/` }),
      claims(robots, { iss: "" }),
      claims(robots, { aud: "kubernetes" }),
      claims(robots, { groups: ["system:masters"] }),
    ];
    for (const each of forged) {
      const name = await said(await sign(robotsKey, each));
      assert.ok(name.includes(invalid), `${JSON.stringify(each)}: ${name}`);
    }
    assert.equal(
      await said(await sign(robotsKey, claims(robots, { sub: "staff:jane" }))),
      "robot:staff:jane",
    );
  });

  test("an algorithm that the token chooses opens nothing", async () => {
    const encode = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString("base64url");
    const body = encode(claims(staff, { sub: "root" }));
    const spki = await exportSPKI(staffKey.publicKey);
    for (const alg of ["none", "None", "HS256", "HS512", "EdDSA", "", "RS256"]) {
      const header = encode({ alg, kid: "k" });
      const mac = (secret: string): string =>
        createHmac("sha256", secret).update(`${header}.${body}`).digest("base64url");
      for (const signature of [
        "",
        mac(spki),
        mac(spki.trim()),
        mac(JSON.stringify(staffKey.jwk)),
      ]) {
        const name = await said(`${header}.${body}.${signature}`);
        assert.ok(name.includes(invalid), `${alg}: ${name}`);
      }
    }
    // A key that the token brings itself is no key of the issuer.
    const own = await makeKey("own");
    for (const header of [
      { jwk: own.jwk },
      { jku: `${robots.url}/keys` },
      { kid: "k" },
      { crit: ["b64"], b64: false },
    ]) {
      const { keyId: _, ...signing } = own;
      const token = await sign({ ...signing, keyId: "own" }, claims(staff), header).catch(
        () => "a.b.c",
      );
      assert.ok((await said(token)).includes(invalid), JSON.stringify(header));
    }
  });

  test("a flood of unknown keys asks the issuer once, and others are served meanwhile", async () => {
    const before = staff.asked().length;
    const stranger = await makeKey("x", "ES256");
    const flood = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        sign({ ...stranger, keyId: `unknown-${at}` }, claims(staff)),
      ),
    );
    const answers = Promise.all(flood.map((token) => ask(`${ours.url}/version`, token)));
    const good = await sign(staffKey, claims(staff, { jti: "meanwhile" }));
    assert.equal(await said(good), "staff:jane");
    assert.deepEqual(new Set((await answers).map(({ status }) => status)), new Set([401]));
    assert.ok(staff.asked().length - before <= 2, `${staff.asked().length - before} fetches`);
  });

  test("webhooks that lie, break off or answer without end never allow, and secrets stay closed", async () => {
    for (const user of ["liar", "garbage", "huge", "refusing", "slow", "both"]) {
      const [pods, secrets] = await Promise.all(
        ["pods", "secrets"].map((resource) => reviewAccess(ours.url, user, { resource })),
      );
      assert.equal((pods as { allowed: boolean }).allowed, false, user);
      assert.equal((secrets as { denied?: boolean }).denied, true, user);
    }
  });

  test("a crowd that a slow webhook is asked about keeps nobody else waiting", async () => {
    const crowd = Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        reviewAccess(ours.url, "slow", { resource: "pods", name: `p${at}` }),
      ),
    );
    let over = false;
    void crowd.then(() => (over = true));
    assert.equal((await ask(`${ours.url}/api/v1/namespaces`, adminToken)).status, 200);
    assert.deepEqual(await reviewAccess(ours.url, "allowed", { name: "other" }), {
      allowed: true,
      reason: "said the webhook",
    });
    assert.equal(over, false, "they were answered before the crowd");
    for (const status of await crowd) assert.equal((status as { allowed: boolean }).allowed, false);
  });

  test("files that are half written change nothing, wherever they end", async () => {
    const token = await sign(staffKey, claims(staff, { jti: "files" }));
    for (const [path, whole] of [
      [authentication, JSON.stringify(issuers())],
      [authorization, JSON.stringify(authorizers())],
    ] as const) {
      for (let end = 0; end < whole.length; end += Math.ceil(whole.length / 12)) {
        writeFileSync(path, whole.slice(0, end));
        assert.equal(await said(token), "staff:jane", `${path} ends at ${end}`);
        const allowed = await reviewAccess(ours.url, "allowed", { name: `f${end}` });
        assert.equal((allowed as { allowed: boolean }).allowed, true, `${path} ends at ${end}`);
        const denied = await reviewAccess(ours.url, "denied", { name: `f${end}` });
        assert.equal((denied as { denied?: boolean }).denied, true, `${path} ends at ${end}`);
      }
      writeFileSync(path, whole);
    }
  });
});
