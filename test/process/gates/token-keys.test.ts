/** --service-account-key-file replaced while the API server runs: keys come and go, and a half-written file is not taken. */
import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { Agent, request } from "node:https";
import { ServiceAccountTokens } from "#auth/service-account-token.ts";
import { makeKeyPair } from "#auth/pki.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { removeDirectory, temporaryDirectory } from "../harness.ts";
import { until } from "../role-harness.ts";
import { adminToken, ask, type OurServer, startOurs } from "./gate-world.ts";

const issuer = "https://issuer.example";
const namespaces = "/api/v1/namespaces/default";
const [signing, other, further] = [makeKeyPair(), makeKeyPair(), makeKeyPair()];

suite("keys that check service account tokens", () => {
  const scratch = temporaryDirectory("token-keys");
  const files = { signing: join(scratch, "sa.key"), keys: join(scratch, "keys.pem") };
  /** One connection for all requests of a token: what it remembers must not outlive a key. */
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  let ours: OurServer;
  let uid = "";
  before(async () => {
    writeFileSync(files.signing, signing.privateKey, { mode: 0o600 });
    write(other.publicKey);
    const flags = [
      `--service-account-signing-key-file=${files.signing}`,
      `--service-account-key-file=${files.keys}`,
      `--service-account-issuer=${issuer}`,
    ];
    ours = await startOurs(join(scratch, "ours"), ...flags);
    const account = { metadata: { name: "app" } };
    const made = await ask(`${ours.url}${namespaces}/serviceaccounts`, adminToken, account);
    assert.equal(made.status, 201, made.text);
    uid = JSON.parse(made.text).metadata.uid;
  });
  after(async () => {
    agent.destroy();
    await ours.role.stop();
    removeDirectory(scratch);
  });

  function write(text: string): void {
    writeFileSync(`${files.keys}.new`, text);
    renameSync(`${files.keys}.new`, files.keys);
  }

  function tokenOf({ privateKey }: { readonly privateKey: string }): string {
    const deps = { clock: new NodeClock(), random: new NodeRandom() };
    const lookup = { get: () => undefined, list: () => [] };
    const options = { issuer, apiAudiences: [issuer], privateKey, olderPublicKeys: [] };
    return new ServiceAccountTokens({ ...deps, lookup }, options).issue({
      namespace: "default",
      account: { name: "app", uid },
      audiences: [issuer],
      expirationSeconds: 3_600,
    }).token;
  }

  /** 403: it is known who asks; 401: it is not. */
  function statusOf(token: string): Promise<number> {
    const headers = { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      const sent = request(`${ours.url}${namespaces}/secrets`, { agent, headers }, (answer) => {
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
      });
      sent.on("error", reject).end();
    });
  }

  const untilAnswered = (token: string, status: number): Promise<true> =>
    until(`${status} for the token`, async () =>
      (await statusOf(token)) === status ? true : undefined,
    );

  async function publishedKeys(): Promise<number> {
    const { body, text } = await ask(`${ours.url}/openid/v1/jwks`, adminToken);
    assert.ok(body["keys"] !== undefined, text);
    return (body["keys"] as readonly unknown[]).length;
  }

  test("one that is added is good, and one that is taken away is not, on an open connection too", async () => {
    const [own, first, second] = [tokenOf(signing), tokenOf(other), tokenOf(further)];
    assert.deepEqual([await statusOf(own), await statusOf(first)], [403, 403]);
    assert.equal(await statusOf(second), 401);
    assert.equal(await publishedKeys(), 2);
    write(other.publicKey + further.publicKey);
    await untilAnswered(second, 403);
    assert.deepEqual([await statusOf(first), await publishedKeys()], [403, 3]);
    write(further.publicKey);
    await untilAnswered(first, 401);
    assert.deepEqual([await statusOf(own), await statusOf(second)], [403, 403]);
    assert.equal(await publishedKeys(), 2);
  });

  test("files that cannot be used are not taken, and are read again", async () => {
    const [own, first, second] = [tokenOf(signing), tokenOf(other), tokenOf(further)];
    write(other.publicKey.slice(0, 60));
    const lookedAtMs = performance.now() + 6_000;
    while (performance.now() < lookedAtMs) {
      assert.deepEqual([await statusOf(own), await statusOf(second)], [403, 403]);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    write(other.publicKey);
    await untilAnswered(first, 403);
    await untilAnswered(second, 401);
  });
});
