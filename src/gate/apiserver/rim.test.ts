/** The TLS rim: one port, two protocols, client certificates. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "node:http2";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import {
  type IssuedCertificate,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "#auth/pki.ts";
import type { PlainHandler } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";
import { listen } from "#platform/node/http/http.ts";
import { type Answer, call, clear, echo, text } from "#platform/node/testing/http-calls.ts";

function call2(authority: string, headers: Record<string, string>, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const session = connect(authority, { rejectUnauthorized: false });
    session.on("error", reject);
    const stream = session.request(headers, { endStream: body === undefined });
    let head: Record<string, unknown> = {};
    const chunks: Buffer[] = [];
    stream.on("response", (h) => (head = h as Record<string, unknown>));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("end", () => {
      session.close();
      const status = Number(head[":status"]);
      resolve({ status, headers: head, body: Buffer.concat(chunks).toString() });
    });
    if (body !== undefined) stream.end(body);
  });
}

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};
const authority = makeAuthority("test-ca", issue);
const stranger = makeAuthority("another-ca", issue);
const client = { commonName: "client", organizations: [] };
const pair = (made: IssuedCertificate): { key: string; cert: string } => ({
  key: made.privateKey,
  cert: made.certificate,
});
const identity = {
  ...pair(makeServerCertificate(authority, "server", ["127.0.0.1"], issue)),
  ca: authority.certificate,
  client: pair(makeClientCertificate(authority, client, issue)),
  stranger: pair(makeClientCertificate(stranger, client, issue)),
};

test("a client certificate reaches the peer only when it verifies", async () => {
  const seen: string[] = [];
  const handler: PlainHandler = (request) => {
    const peer = request.peer;
    const given = peer.kind === "socket" && peer.certificate !== undefined;
    const problem = peer.kind === "socket" ? (peer.certificateProblem ?? "") : "";
    seen.push(`${given} ${problem === "" ? "clean" : "problem"}`);
    return Promise.resolve(text(200, "ok"));
  };
  const options = { ...clear, key: identity.key, cert: identity.cert, clientCa: identity.ca };
  const server = await listen(options, handler, silentLog);
  const make = httpsRequest as typeof httpRequest;
  const tls = { path: "/", rejectUnauthorized: false, agent: false };
  await call(make, server.address.port, tls);
  await call(make, server.address.port, { ...tls, ...identity.client });
  await call(make, server.address.port, { ...tls, ...identity.stranger });
  assert.deepEqual(seen, ["false clean", "true clean", "false problem"]);
  await server.close(1000);
});

test("one port speaks HTTP/2 and HTTP/1.1, with bodies, many chunks and HEAD", async () => {
  const many: PlainHandler = (request) =>
    request.path === "/many"
      ? Promise.resolve({
          kind: "bytes",
          status: 200,
          headers: {},
          body: Array.from({ length: 40 }, () => Buffer.alloc(100_000, 97)),
        })
      : echo(request);
  const server = await listen(
    { ...clear, key: identity.key, cert: identity.cert },
    many,
    silentLog,
  );
  const port = server.address.port;
  const origin = `https://127.0.0.1:${port}`;
  const post = await call2(origin, { ":path": "/p?q=1", ":method": "POST" }, "two");
  assert.equal(post.body, "POST /p q=1 two");
  const large = await call2(origin, { ":path": "/many" });
  assert.equal(large.body.length, 4_000_000);
  const head = await call2(origin, { ":path": "/x", ":method": "HEAD" });
  assert.equal(head.body, "");
  const one = await call(httpsRequest as typeof httpRequest, port, {
    path: "/many",
    rejectUnauthorized: false,
    agent: false,
  });
  assert.equal(one.body.length, 4_000_000);
  await server.close(1000);
});

test("close ends HTTP/2 streams and returns before its deadline", async () => {
  let opened = (): void => {};
  const isOpen = new Promise<void>((resolve) => (opened = resolve));
  const handler: PlainHandler = () =>
    Promise.resolve({ kind: "stream", status: 200, headers: {}, open: () => (opened(), () => {}) });
  const server = await listen(
    { ...clear, key: identity.key, cert: identity.cert },
    handler,
    silentLog,
  );
  const session = connect(`https://127.0.0.1:${server.address.port}`, {
    rejectUnauthorized: false,
  });
  const stream = session.request({ ":path": "/w" });
  const ended = new Promise((resolve) => stream.on("end", resolve).resume());
  await isOpen;
  await server.close(30_000);
  await ended;
  session.destroy();
});
