/** The port of hollow nodes' kubelets: credentials that do not count, paths that lead elsewhere, logs without end. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { type IssuedCertificate, makeAuthority, makeClientCertificate } from "#auth/pki.ts";
import type { Client } from "#client/client.ts";
import { createFakeApi } from "#client/testing/fake-api.ts";
import { listenAsKubelets } from "#cmd/shared/hollow-kubelet.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import type { Listening } from "#platform/node/http/http.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { hollowMark } from "#hollow/node-object.ts";

const hourMs = 3_600_000;
const directory = mkdtempSync(join(tmpdir(), "pilothouse-hollow-kubelet-"));
const clock = new NodeClock();
let serials = 0;
const made = () => ({
  validity: { notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + hourMs },
  serial: new Uint8Array(16).fill(++serials),
});
const ours = makeAuthority("ours", made());
const theirs = makeAuthority("theirs", made());
const of = (authority: IssuedCertificate, user: string): IssuedCertificate =>
  makeClientCertificate(authority, { commonName: user, organizations: [] }, made());

/** What the API server was asked for, and every review. */
const asked: string[] = [];
let listening: Listening | undefined;

/** Takes the token "good", and lets `reader` do what is asked of nodes. */
function reviewing(): Client {
  const api = createFakeApi({ clock });
  const labels = { [hollowMark]: "true" };
  api.put({ group: "", version: "v1", resource: "nodes" }, { metadata: { name: "n", labels } });
  for (const name of ["p", "pipe", "zero", "grows"]) {
    const spec = { nodeName: "n", containers: [] };
    api.put(
      { group: "", version: "v1", resource: "pods" },
      { metadata: { namespace: "a", name }, spec },
    );
  }
  const review = (resource: string, object: AnyObject): AnyObject => {
    const spec = object["spec"] as Readonly<Record<string, unknown>>;
    if (resource === "tokenreviews") {
      const authenticated = spec["token"] === "good";
      return { status: { authenticated, user: { username: "reader", groups: [] } } };
    }
    const place = spec["resourceAttributes"] as Readonly<Record<string, string>>;
    asked.push(
      `may ${place["verb"]} ${place["resource"]}/${place["subresource"]} ${place["name"]}`,
    );
    return { status: { allowed: spec["user"] === "reader" } };
  };
  const client: Pick<Client, "get" | "list" | "create"> = {
    list: (...call) => api.list(...call),
    get(ref, namespace, name, ...more) {
      asked.push(`get ${ref.resource} ${namespace}/${name}`);
      return api.get(ref, namespace, name, ...more);
    },
    create(ref, namespace, object, ...more) {
      if (!ref.resource.endsWith("reviews")) return api.create(ref, namespace, object, ...more);
      // What was asked with, as the API answers it.
      return Promise.resolve({
        ...object,
        ...review(ref.resource, object as unknown as AnyObject),
      });
    },
  };
  return client as Client;
}

const file = (name: string): string => join(directory, name);
/** Node makes no pipe with a name. */
const hasPipe = spawnSync("mkfifo", [file("pipe")]).status === 0;

before(async () => {
  writeFileSync(file("grows"), "");
  const log = (name: string, path: string) => ({
    namespaces: ["a"],
    names: [name],
    containers: [],
    file: path,
    previousFile: "",
  });
  const logs = [log("pipe", file("pipe")), log("zero", "/dev/zero"), log("grows", file("grows"))];
  const host = { clock, random: new FakeRandom(1), log: silentLog };
  const deps = {
    host,
    client: reviewing(),
    clientCa: ours.certificate,
    rules: { usage: [], logs },
  };
  listening = await listenAsKubelets(deps as never, { host: "127.0.0.1", port: 0 });
});
after(async () => {
  await listening?.close(1_000);
  rmSync(directory, { recursive: true });
});

