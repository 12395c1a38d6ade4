/** Requests to servers that objects name, over HTTP/2 where they speak it. */
import assert from "node:assert/strict";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from "node:http2";
import type { ServerHttp2Session } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { after, before, describe, test } from "node:test";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import type { ByteRequest, ByteTransportError, HostsTransport } from "../../byte-transport.ts";
import { hostsTransport } from "./http-hosts.ts";
import { http2HostsTransport } from "./http2-hosts.ts";

const day = 86_400_000;
const validity = { notBeforeMs: Date.now() - day, notAfterMs: Date.now() + day };
const options = (serial: number) => ({ validity, serial: new Uint8Array(16).fill(serial) });
const authority = makeAuthority("ca", options(1));
const shown = makeServerCertificate(authority, "server", ["127.0.0.1"], options(2));
const identity = { cert: shown.certificate, key: shown.privateKey };

type Answer = (stream: ServerHttp2Stream, session: ServerHttp2Session) => void;

let transport: HostsTransport;
const servers: (Server | Http2SecureServer)[] = [];
const sessions: ServerHttp2Session[] = [];

before(() => (transport = opened(String(authority.certificate))));
after(() => {
  transport.close();
  for (const session of sessions) session.destroy();
  for (const server of servers) server.close();
});

function opened(ca: string, connectMs = 5_000): HostsTransport {
  const limits = { connectMs, headBytesMax: 65_536, idleSocketsMax: 4 };
  return http2HostsTransport({ credentials: () => ({ ca }), limits });
}

async function portOf(server: Server | Http2SecureServer): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port; // a TCP server
}

/** @returns its port, and how many connections it had. */
async function serve(answer: Answer, settings = {}) {
  const server = createSecureServer({ ...identity, settings });
  let connections = 0;
  server.on("session", (session) => {
    connections++;
    sessions.push(session);
    session.on("error", () => {});
    session.on("stream", (stream) => {
      stream.on("error", () => {});
      answer(stream, session);
    });
  });
  return { port: await portOf(server), connections: () => connections };
}

function ok(stream: ServerHttp2Stream, text = "yes"): void {
  stream.respond({ ":status": 200, "content-type": "text/plain" });
  stream.end(text);
}

function ask(port: number, more: Partial<ByteRequest> = {}, through = transport) {
  const host = { scheme: "https", name: "127.0.0.1", port } as const;
  const signal = AbortSignal.timeout(10_000);
  return through.send(host, { method: "POST", target: "/a?b", headers: {}, signal, ...more });
}

async function textOf(port: number, more: Partial<ByteRequest> = {}): Promise<string> {
  const answer = await ask(port, more);
  return Buffer.from((await answer.read(1_000)) as Uint8Array).toString(); // it is not too large
}

async function failureOf(asked: Promise<unknown>): Promise<ByteTransportError> {
  try {
    await asked;
  } catch (error) {
    return error as ByteTransportError;
  }
  throw new Error("it was answered");
}

test("an address that is refused is not connected to, whoever names it, over either protocol", async () => {
  const both = await serve((stream) => ok(stream));
  const refused: string[] = [];
  const refuses = (address: string, port: number): boolean => {
    refused.push(`${address} ${port}`);
    return port === both.port;
  };
  const limits = { connectMs: 5_000, headBytesMax: 65_536, idleSocketsMax: 4 };
  const credentials = () => ({ ca: String(authority.certificate) });
  const ways = [http2HostsTransport, hostsTransport].map((open) =>
    open({ credentials, refuses, limits }),
  );
  const signal = AbortSignal.timeout(10_000);
  for (const way of ways) {
    for (const name of ["127.0.0.1", "localhost", "127.1"]) {
      for (const scheme of ["http", "https"] as const) {
        const host = { scheme, name, port: both.port };
        const sent = way.send(host, { method: "GET", target: "/", headers: {}, signal });
        assert.equal((await failureOf(sent)).code, "EADDRNOTALLOWED");
      }
    }
  }
  assert.equal(both.connections(), 0);
  assert.equal(new Set(refused).has(`127.0.0.1 ${both.port}`), true);
  const other = await serve((stream) => ok(stream));
  const [first] = ways;
  const host = { scheme: "https", name: "127.0.0.1", port: other.port } as const;
  const answer = await first?.send(host, { method: "GET", target: "/", headers: {}, signal });
  assert.equal(answer?.status, 200);
  for (const way of ways) way.close();
});

