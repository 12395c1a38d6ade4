/** Flags of kube-apiserver that say who is believed and who may do what, on the role alone. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { connect } from "node:tls";
import { ensurePki } from "#auth/pki-files.ts";
import { makeClientCertificate } from "#auth/pki.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { type RunningRole, startRole } from "./role-harness.ts";

const scratch = temporaryDirectory("apiserver-flags");
after(() => removeDirectory(scratch));
const deps = { clock: new NodeClock(), random: new NodeRandom() };

function start(dataDir: string, ...flags: string[]): Promise<RunningRole> {
  const more = ["--secure-port=0", "--log-level=error", ...flags];
  return startRole(["apiserver", `--data-dir=${dataDir}`, ...more]);
}

function urlOf(role: RunningRole): string {
  return /API\s+(https:\S+)/.exec(role.output())?.[1] ?? "";
}

interface Asked {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(
  url: string,
  options: Asked,
  body?: object,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { ...options.headers, "content-type": "application/json" };
  const sent = https.request(url, { ...options, headers, agent: false });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, text };
}

describe("pilothouse apiserver", () => {
  test("asks the authorizers of --authorization-mode alone, and no tokens of bootstrap when told so", async () => {
    const data = join(scratch, "modes");
    const extraHosts = ["127.0.0.1"];
    const nowMs = deps.clock.nowMs();
    const validity = { notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 3_600_000 };
    const answers: number[][] = [];
    for (const flags of [
      ["--authorization-mode=RBAC", "--enable-bootstrap-token-auth=false"],
      ["--authorization-mode=RBAC,Node", "--enable-bootstrap-token-auth", "--allow-privileged"],
    ]) {
      const role = await start(data, ...flags);
      const pki = ensurePki(join(data, "pki"), { ...deps, extraHosts, serviceAddress });
      const subject = { commonName: "system:node:n", organizations: ["system:nodes"] };
      const issue = { validity, serial: new Uint8Array(16).fill(1) };
      const node = makeClientCertificate(pki.authority, subject, issue);
      const ca = pki.authority.certificate;
      const url = urlOf(role);
      const asNode = { ca, cert: node.certificate, key: node.privateKey };
      const asAdmin = { ca, cert: pki.admin.certificate, key: pki.admin.privateKey };
      await ask(
        `${url}/api/v1/namespaces/kube-system/secrets`,
        { ...asAdmin, method: "POST" },
        {
          metadata: { name: "bootstrap-token-abcdef" },
          type: "bootstrap.kubernetes.io/token",
          stringData: {
            "token-id": "abcdef",
            "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true",
          },
        },
      );
      const headers = { authorization: "Bearer abcdef.0123456789abcdef" };
      const nodes = await ask(`${url}/api/v1/nodes/n`, asNode);
      const joining = await ask(`${url}/api/v1/nodes`, { ca, headers });
      answers.push([nodes.status, joining.status]);
      assert.equal(await role.stop(), 0);
    }
    assert.deepEqual(answers, [
      [403, 401],
      [404, 403],
    ]);
  });

  test("makes a serving certificate in --cert-dir, and shows it again", async () => {
    const certs = join(scratch, "certs");
    const shown: string[] = [];
    for (let starts = 0; starts < 2; starts++) {
      const role = await start(join(scratch, "cert-dir"), `--cert-dir=${certs}`);
      const port = Number(new URL(urlOf(role)).port);
      const ca = readFileSync(join(certs, "apiserver.crt"), "utf8");
      const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca });
      await once(socket, "secureConnect");
      shown.push(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
      socket.destroy();
      assert.equal(await role.stop(), 0);
    }
    assert.equal(statSync(join(certs, "apiserver.key")).mode & 0o777, 0o600);
    assert.equal(shown[0], shown[1]);
  });

  test("refuses half a pair in --cert-dir, no mode at all, and privileged pods' refusal", () => {
    const half = join(scratch, "half");
    mkdirSync(half);
    writeFileSync(join(half, "apiserver.crt"), "x");
    const refused = (flag: string): string => {
      const data = `--data-dir=${join(scratch, "refused")}`;
      const { code, stderr } = pilothouse(["apiserver", data, "--secure-port=0", flag]);
      assert.equal(code, 1);
      return stderr;
    };
    assert.match(refused(`--cert-dir=${half}`), /certificate and key must be supplied as a pair/);
    assert.match(
      refused("--authorization-mode="),
      /at least one authorization-mode must be passed/,
    );
    assert.match(refused("--allow-privileged=false"), /privileged pods are taken here/);
  });
});

describe("pilothouse controller-manager", () => {
  test("refuses a controller that upstream does not know", () => {
    const { code, stderr } = pilothouse(["controller-manager", "--controllers=*,-deployments"]);
    assert.equal(code, 1);
    assert.match(stderr, /"deployments" is not in the list of known controllers/);
  });
});
