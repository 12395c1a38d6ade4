/** The first bytes of a TLS connection: in any pieces, late, or never. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { test } from "node:test";
import {
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
  pemBlock,
} from "#auth/pki.ts";
import { uncharged } from "#platform/ledger.ts";
import type { PlainHandler } from "#platform/http.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import { curvesOf } from "#platform/node/http/tls-curves.ts";
import { silentLog } from "#platform/log.ts";

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};
const authority = makeAuthority("test-ca", issue);
const served = makeServerCertificate(authority, "server", ["127.0.0.1"], issue);

const echo: PlainHandler = async ({ headers, body }) => {
  const read = body.kind === "bytes" ? await body.read(2 ** 20, uncharged) : new Uint8Array(0);
  if (read === "too-large") throw new Error("more than was sent");
  const told = `${(headers["authorization"] ?? "").length} and ${read.length}`;
  return { kind: "bytes", status: 200, headers: {}, body: [Buffer.from(told)] };
};

async function listening(
  context: { after(f: () => unknown): void },
  headMs = httpLimits.headMs,
  curves?: string,
): Promise<Listening> {
  const pair = { key: served.privateKey, cert: served.certificate };
  const at = { host: "127.0.0.1", port: 0, limits: { ...httpLimits, headMs } };
  const server = await listen(
    { ...at, ...pair, ...(curves === undefined ? {} : { tls: { curves } }) },
    echo,
    silentLog,
  );
  context.after(() => server.close(0));
  return server;
}

for (const pieceBytes of [1, 100, 999, 1_000, 1_001, 1_024]) {
  void test(`a handshake and requests in pieces of ${pieceBytes} bytes`, async (context) => {
    const server = await listening(context);
    const between = await slicing(context, server.address.port, pieceBytes);
    const socket = connectTls({ port: between, host: "127.0.0.1", rejectUnauthorized: false });
    context.after(() => socket.destroy());
    await once(socket, "secureConnect");
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nAuthorization: ${"t".repeat(1_500)}\r\n\r\n`);
    assert.match(await answer(socket), /1500 and 0$/);
    socket.write(`PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n${"b".repeat(5_000)}`);
    assert.match(await answer(socket), /0 and 5000$/);
  });
}

void test("a client certificate of any size with a wrong signature ends no connection: it is for the handler to judge", async (context) => {
  const pair = { key: served.privateKey, cert: served.certificate };
  const at = { host: "127.0.0.1", port: 0, limits: httpLimits };
  const server = await listen({ ...at, ...pair, clientCa: authority.certificate }, echo, silentLog);
  context.after(() => server.close(0));
  for (let count = 10; count < 40; count++) {
    const organizations = Array.from({ length: count }, (_, at) => `an-organization-of-it-${at}`);
    const subject = { commonName: "somebody", organizations };
    const { privateKey: key, certificate } = makeClientCertificate(authority, subject, issue);
    const connection = { port: server.address.port, host: "127.0.0.1", rejectUnauthorized: false };
    const socket = connectTls({ ...connection, key, cert: spoiled(certificate) });
    context.after(() => socket.destroy());
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert.match(await answer(socket), /^HTTP\/1\.1 200 /, `${count} organizations`);
  }
});

for (const number of [4588, 4587, 4589, 29, 23, 24, 25]) {
  void test(`a listener for key exchange ${number} alone takes it, and no other`, async (context) => {
    const curves = curvesOf([number]);
    const { port } = (await listening(context, httpLimits.headMs, curves)).address;
    const dial = (ecdhCurve: string): TLSSocket =>
      connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ecdhCurve });
    const socket = dial(curves);
    context.after(() => socket.destroy());
    await once(socket, "secureConnect");
    const [error] = (await once(dial(number === 29 ? "P-256" : "X25519"), "error")) as [Error];
    assert.match(error.message, /handshake failure/);
  });
}

void test("a client that says nothing is cut when a head is overdue, and not before", async (context) => {
  const server = await listening(context, 200);
  const socket = connect(server.address.port, "127.0.0.1");
  const from = performance.now();
  await once(socket.resume(), "close");
  assert.ok(performance.now() - from >= 199, `after ${performance.now() - from} ms`);
});

void test("a client that has begun, and says no more, is cut when a head is overdue", async (context) => {
  const server = await listening(context, 200);
  const socket = connect(server.address.port, "127.0.0.1");
  socket.write(Buffer.of(0x16, 0x03, 0x01));
  await once(socket.resume(), "close");
});

void test("a client that ends or resets before its first byte leaves nothing behind", async (context) => {
  const server = await listening(context);
  const ends = connect(server.address.port, "127.0.0.1");
  ends.end();
  await once(ends.resume(), "close");
  const resets = connect(server.address.port, "127.0.0.1");
  await once(resets, "connect");
  resets.resetAndDestroy();
  await once(resets, "close");
  // Returns: no connection is waited for.
  await server.close(600_000);
});

void test("what is no TLS is refused, and plain HTTP is told so", async (context) => {
  const server = await listening(context);
  const send = async (bytes: string): Promise<Buffer | undefined> => {
    const socket = connect(server.address.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(bytes, "latin1");
    const [first] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as [
      unknown,
    ];
    socket.destroy();
    return first instanceof Buffer ? first : undefined;
  };
  for (const bytes of [
    "\x01\x02\x03\x04\x05\x06\x07",
    "GET",
    `SSH-2.0-x\r\n${"x".repeat(4_000)}`,
  ]) {
    const alert = await send(bytes);
    // At most.
    if (alert !== undefined) assert.equal(alert[0], 0x15);
  }
  const text = await send(`GET / HTTP/1.1\r\nHost: x\r\n${"x: y\r\n".repeat(400)}\r\n`);
  assert.match(String(text), /^HTTP\/1\.0 400 Bad Request\r\n\r\nClient sent an HTTP request/);
});

/** A certificate whose signature, which is its end, is none: two numbers in a sequence, of which the tag is another one. */
function spoiled(certificate: string): string {
  const { raw } = new X509Certificate(certificate);
  const at = raw.lastIndexOf(Buffer.of(0x00, 0x30)) + 1;
  raw.writeUInt8(0x31, at);
  return pemBlock("CERTIFICATE", raw);
}

async function answer(socket: TLSSocket): Promise<string> {
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return chunk.toString("latin1");
}

/** A proxy whose writes to the server hold `pieceBytes` each. */
async function slicing(
  context: { after(f: () => unknown): void },
  port: number,
  pieceBytes: number,
): Promise<number> {
  const server = createServer((client: Socket) => {
    const target = connect(port, "127.0.0.1").setNoDelay(true);
    client.on("data", (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += pieceBytes) {
        target.write(chunk.subarray(at, at + pieceBytes));
      }
    });
    target.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("error", () => target.destroy()).on("close", () => target.destroy());
    target.on("data", (chunk: Buffer) => client.write(chunk));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}