describe("a server that speaks HTTP/2", () => {
  test("a hundred requests at a time have one connection, and each its own answer", async () => {
    const { port, connections } = await serve((stream) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => ok(stream, Buffer.concat(chunks).toString()));
    });
    const bodies = Array.from({ length: 100 }, (_, at) => `body ${at}`);
    const texts = await Promise.all(
      bodies.map((text) => textOf(port, { body: Buffer.from(text) })),
    );
    assert.deepEqual(texts, bodies);
    assert.equal(connections(), 1);
  });

  test("head, status and headers arrive", async () => {
    let head: object = {};
    const server = createSecureServer(identity);
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      head = { ...headers };
      stream.respond({ ":status": 429, "retry-after": "3" }, { endStream: true });
    });
    const port = await portOf(server);
    server.on("session", (session) => sessions.push(session));
    const body = Buffer.from("{}");
    const answer = await ask(port, { headers: { accept: "text/plain" }, body });
    assert.equal(answer.status, 429);
    assert.deepEqual({ ...answer.headers, date: "" }, { "retry-after": "3", date: "" });
    assert.deepEqual(Object.fromEntries(Object.entries(head)), {
      ":method": "POST",
      ":scheme": "https",
      ":authority": `127.0.0.1:${port}`,
      ":path": "/a?b",
      accept: "text/plain",
      "content-length": "2",
    });
  });

  test("more requests than it takes streams have further connections, eight at most, and then wait", async () => {
    const { port, connections } = await serve((stream) => void setTimeout(() => ok(stream), 5), {
      maxConcurrentStreams: 1,
    });
    const texts = await Promise.all(Array.from({ length: 30 }, () => textOf(port)));
    assert.deepEqual(new Set(texts), new Set(["yes"]));
    assert.equal(connections(), 8);
  });

  test("after a GOAWAY the next request has a connection of its own", async () => {
    const { port, connections } = await serve((stream, session) => {
      ok(stream);
      session.goaway();
    });
    for (let at = 0; at < 5; at++) assert.equal(await textOf(port), "yes");
    assert.equal(connections(), 5);
  });

  test("a connection that ends as a request is sent is stale; the first one of a server is not", async () => {
    let asked = 0;
    const { port } = await serve((stream, session) => {
      if (asked++ === 1) ok(stream);
      else session.destroy();
    });
    assert.equal((await failureOf(ask(port))).isStale, false);
    assert.equal(await textOf(port), "yes");
    const stale = await failureOf(ask(port));
    assert.deepEqual([stale.isStale, stale.code], [true, "ECONNRESET"]);
  });

  test("a stream that was refused is stale: the server did not look at it", async () => {
    const refused = 7; // RFC 9113, 7
    const { port } = await serve((stream) => stream.close(refused));
    assert.equal((await failureOf(ask(port))).isStale, true);
  });

  test("who stops waiting frees the stream, and a connection that was silent takes nobody else", async () => {
    const ended: number[] = [];
    const ending = new AbortController();
    const { port, connections } = await serve((stream) => {
      if (connections() > 1) return ok(stream);
      stream.on("close", () => ended.push(stream.rstCode));
      ending.abort();
    });
    const asked = ask(port, { signal: ending.signal });
    assert.equal((await failureOf(asked)).code, "ABORTED");
    assert.equal(await textOf(port), "yes");
    assert.deepEqual([connections(), ended], [2, [8]]);
  });

  test("an answer that is too large, or cut, is neither taken nor kept", async () => {
    const { port } = await serve((stream) => {
      stream.respond({ ":status": 200 });
      stream.write("x".repeat(2_000));
      if (stream.id === 1) return;
      setImmediate(() => stream.destroy(new Error("broken")));
    });
    assert.equal(await (await ask(port)).read(1_000), "too-large");
    const cut = await ask(port);
    assert.match((await failureOf(cut.read(100_000))).message, /NGHTTP2_INTERNAL_ERROR/);
  });
});

describe("who does not", () => {
  test("a server of HTTP/1.1 is asked over it, and is not asked again what it speaks", async () => {
    const server = createServer(identity, (request, response) => {
      request.resume().on("end", () => response.end(`over ${request.httpVersion}`));
    });
    let connections = 0;
    server.on("connection", () => connections++);
    const port = await portOf(server);
    for (let at = 0; at < 5; at++) assert.equal(await textOf(port), "over 1.1");
    assert.equal(connections, 2);
  });

  test("a certificate of somebody else, a closed port and a silent server are told apart", async () => {
    const { port } = await serve((stream) => ok(stream));
    const stranger = makeAuthority("stranger", options(3));
    const distrusting = opened(String(stranger.certificate));
    const untrusted = await failureOf(ask(port, {}, distrusting));
    assert.equal(untrusted.code, "UNABLE_TO_GET_ISSUER_CERT_LOCALLY");
    assert.equal((await failureOf(ask(1))).code, "ECONNREFUSED");
    const { createServer: createTcp } = await import("node:net");
    const silent = await portOf(createTcp((socket) => void socket.on("error", () => {}).unref()));
    const impatient = opened(String(authority.certificate), 50);
    assert.equal((await failureOf(ask(silent, {}, impatient))).code, "ETIMEDOUT");
    const ending = new AbortController();
    const asked = ask(silent, { signal: ending.signal });
    ending.abort();
    assert.equal((await failureOf(asked)).code, "ABORTED");
    for (const each of [distrusting, impatient]) each.close();
  });
});
