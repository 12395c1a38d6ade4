/** What a credential is good for: tokens for other audiences, unusual spellings of a header, two credentials at once. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { given } from "#base/given.ts";
import { ensurePki, type Pki } from "#auth/pki-files.ts";
import { type IssuedCertificate, makeClientCertificate } from "#auth/pki.ts";
import { StaticTokens } from "#auth/token-file.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";
import { type PromisedPlane, startPromised } from "./promised-plane.ts";

const issuer = "https://kubernetes.default.svc.cluster.local";
const bootstrapToken = "audxyz.0123456789abcdef";
const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

interface Reviewed {
  readonly authenticated?: boolean;
  readonly audiences?: readonly string[];
  readonly user?: { readonly username?: string };
  readonly error?: string;
}

describe("credentials", () => {
  const scratch = temporaryDirectory("credentials");
  const host = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk() };
  let pki: Pki;
  let world: PromisedPlane;
  let nameless: IssuedCertificate;
  before(async () => {
    const extraHosts = ["127.0.0.1"];
    pki = ensurePki(join(scratch, "pki"), { ...host, extraHosts, serviceAddress });
    const nowMs = host.clock.nowMs();
    const validity = { notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 3_600_000 };
    const issue = { validity, serial: new Uint8Array(16).fill(1) };
    const subject = { commonName: "", organizations: ["system:masters"] };
    nameless = makeClientCertificate(pki.authority, subject, issue);
    const frontProxy = {
      clientCa: pki.frontProxyAuthority.certificate,
      allowedNames: ["front-proxy-client"],
      usernameHeaders: ["X-Remote-User"],
      uidHeaders: [],
      groupHeaders: ["X-Remote-Group"],
      extraPrefixes: [],
    };
    const staticTokens = new StaticTokens("alicetoken,alice,u1\n");
    world = await startPromised({ pki, frontProxy, staticTokens, log: silentLog });
  });
  after(async () => {
    await world.stop();
    removeDirectory(scratch);
  });

  async function review(token: string, audiences?: readonly string[]): Promise<Reviewed> {
    const spec = { token, ...given({ audiences }) };
    const { status, json, text } = await world.ask("POST", reviews, { body: { spec } });
    assert.equal(status, 201, text);
    return json["status"] as Reviewed;
  }

  async function whoAmI(
    shown: IssuedCertificate | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<string> {
    const pair = shown === undefined ? {} : { cert: shown.certificate, key: shown.privateKey };
    const more = { "content-type": "application/json", ...headers };
    const tls = { ca: pki.authority.certificate, ...pair, agent: false };
    const request = https.request(world.plane.url + self, {
      method: "POST",
      ...tls,
      headers: more,
    });
    request.end("{}");
    const [response] = (await once(request, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response) text += String(chunk);
    const warning = String(response.headers["warning"] ?? "");
    if (response.statusCode !== 201) return `${response.statusCode}${warning}`;
    const { status } = JSON.parse(text) as { status: { userInfo: { username: string } } };
    return status.userInfo.username;
  }

  test("a token that names no audience is good for the API server alone", async () => {
    await world.ask("POST", "/api/v1/namespaces/kube-system/secrets", {
      body: {
        metadata: { name: "bootstrap-token-audxyz" },
        type: "bootstrap.kubernetes.io/token",
        stringData: {
          "token-id": "audxyz",
          "token-secret": "0123456789abcdef",
          "usage-bootstrap-authentication": "true",
        },
      },
    });
    for (const token of ["alicetoken", bootstrapToken]) {
      assert.deepEqual(await review(token, ["vault"]), {
        user: {},
        error: "invalid bearer token",
      });
      const both = await review(token, ["vault", issuer]);
      assert.deepEqual([both.authenticated, both.audiences], [true, [issuer]]);
      const own = await review(token);
      assert.deepEqual([own.authenticated, own.audiences], [true, [issuer]]);
    }
  });

  test("a reviewed token is read as a header is", async () => {
    assert.equal((await review("alicetoken x")).user?.username, "alice");
    assert.equal((await review("alicetoken ")).user?.username, "alice");
    for (const token of [" alicetoken", "  ", "x alicetoken", "\talicetoken"])
      assert.deepEqual(await review(token), { user: {}, error: "invalid bearer token" });
  });

  test("the second word of Authorization is the token, and a second space is told of", async () => {
    const ask = (authorization: string): Promise<string> => whoAmI(undefined, { authorization });
    assert.equal(await ask("Bearer alicetoken x"), "alice");
    assert.equal(await ask("bearer alicetoken "), "alice");
    for (const bad of ["Bearer nonsense x", "Bearer nonsense alicetoken", "Bearer nonsense"])
      assert.equal(await ask(bad), "401");
    const warning =
      '299 - "the provided Authorization header contains extra space before the bearer token, and is ignored"';
    assert.equal(await ask("Bearer  alicetoken"), `403${warning}`);
    assert.equal(await ask("Bearer\talicetoken"), "403");
  });

  test("a certificate without a common name is a bad credential, and takes no other one away", async () => {
    assert.equal(await whoAmI(nameless, {}), "401");
    assert.equal(await whoAmI(nameless, { authorization: "Bearer nonsense" }), "401");
    assert.equal(await whoAmI(nameless, { authorization: "Bearer alicetoken" }), "alice");
    assert.equal(await whoAmI(nameless, { "x-remote-user": "root" }), "401");
  });

  test("a front proxy's certificate is no user, whoever it is shown by", async () => {
    const { frontProxyClient } = pki;
    assert.equal(await whoAmI(frontProxyClient, { authorization: "Bearer alicetoken" }), "alice");
    assert.equal(await whoAmI(frontProxyClient, { authorization: "Bearer nonsense" }), "401");
    // Upstream takes its word for it, as for any other name.
    assert.equal(await whoAmI(frontProxyClient, { "x-remote-user": "system:anonymous" }), "403");
  });

  test("what made a token good is asked with every request of its connection", async () => {
    const apiGroup = "rbac.authorization.k8s.io";
    const [accounts, bindings] = [
      "/api/v1/namespaces/default/serviceaccounts",
      `/apis/${apiGroup}/v1/clusterrolebindings`,
    ];
    const made = async (path: string, body: object) => {
      const { status, json, text } = await world.ask("POST", path, { body });
      assert.equal(status, 201, text);
      return json;
    };
    const revoked = { metadata: { name: "revoked" } };
    await made(accounts, revoked);
    const asked = { spec: { expirationSeconds: 3_600 } };
    const answered = (await made(`${accounts}/revoked/token`, asked))["status"];
    const { token } = answered as { token: string };
    const binding = {
      ...revoked,
      roleRef: { apiGroup, kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "ServiceAccount", name: "revoked", namespace: "default" }],
    };
    const list = async (): Promise<number> =>
      (await world.ask("GET", "/api/v1/namespaces/default/configmaps", { token })).status;
    assert.equal(await list(), 403);
    for (let at = 0; at < 3; at++) {
      await made(bindings, binding);
      assert.deepEqual([await list(), await list()], [200, 200]);
      assert.equal((await world.ask("DELETE", `${bindings}/revoked`)).status, 200);
      assert.deepEqual([await list(), await list()], [403, 403]);
    }
    await made(bindings, binding);
    assert.equal(await list(), 200);
    assert.equal((await world.ask("DELETE", `${accounts}/revoked`)).status, 200);
    assert.deepEqual([await list(), await list()], [401, 401]);
    await made(accounts, revoked);
    assert.equal(await list(), 401, "an account of the same name is another one");
  });
});
