/**
 * Front proxies name users in headers (`--requestheader-*`). Only their certificate makes the headers count;
 * it is no user itself, and one line names one group, whatever commas are in it.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import https from "node:https";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ensurePki, type Pki } from "#auth/pki-files.ts";
import { type IssuedCertificate, makeAuthority, makeClientCertificate } from "#auth/pki.ts";
import { serviceAddress } from "#cmd/shared/limits.ts";
import { type Plane, startPlane } from "#cmd/plane/plane.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { removeDirectory, temporaryDirectory } from "../process/harness.ts";

const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const body = Buffer.from(
  JSON.stringify({
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
  }),
);

type Headers = Readonly<Record<string, string | readonly string[]>>;

interface Seen {
  readonly status: number;
  readonly name?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly uid?: string | undefined;
  readonly extra?: object | undefined;
}

const scratch = temporaryDirectory("request-headers");
const own = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk() };
const host = { ...own, log: silentLog };
let pki: Pki;
let plane: Plane;
let wrongName: IssuedCertificate;
let stranger: IssuedCertificate;

before(async () => {
  pki = ensurePki(join(scratch, "pki"), { ...host, extraHosts: ["127.0.0.1"], serviceAddress });
  const nowMs = own.clock.nowMs();
  const validity = { notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 3_600_000 };
  const issue = { validity, serial: new Uint8Array(16).fill(1) };
  const subject = (commonName: string) => ({ commonName, organizations: ["system:masters"] });
  wrongName = makeClientCertificate(pki.frontProxyAuthority, subject("admin"), issue);
  const other = makeAuthority("other", issue);
  stranger = makeClientCertificate(other, subject("front-proxy-client"), issue);
  const frontProxy = {
    clientCa: pki.frontProxyAuthority.certificate,
    allowedNames: ["front-proxy-client"],
    usernameHeaders: ["X-Remote-User"],
    uidHeaders: ["X-Remote-Uid"],
    groupHeaders: ["X-Remote-Group"],
    extraPrefixes: ["X-Remote-Extra-"],
  };
  const options = { pki, frontProxy, host: "127.0.0.1", port: 0, nodes: 0, loops: "none" } as const;
  plane = await startPlane(host, options);
});

after(async () => {
  await plane.stop();
  removeDirectory(scratch);
});

function tls(shown: IssuedCertificate | undefined) {
  const ca = pki.authority.certificate;
  return shown === undefined ? { ca } : { ca, cert: shown.certificate, key: shown.privateKey };
}

async function ask(shown: IssuedCertificate | undefined, headers: Headers): Promise<Seen> {
  const more = { "content-type": "application/json", ...headers };
  const options = { method: "POST", ...tls(shown), headers: more as never, agent: false } as const;
  const request = https.request(`${plane.url}${path}`, options);
  request.end(body);
  const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
  return seen(response.statusCode ?? 0, await textOf(response));
}

async function askHttp2(shown: IssuedCertificate, headers: Headers): Promise<Seen> {
  const session = connectHttp2(plane.url, tls(shown));
  const fixed = { ":method": "POST", ":path": path, "content-type": "application/json" };
  const stream = session.request({ ...fixed, ...headers } as never);
  stream.end(body);
  const [head] = (await once(stream, "response")) as [Record<string, number>];
  const answer = seen(head[":status"] ?? 0, await textOf(stream));
  session.close();
  return answer;
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
}

function seen(status: number, text: string): Seen {
  if (status !== 201) return { status };
  const { userInfo } = (JSON.parse(text) as { status: { userInfo: Record<string, never> } }).status;
  const { username: name, groups, uid, extra } = userInfo;
  return { status, name, groups, uid, extra };
}

const named = {
  "x-remote-user": "jane",
  "x-remote-uid": "7",
  "x-remote-group": ["a, system:masters", "b"],
  "x-remote-extra-acme.com%2fproject": ["x,y", "z"],
};
const groups = ["a, system:masters", "b", "system:authenticated"];
const extra = { "acme.com/project": ["x,y", "z"] };

test("a front proxy names user, UID, groups and extra; a comma in a line stays in its group", async () => {
  const jane = { status: 201, name: "jane", groups, uid: "7", extra };
  assert.deepEqual(await ask(pki.frontProxyClient, named), jane);
  assert.deepEqual(await askHttp2(pki.frontProxyClient, named), jane);
  const one = await ask(pki.frontProxyClient, {
    "x-remote-user": "jane",
    "x-remote-group": "a, system:masters",
  });
  assert.deepEqual(one.groups, ["a, system:masters", "system:authenticated"]);
});

test("without the certificate the headers count for nobody", async () => {
  const forged = { "x-remote-user": "root", "x-remote-group": "system:masters" };
  const anonymous = await ask(undefined, forged);
  assert.notEqual(anonymous.name, "root");
  assert.equal(anonymous.groups?.includes("system:masters") ?? false, false);
  const scheduler = await ask(pki.scheduler, forged);
  assert.equal(scheduler.name, "system:kube-scheduler");
  assert.equal(scheduler.groups?.includes("system:masters"), false);
  assert.equal((await ask(stranger, forged)).status, 401);
});

test("a certificate of the front proxies' authority is no user, and one of another name is no front proxy", async () => {
  assert.equal((await ask(pki.frontProxyClient, {})).status, 401);
  assert.equal((await ask(pki.frontProxyClient, { "x-remote-user": "" })).status, 401);
  assert.equal((await ask(wrongName, {})).status, 401);
  assert.equal((await ask(wrongName, named)).status, 401);
  assert.equal((await askHttp2(wrongName, named)).status, 401);
});

test("clients' certificates name their users as before, and names that are no text name nobody", async () => {
  assert.equal((await ask(pki.admin, {})).name, "kubernetes-admin");
  assert.deepEqual(await ask(pki.frontProxyClient, { "x-remote-user": "\xff\xfe" }), {
    status: 401,
  });
});

test("the ConfigMap for extension servers says what the flags say", async () => {
  const at = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
  const request = https.get(`${plane.url}${at}`, { ...tls(pki.admin), agent: false });
  const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
  const { data } = JSON.parse(await textOf(response)) as { data: Record<string, string> };
  assert.equal(data["requestheader-client-ca-file"], pki.frontProxyAuthority.certificate);
  assert.equal(data["requestheader-allowed-names"], '["front-proxy-client"]');
  assert.equal(data["requestheader-uid-headers"], '["X-Remote-Uid"]');
});
