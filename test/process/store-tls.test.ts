/**
 * `pilothouse store --cert --key --client-ca`: clients with a certificate of that authority are served -
 * etcdctl, npm's etcd3, plain HTTP over both versions - and all others are refused with the reason.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect, type SecureClientSessionOptions } from "node:http2";
import https from "node:https";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Etcd3 } from "etcd3";
import {
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
  type IssuedCertificate,
  type IssueOptions,
} from "#auth/pki.ts";
import {
  pilothouse,
  removeDirectory,
  run,
  temporaryDirectory,
  type CommandResult,
} from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { startStore, type RunningStore } from "./store-harness.ts";

const etcdctl = findPeer("etcdctl");
const noEtcdctl = etcdctl === undefined ? noPeer("etcdctl") : false;
const scratch = temporaryDirectory("store-tls");
const dayMs = 24 * 3600 * 1000;

function issue(): IssueOptions {
  const nowMs = Date.now();
  const validity = { notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + dayMs };
  return { validity, serial: randomBytes(16) };
}

const authority = makeAuthority("store", issue());
const stranger = makeAuthority("stranger", issue());
const subject = { commonName: "reader", organizations: [] };
const known = makeClientCertificate(authority, subject, issue());
const unknown = makeClientCertificate(stranger, subject, issue());
let store: RunningStore;

function file(name: string, text: string): string {
  const path = join(scratch, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

before(async () => {
  const server = makeServerCertificate(authority, "store", ["127.0.0.1", "localhost"], issue());
  const tls = [
    ["--cert", file("server.crt", server.certificate)],
    ["--key", file("server.key", server.privateKey)],
    ["--client-ca", file("ca.crt", authority.certificate)],
  ].flat();
  store = await startStore(["--memory", "--listen", "127.0.0.1:0", ...tls]);
});
after(async () => {
  assert.equal(await store.stop(), 0);
  removeDirectory(scratch);
});

function ctl(client: IssuedCertificate | undefined, args: readonly string[]): CommandResult {
  const mine =
    client === undefined
      ? []
      : [
          ["--cert", file("client.crt", client.certificate)],
          ["--key", file("client.key", client.privateKey)],
        ].flat();
  const at = ["--endpoints", store.url, "--cacert", join(scratch, "ca.crt")];
  const short = ["--dial-timeout=2s", "--command-timeout=2s"];
  const env = { ...process.env, ETCDCTL_API: "3" };
  return run(etcdctl ?? "", [...at, ...mine, ...short, ...args], { env });
}

test("etcdctl with a certificate of the authority is served", { skip: noEtcdctl }, () => {
  assert.match(store.url, /^https:/);
  assert.equal(ctl(known, ["put", "a", "1"]).stdout, "OK\n");
  assert.equal(ctl(known, ["get", "a"]).stdout, "a\n1\n");
  const health = ctl(known, ["endpoint", "health"]);
  assert.match(health.stdout + health.stderr, /is healthy/);
  assert.match(ctl(known, ["member", "list"]).stdout, new RegExp(store.url));
});

test(
  "etcdctl without one, or with one of another authority, is refused",
  { skip: noEtcdctl },
  () => {
    for (const client of [undefined, unknown]) {
      const refused = ctl(client, ["get", "a"]);
      assert.notEqual(refused.code, 0);
      assert.equal(refused.stdout, "");
      assert.match(refused.stderr, /context deadline exceeded/, "as with a real etcd");
    }
    assert.equal(ctl(known, ["get", "a"]).code, 0);
  },
);

test("npm's etcd3 is served with a certificate, and told without", async () => {
  const rootCertificate = Buffer.from(authority.certificate);
  const mine = {
    privateKey: Buffer.from(known.privateKey),
    certChain: Buffer.from(known.certificate),
  };
  // Its TLS takes no address for a server's name.
  const hosts = store.url.replace("127.0.0.1", "localhost");
  const client = new Etcd3({ hosts, credentials: { rootCertificate, ...mine } });
  await client.put("b").value("2");
  assert.equal(await client.get("b").string(), "2");
  const watcher = await client.watch().key("b").create();
  const told = new Promise<string>((resolve) => {
    watcher.on("put", ({ value }) => resolve(value.toString()));
  });
  await client.put("b").value("3");
  assert.equal(await told, "3");
  await watcher.cancel();
  client.close();
  const bare = new Etcd3({ hosts, credentials: { rootCertificate } });
  await assert.rejects(
    bare.get("b").string(),
    /No connection established|ECONNRESET|certificate required/,
  );
  bare.close();
});

const tls = { ca: authority.certificate };
const trusted = { ...tls, cert: known.certificate, key: known.privateKey };
const strange = { ...tls, cert: unknown.certificate, key: unknown.privateKey };

test("plain HTTP over TLS, and over HTTP/2, is for the same clients", async () => {
  for (const get of [get1, get2]) {
    assert.match(await get("/version", trusted), /^200 \{"etcdserver":"3\.6\.5"/);
    assert.equal(await get("/health", trusted), '200 {"health":"true","reason":""}');
    assert.equal(await get("/nothing", trusted), "404 404 page not found\n");
    await assert.rejects(get("/health", tls), /certificate required/i);
    await assert.rejects(get("/health", strange));
  }
  await assert.rejects(fetch(store.url.replace("https", "http")), "plain HTTP on a port of TLS");
  assert.equal(await get1("/readyz", trusted), "200 ok\n");
});

function get1(path: string, options: https.RequestOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = https.get(store.url + path, { ...options, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (body += chunk));
      response.on("end", () => resolve(`${response.statusCode} ${body}`));
      response.on("error", reject);
    });
    request.on("error", reject);
  });
}

function get2(path: string, options: SecureClientSessionOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const session = connect(store.url, options);
    session.on("error", reject);
    // With no error where the peer hung up without a word.
    session.on("close", () => reject(new Error("closed without an answer")));
    const stream = session.request({ ":path": path });
    let answer = "";
    stream.on("response", (headers) => (answer = `${headers[":status"]} `));
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => (answer += chunk));
    // Of a broken handshake node tells the stream, not always the session.
    stream.on("error", reject);
    stream.on("end", () => {
      if (answer === "") reject(new Error("ended without an answer"));
      else resolve(answer);
      session.destroy();
    });
  });
}

test("the log says who was refused, and why, a line a second at most", async () => {
  const refusals = (): string[] => store.output().match(/.*refused in its TLS handshake/g) ?? [];
  const before = refusals().length;
  assert.ok(before > 0);
  const told = async (options: https.RequestOptions, why: RegExp): Promise<void> => {
    while (!why.test(refusals().at(-1) ?? "")) await assert.rejects(get1("/health", options));
  };
  await told(strange, /UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/);
  await told(tls, /peer did not return a certificate/);
  assert.ok(refusals().length - before <= 4, refusals().join("\n"));
});

test("certificates that cannot be used are refused at the start", () => {
  const nonsense = file("nonsense.pem", "no certificate");
  const key = join(scratch, "server.key");
  for (const [args, words] of [
    [["--cert", nonsense, "--key", key], /--cert and --key cannot be used: .*PEM/],
    [["--cert", join(scratch, "ca.crt"), "--key", key], /--cert and --key cannot be used: /],
    [["--cert", join(scratch, "server.crt"), "--key", key, "--client-ca", nonsense], /--client-ca/],
    [["--cert", join(scratch, "none"), "--key", key], /cannot read .*none/],
    [["--client-ca", nonsense], /TLS needs both --cert and --key/],
  ] as const) {
    const result = pilothouse(["store", "--memory", "--listen", "127.0.0.1:0", ...args]);
    assert.equal(result.code, 1, result.stdout + result.stderr);
    assert.match(result.stderr, words);
    assert.doesNotMatch(result.stderr, /\n\s+at /, "a stack is not for users");
  }
});
