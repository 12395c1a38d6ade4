/**
 * What a listener of ours does in the clear: on loopback anything, off loopback nothing unless the
 * operator says so. And whose certificates count where only some do.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import {
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
  type IssueOptions,
} from "#auth/pki.ts";
import { isLoopback } from "#cmd/shared/loopback.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "../process/harness.ts";
import { startStore } from "../process/store-harness.ts";

const scratch = temporaryDirectory("store-transport");
after(() => removeDirectory(scratch));
const dayMs = 24 * 3600 * 1000;

function issue(): IssueOptions {
  const nowMs = Date.now();
  const validity = { notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + dayMs };
  return { validity, serial: randomBytes(16) };
}

function file(name: string, text: string): string {
  const path = join(scratch, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

function refused(args: readonly string[], words: RegExp): void {
  const { code, stdout, stderr } = pilothouse(args);
  assert.equal(code, 1, `${args.join(" ")}: ${stdout}${stderr}`);
  assert.match(stderr, words);
  assert.equal(stderr.trim().split("\n").length, 1, stderr);
}

const addresses = Object.values(networkInterfaces()).flat();
const hasIpv6 = addresses.some((one) => one?.address === "::1");
const own = addresses.find((one) => one?.internal === false && one.family === "IPv4")?.address;

test("an address is on loopback by what it means, however it is written", async () => {
  for (const host of ["127.0.0.1", "127.0.0.2", "localhost", "::1", "0:0:0:0:0:0:0:1"]) {
    assert.equal(await isLoopback(host, "--listen"), true, host);
  }
  for (const host of ["::ffff:127.0.0.1", "::ffff:7f00:2", "::1%lo"]) {
    assert.equal(await isLoopback(host, "--listen"), true, host);
  }
  for (const host of [
    "0.0.0.0",
    "::",
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:0.0.0.0",
    "fe80::1%lo",
  ]) {
    assert.equal(await isLoopback(host, "--listen"), false, host);
  }
  const name = "127.0.0.1.invalid";
  await assert.rejects(
    isLoopback(name, "--listen"),
    /--listen: the host 127\.0\.0\.1\.invalid has no/,
  );
});

test("a store in the clear off loopback is refused in one sentence, and told what to do", () => {
  const far = [
    "0.0.0.0:0",
    "[::]:0",
    "[::ffff:0.0.0.0]:0",
    ...(own === undefined ? [] : [`${own}:0`]),
  ];
  for (const listen of far) {
    refused(
      ["store", "--memory", "--listen", listen],
      /^pilothouse: --listen \S+ would serve every key in the clear .*--cert.*--client-ca.*127\.0\.0\.1.*--insecure-transport/,
    );
  }
  refused(["store", "--memory", "--listen", "127.0.0.1.invalid:0"], /has no address/);
});

test("a store in the clear listens on every loopback address, and elsewhere when told that it may", async () => {
  const near = ["127.0.0.1:0", "127.0.0.2:0", "localhost:0", ...(hasIpv6 ? ["[::1]:0"] : [])];
  for (const args of [...near.map((one) => [one]), ["0.0.0.0:0", "--insecure-transport"]]) {
    const store = await startStore(["--memory", "--listen", ...args]);
    // Killed first: a failing case would keep the file waiting.
    await store.kill();
    assert.equal(store.output().includes("none has to say who it is"), args.length > 1);
  }
});

test("off loopback a store says that it serves everybody, with TLS too, unless clients are checked", async () => {
  const authority = makeAuthority("store", issue());
  const { certificate, privateKey } = makeServerCertificate(
    authority,
    "store",
    ["127.0.0.1"],
    issue(),
  );
  const tls = ["--cert", file("far.crt", certificate), "--key", file("far.key", privateKey)];
  const checked = ["--client-ca", file("far-ca.crt", authority.certificate)];
  for (const [args, warns] of [
    [tls, true],
    [[...tls, ...checked], false],
  ] as const) {
    const store = await startStore(["--memory", "--listen", "0.0.0.0:0", ...args]);
    await store.kill();
    assert.equal(store.output().includes("none has to say who it is"), warns, args.join(" "));
  }
});

test("a relay in the clear is refused by the same measure", () => {
  const relay = ["relay", "--upstream", "http://127.0.0.1:1", "--listen"];
  for (const listen of ["0.0.0.0:0", "[::]:0", ":0"]) {
    refused([...relay, listen], /must not cross a network in the clear/);
  }
  // Once taken for loopback, because it begins like it.
  refused([...relay, "127.0.0.1.invalid:0"], /the host 127\.0\.0\.1\.invalid has no address/);
});

test("flags that do not go together are refused", () => {
  const store = ["store", "--memory", "--listen", "127.0.0.1:0"];
  refused([...store, "--allow-cn", "a"], /--allow-cn limits .* --client-ca/);
  assert.match(pilothouse([...store, "--allow-cn", "a,,b"]).stderr, /a common name is empty/);
  for (const half of [
    ["--cert", "a"],
    ["--key", "b"],
    ["--client-ca", "c"],
  ]) {
    refused([...store, ...half], /TLS needs both --cert and --key/);
  }
  const both = ["--cert", "a", "--key", "b", "--insecure-transport"];
  refused([...store, ...both], /--insecure-transport is for a listener without --cert/);
});

test("with allowed names a certificate of the authority counts only when its name is one of them", async (t) => {
  const authority = makeAuthority("store", issue());
  const client = (commonName: string, organizations: readonly string[] = []) =>
    makeClientCertificate(authority, { commonName, organizations }, issue());
  const server = makeServerCertificate(authority, "store", ["127.0.0.1"], issue());
  const tls = [
    ["--cert", file("server.crt", server.certificate)],
    ["--key", file("server.key", server.privateKey)],
    ["--client-ca", file("ca.crt", authority.certificate)],
    ["--allow-cn", "apiserver,backup", "--allow-cn", "bøb"],
  ].flat();
  const store = await startStore(["--memory", "--listen", "127.0.0.1:0", ...tls]);
  t.after(() => store.kill());
  const get = (path: string, name: string, organizations?: readonly string[]): Promise<unknown> => {
    const { certificate: cert, privateKey: key } = client(name, organizations);
    const options = { ca: authority.certificate, cert, key };
    return status(store.url, path, options);
  };
  for (const name of ["apiserver", "backup", "bøb"]) {
    assert.equal(await get("/metrics", name), 200, name);
  }
  const others: [string, string[]?][] = [
    ["other"],
    ["Apiserver"],
    ["apiserver "],
    [""],
    ["x", ["apiserver"]],
  ];
  for (const [name, organizations] of others) {
    for (const path of ["/metrics", "/health"]) {
      assert.equal(await get(path, name, organizations), "closed", name);
    }
  }
  assert.match(store.output(), /client certificate authentication failed: CN .*other/);
  assert.equal(await get("/health", "backup"), 200);
});

test("a resumed TLS session shows the certificate it began with, and is refused by its name all the same", async (t) => {
  const authority = makeAuthority("store", issue());
  const server = makeServerCertificate(authority, "store", ["127.0.0.1"], issue());
  const tls = [
    ["--cert", file("resumed.crt", server.certificate)],
    ["--key", file("resumed.key", server.privateKey)],
    ["--client-ca", file("resumed-ca.crt", authority.certificate)],
    ["--allow-cn", "apiserver"],
  ].flat();
  const store = await startStore(["--memory", "--listen", "127.0.0.1:0", ...tls]);
  t.after(() => store.kill());
  for (const [name, answer] of [
    ["apiserver", 200],
    ["other", "closed"],
  ] as const) {
    const { certificate: cert, privateKey: key } = makeClientCertificate(
      authority,
      { commonName: name, organizations: [] },
      issue(),
    );
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      const options = { ca: authority.certificate, cert, key, maxVersion };
      const first = await resumable(store.url, options);
      assert.deepEqual([first.answer, first.reused], [answer, false], `${name} ${maxVersion}`);
      // Who is refused is cut off before a session is on the way, and has none to go on with.
      assert.ok(first.session !== undefined || name === "other", "the store gives sessions");
      if (first.session === undefined) continue;
      const again = await resumable(store.url, { ...options, session: first.session });
      assert.deepEqual([again.answer, again.reused], [answer, true], `${name} ${maxVersion}`);
      // The certificate need not be shown again: the session holds it.
      const bare = { ca: authority.certificate, maxVersion, session: first.session };
      assert.equal((await resumable(store.url, bare)).answer, answer, `${name} ${maxVersion}`);
    }
  }
});

/** A call over a TLS connection of its own, which may go on with an earlier session. */
async function resumable(
  url: string,
  options: ConnectionOptions,
): Promise<{ answer: unknown; reused: boolean; session: Buffer | undefined }> {
  const { port, hostname: host } = new URL(url);
  const socket = connectTls({ ...options, host, port: Number(port), ALPNProtocols: ["h2"] });
  let session: Buffer | undefined;
  socket.on("session", (ticket) => (session = ticket));
  let reused = false;
  socket.once("secureConnect", () => (reused = socket.isSessionReused()));
  const answer = await status(url, "/health", { createConnection: () => socket });
  return { answer, reused, session };
}

function status(url: string, path: string, options: object): Promise<unknown> {
  return new Promise((resolve) => {
    const session = connect(url, options);
    session.on("error", () => undefined);
    session.on("close", () => resolve("closed"));
    const stream = session.request({ ":path": path });
    stream.on("error", () => undefined);
    stream.on("response", (headers) => {
      resolve(headers[":status"]);
      session.destroy();
    });
  });
}