interface Ask {
  readonly own?: IssuedCertificate;
  readonly token?: string;
  readonly method?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** As it is written: paths are not made plain on the way. */
function ask(path: string, { own, token, method = "GET" }: Ask = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const shown = own === undefined ? {} : { cert: own.certificate, key: own.privateKey };
    const at = {
      host: "127.0.0.1",
      port: listening?.address.port,
      path,
      method,
      headers,
      agent: false,
    };
    const sent = request({ ...at, ...shown, rejectUnauthorized: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

const page = "/nodes/n/metrics/resource";

void test("no credential, a wrong one, or one of another authority gets nothing, and is told nothing", async () => {
  asked.length = 0;
  const strangers: readonly Ask[] = [
    {},
    { token: "bad" },
    { token: "" },
    { own: of(theirs, "reader") },
    { own: of(theirs, "reader"), token: "bad" },
  ];
  for (const one of strangers) {
    for (const path of [page, "/nodes/n/healthz", "/containerLogs/a/p/c", "/run/a/p/c", "/"]) {
      const { status, text } = await ask(path, one);
      assert.deepEqual([status, text], [401, "Unauthorized\n"], `${path} ${JSON.stringify(one)}`);
    }
  }
  assert.deepEqual(asked, [], "nothing was looked up for them");
});

void test("a user without the right is refused, whichever page; with it the pages are served", async () => {
  for (const path of [page, "/nodes/n/stats/summary", "/nodes/n/pods", "/containerLogs/a/p/c"]) {
    assert.equal((await ask(path, { own: of(ours, "nobody") })).status, 403, path);
    for (const one of [{ own: of(ours, "reader") }, { token: "good" }]) {
      const { status, text } = await ask(path, one);
      assert.equal(status, 200, `${path}: ${text}`);
    }
  }
});

const tricks = [
  "/nodes/../metrics/resource",
  "/nodes/%2e%2e/metrics/resource",
  "/nodes/./pods",
  "/nodes/n/../../pods",
  "/nodes/n%2f..%2f..%2fsecrets/pods",
  "/nodes/n/metrics/resource/../../..",
  "/containerLogs/../secrets/s/c",
  "/containerLogs/a/../c",
  "/containerLogs/%2e%2e/%2e%2e/c",
  "/containerLogs/a/p%2f..%2f..%2fsecrets/c",
  "/containerLogs/a/p/c/more",
  "/logs/../../../../etc/passwd",
  "//nodes/n//pods",
  "/nodes/n?x=/pods",
];

void test("paths that climb, or hide a slash, lead to no other object", async () => {
  asked.length = 0;
  for (const path of tricks) {
    const { status, text } = await ask(path, { token: "good" });
    assert.ok(status === 404 || status === 400, `${path}: ${status} ${text}`);
    assert.doesNotMatch(text, /root:/);
  }
  const looked = asked.filter((one) => one.startsWith("get "));
  assert.ok(!looked.some((one) => /secrets|\.\./.test(one)), looked.join("; "));
});

void test("writes, execs and unknown methods are refused with the right, too", async () => {
  for (const path of [
    "/exec/a/p/c?command=id",
    "/run/a/p/c",
    "/attach/a/p/c",
    "/portForward/a/p",
  ]) {
    assert.equal((await ask(path, { token: "good", method: "POST" })).status, 405, path);
    assert.equal((await ask(path, { token: "good" })).status, 404, path);
  }
});

async function assertRefused(name: string): Promise<void> {
  const path = `/containerLogs/a/${name}/c?follow=true`;
  const answers = await Promise.all(Array.from({ length: 16 }, () => ask(path, { token: "good" })));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [500], name);
}

void test("a log that is a pipe is refused", { skip: !hasPipe && "needs mkfifo" }, () =>
  assertRefused("pipe"),
);

void test("a log that is a device, or grows for ever, is refused, or ends at 4 MiB", async () => {
  const reader = { token: "good" };
  await assertRefused("zero");
  const line = `${"x".repeat(1_023)}\n`;
  appendFileSync(file("grows"), line.repeat(10_000));
  const { status, text } = await ask("/containerLogs/a/grows/c?follow=true", reader);
  assert.deepEqual([status, text.length], [200, 4 * 2 ** 20]);
  const counts = [
    "tailLines=1e308",
    "tailLines=-1",
    "limitBytes=-5",
    "limitBytes=NaN",
    "limitBytes=9e99",
  ];
  for (const query of counts) {
    const answer = await ask(`/containerLogs/a/grows/c?${query}`, reader);
    assert.ok(answer.status === 200 && answer.text.length <= 4 * 2 ** 20, query);
  }
  const short = await ask("/containerLogs/a/grows/c?tailLines=2&limitBytes=100", reader);
  assert.equal(short.text.length, 100);
});
