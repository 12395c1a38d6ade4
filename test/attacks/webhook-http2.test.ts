/** Webhook servers that break HTTP/2: each call ends in time with an error of its own, and memory stays bounded. */
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, describe, test } from "node:test";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import { ByteTransportError } from "#platform/byte-transport.ts";
import { http2HostsTransport } from "#platform/node/http/http2-hosts.ts";

const hour = 3_600_000;
const validity = { notBeforeMs: Date.now() - hour, notAfterMs: Date.now() + hour };
const options = (serial: number) => ({ validity, serial: new Uint8Array(16).fill(serial) });
const authority = makeAuthority("ca", options(1));
const shown = makeServerCertificate(authority, "server", ["127.0.0.1"], options(2));
const limits = { connectMs: 1_000, headBytesMax: 65_536, idleSocketsMax: 4 };
const answerBytesMax = 20_000;

const servers: Server[] = [];
const sockets = new Set<TLSSocket>();
after(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

/** RFC 9113, 4.1. */
function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const [data, headers, reset, settings, push, ping, goaway, windowUpdate, continuation] = [
  0, 1, 3, 4, 5, 6, 7, 8, 9,
];
const hello = frame(settings, 0, 0);
/** `:status: 200`, by its number in HPACK's table. */
const status200 = Buffer.from([0x88]);
const endHeaders = 4;
const endStream = 1;

/** What each server does with a connection at once. */
const greetings: Readonly<Record<string, (socket: TLSSocket) => void>> = {
  "says nothing": () => {},
  "sends noise": (socket) => void socket.write(Buffer.alloc(4_096, 0xa5)),
  "closes at once": (socket) => void socket.destroy(),
  "goes away at once": (socket) => void socket.write(bytes(hello, frame(goaway, 0, 0, zeros(8)))),
  "takes no stream": (socket) => void socket.write(frame(settings, 0, 0, bytesOf("000300000000"))),
  "sends settings without end": (socket) => flood(socket, hello),
  "pings without end": (socket) => flood(socket, bytes(hello, frame(ping, 0, 0, zeros(8)))),
  "answers before it was asked": (socket) =>
    void socket.write(bytes(hello, frame(headers, endHeaders + endStream, 1, status200))),
};

/** What each server does with a request. */
const servings: Readonly<Record<string, (socket: TLSSocket) => void>> = {
  "never answers": () => {},
  "resets every stream": (socket) => {
    for (let id = 1; id < 99; id += 2) socket.write(frame(reset, 0, id, zeros(4)));
  },
  "promises streams": (socket) => {
    const promised = Buffer.concat([bytesOf("00000002"), status200]);
    socket.write(frame(push, endHeaders, 1, promised));
  },
  "sends a head without end": (socket) => {
    socket.write(frame(headers, 0, 1, status200));
    flood(socket, frame(continuation, 0, 1, header("x", "y".repeat(100))));
  },
  "sends a body without end": (socket) => {
    socket.write(frame(headers, endHeaders, 1, status200));
    flood(socket, frame(data, 0, 1, zeros(16_384)));
  },
  "sends too long a body": (socket) => {
    socket.write(frame(headers, endHeaders, 1, status200));
    for (let at = 0; at < 3; at++) socket.write(frame(data, 0, 1, zeros(16_384)));
  },
  "opens windows beyond their size": (socket) => {
    const most = bytesOf("7fffffff");
    socket.write(bytes(frame(windowUpdate, 0, 1, most), frame(windowUpdate, 0, 0, most)));
  },
  "answers without a status": (socket) => {
    socket.write(frame(headers, endHeaders + endStream, 1, header("x", "y")));
  },
  "tells a longer body than it sends": (socket) => {
    const head = Buffer.concat([status200, header("content-length", "50")]);
    socket.write(frame(headers, endHeaders, 1, head));
    socket.write(frame(data, endStream, 1, zeros(5)));
  },
};

function bytes(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts);
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex, "hex");
}

function zeros(count: number): Buffer {
  return Buffer.alloc(count);
}

/** A literal that is not indexed (RFC 7541, 6.2.2), of short texts. */
function header(name: string, value: string): Buffer {
  const text = (said: string): Buffer => bytes(Buffer.from([said.length]), Buffer.from(said));
  return bytes(Buffer.from([0]), text(name), text(value));
}

/** 64 MB at most, as fast as they are taken. */
function flood(socket: TLSSocket, piece: Buffer): void {
  const block = Buffer.concat(
    Array.from({ length: Math.ceil(65_536 / piece.length) }, () => piece),
  );
  let left = 1_000;
  const more = (): void => {
    while (left-- > 0 && !socket.destroyed && socket.write(block));
  };
  socket.on("drain", more);
  more();
}

async function portOf(greet: (socket: TLSSocket) => void, serve: (socket: TLSSocket) => void) {
  const identity = { cert: shown.certificate, key: shown.privateKey, ALPNProtocols: ["h2"] };
  const server = createServer(identity, (socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("data", () => greet(socket));
    let received: Buffer = Buffer.alloc(0);
    socket.on("data", function look(piece: Buffer) {
      received = Buffer.concat([received, piece]);
      if (!hasHeaders(received)) return;
      socket.off("data", look);
      serve(socket);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port; // a TCP server
}

/** A whole frame of a request's head has come after the client's greeting. */
function hasHeaders(received: Buffer): boolean {
  for (let at = 24; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3))
    if (received.readUInt8(at + 3) === headers) return true;
  return false;
}

async function callTo(port: number): Promise<string> {
  const ca = String(authority.certificate);
  const transport = http2HostsTransport({ credentials: () => ({ ca }), limits });
  const signal = AbortSignal.timeout(2_500);
  const body = Buffer.from("{}");
  const request = { method: "POST", target: "/", headers: {}, body, signal };
  try {
    const host = { scheme: "https", name: "127.0.0.1", port } as const;
    const answer = await transport.send(host, request);
    const read = await answer.read(answerBytesMax);
    return read === "too-large" ? read : `${answer.status}`;
  } catch (error) {
    if (!(error instanceof ByteTransportError)) throw error;
    return error.code;
  } finally {
    transport.close();
  }
}

const expected: Readonly<Record<string, RegExp>> = {
  "says nothing": /^ETIMEDOUT$/,
  "never answers": /^ABORTED$/,
  "takes no stream": /^ABORTED$/,
  "sends too long a body": /^too-large$/,
  // Whichever is found first: the reader's bound, or that of the window.
  "sends a body without end": /^(too-large|ECONNRESET|ERR_HTTP2_\w+)$/,
};
const broken = /^(ECONNRESET|ERR_HTTP2_\w+|EPIPE|ABORTED)$/;

describe("a webhook server that breaks HTTP/2", () => {
  const greet = (socket: TLSSocket): void => void socket.write(hello);
  const all = [
    ...Object.entries(greetings).map(([name, first]) => ({ name, first, second: () => {} })),
    ...Object.entries(servings).map(([name, second]) => ({ name, first: greet, second })),
  ];
  for (const { name, first, second } of all) {
    test(`${name}: the call ends with an error`, async () => {
      const port = await portOf(first, second);
      const startMs = performance.now();
      const before = process.memoryUsage().rss;
      const outcome = await callTo(port);
      assert.match(outcome, expected[name] ?? broken);
      assert.ok(performance.now() - startMs < 10_000, "in time");
      assert.ok(process.memoryUsage().rss - before < 200_000_000, "bounded");
    });
  }
});
