/** --tls-cert-file and --client-ca-file replaced while the API server runs. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "#auth/pki.ts";
import { removeDirectory, temporaryDirectory } from "../harness.ts";
import { until } from "../role-harness.ts";
import { startOurs } from "./gate-world.ts";

const scratch = temporaryDirectory("renewed-files");
after(() => removeDirectory(scratch));

const nowMs = Date.now();
const validity = { notBeforeMs: nowMs - 3_600_000, notAfterMs: nowMs + 86_400_000 };
let serials = 0;
const issue = () => ({ validity, serial: new Uint8Array(16).fill(++serials) });

function identity(name: string) {
  const made = makeAuthority(name, issue());
  const server = makeServerCertificate(made, name, ["localhost", "127.0.0.1"], issue());
  const subject = { commonName: `${name}-admin`, organizations: ["system:masters"] };
  const { certificate, privateKey } = makeClientCertificate(made, subject, issue());
  return { ca: made.certificate, server, client: { cert: certificate, key: privateKey } };
}

const [old, next] = [identity("old"), identity("next")];
const files = {
  cert: join(scratch, "tls.crt"),
  key: join(scratch, "tls.key"),
  ca: join(scratch, "ca.crt"),
};

/** Each at once, one after the other: the pair does not fit in between. */
function write({ ca, server }: typeof old): void {
  for (const [path, text] of [
    [files.cert, server.certificate],
    [files.key, server.privateKey],
    [files.ca, ca],
  ] as const) {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}

/** The status of a request over a new connection; undefined: the server is another's. */
async function statusOf(
  url: string,
  client: (typeof old)["client"],
  ca: string,
): Promise<number | undefined> {
  const sent = request(`${url}/api/v1/nodes`, { ...client, ca, agent: false }).end();
  try {
    const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
    response.resume();
    return response.statusCode;
  } catch {
    return undefined;
  }
}

test("another certificate is shown, and clients of the authority that went are cut and refused", async () => {
  write(old);
  const flags = [
    `--tls-cert-file=${files.cert}`,
    `--tls-private-key-file=${files.key}`,
    `--client-ca-file=${files.ca}`,
  ];
  const { role, url } = await startOurs(join(scratch, "ours"), ...flags);
  try {
    assert.equal(await statusOf(url, old.client, old.ca), 200);
    const quiet = connectHttp2(url, { ca: old.ca, ...old.client });
    quiet.on("error", () => {});
    const stream = quiet.request({ ":path": "/api/v1/namespaces?watch=1" });
    stream.on("error", () => {});
    await once(stream, "response");
    const cut = once(quiet, "close");
    write(next);
    await cut;
    await until("the new certificate", () =>
      statusOf(url, next.client, next.ca).then((status) => (status === 200 ? true : undefined)),
    );
    assert.equal(await statusOf(url, old.client, next.ca), 401);
  } finally {
    await role.stop();
  }
});
