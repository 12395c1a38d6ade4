/** What one HTTP/2 connection may ask for at once, and take back. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { test, type TestContext } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import { silentLog } from "#platform/log.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};
const authority = makeAuthority("test-ca", issue);
const served = makeServerCertificate(authority, "server", ["127.0.0.1"], issue);
const [endStream, endHeaders] = [1, 4];
const [ping, goaway] = [6, 7];

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const hello = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(4, 0, 0, Buffer.alloc(0)),
]);
/** GET https x / by the static table. */
const head = Buffer.concat([Buffer.of(0x82, 0x87, 0x84, 0x01, 1), Buffer.from("x")]);
const cancel = Buffer.of(0, 0, 0, 8);

/** Requests that are taken back in the same write. */
function takenBack(count: number, first = 0): Buffer {
  const all = Array.from({ length: count }, (_, index) => {
    const stream = 1 + 2 * (first + index);
    return [frame(1, endStream | endHeaders, stream, head), frame(3, 0, stream, cancel)];
  });
  return Buffer.concat(all.flat());
}

async function listening(context: TestContext): Promise<{ port: number; asked: () => number }> {
  let asked = 0;
  const pair = { key: served.privateKey, cert: served.certificate };
  const at = { host: "127.0.0.1", port: 0, limits: httpLimits, ...pair };
  const server = await listen(
    at,
    async () => {
      asked++;
      // Longer than requests begin in one turn.
      for (const endMs = performance.now() + 10; performance.now() < endMs;) continue;
      return { kind: "bytes", status: 200, headers: {}, body: [Buffer.from("ok")] };
    },
    silentLog,
  );
  context.after(() => server.close(0));
  return { port: server.address.port, asked: () => asked };
}

async function rawPeer(context: TestContext, port: number): Promise<TLSSocket> {
  const options = { host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] };
  const socket = connect(options).on("error", () => {});
  context.after(() => socket.destroy());
  await once(socket, "secureConnect");
  socket.write(hello);
  await once(socket, "data");
  return socket;
}

test("a connection has 100 streams, as a stock API server's", async (context) => {
  const { port } = await listening(context);
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  context.after(() => session.destroy());
  const [settings] = (await once(session, "remoteSettings")) as [{ maxConcurrentStreams: number }];
  assert.equal(settings.maxConcurrentStreams, 100);
});

test("a request that is taken back before its turn is not begun", async (context) => {
  const { port, asked } = await listening(context);
  const peer = await rawPeer(context, port);
  peer.write(Buffer.concat([takenBack(40), frame(ping, 0, 0, Buffer.from("12345678"))]));
  let read = Buffer.alloc(0);
  while (!framesOf(read).some(({ type }) => type === ping)) {
    const [chunk] = (await once(peer, "data")) as [Buffer];
    read = Buffer.concat([read, chunk]);
  }
  assert.equal(asked(), 1, "the first alone had a turn");
});

test("a client that takes back more than it may have open is left", async (context) => {
  const { port } = await listening(context);
  const peer = await rawPeer(context, port);
  let read = Buffer.alloc(0);
  peer.on("data", (chunk: Buffer) => (read = Buffer.concat([read, chunk])));
  const closed = once(peer, "close");
  peer.write(takenBack(300));
  await closed;
  assert.ok(framesOf(read).some(({ type }) => type === goaway));
});

function framesOf(bytes: Buffer): readonly { readonly type: number; readonly payload: Buffer }[] {
  const frames = [];
  for (let at = 0; at + 9 <= bytes.length;) {
    const length = bytes.readUIntBE(at, 3);
    frames.push({ type: bytes[at + 3] ?? 0, payload: bytes.subarray(at + 9, at + 9 + length) });
    at += 9 + length;
  }
  return frames;
}
