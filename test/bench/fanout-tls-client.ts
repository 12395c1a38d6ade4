/**
 * The counting client of the fan-out benchmark over TLS: watches over HTTP/2 or HTTP/1.1.
 *
 * Why not node:http2: it costs more than the server does, and then the client is what one measures. This
 * one knows as much of HTTP/2 (RFC 9113) as counting takes: it opens streams with windows no run can
 * fill (2 GiB a stream and a connection), walks frame heads, adds DATA lengths up, answers SETTINGS and
 * PING. Anything that ends a stream or a connection ends the benchmark.
 *
 * Prints a line when every watch was answered, and a second after it starts to count: bytes a second.
 */
import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { parseArgs } from "node:util";
import { flag, frame, frameOf, headLength, preface, requestHeads } from "./http2-bytes.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "" },
    path: { type: "string", default: "/" },
    protocol: { type: "string", default: "h2" },
    streams: { type: "string", default: "1" },
    connections: { type: "string", default: "1" },
    seconds: { type: "string", default: "3" },
    /** Length of each connection's own bearer token; 0: none. */
    tokenBytes: { type: "string", default: "0" },
    /** PEM files of the client's certificate. */
    key: { type: "string" },
    cert: { type: "string" },
  },
});
const [port, streams, connections, seconds] = [
  Number(values.port),
  Number(values.streams),
  Number(values.connections),
  Number(values.seconds),
];
const host = `127.0.0.1:${port}`;
const tokenBytes = Number(values.tokenBytes);
const certificate =
  values.key === undefined || values.cert === undefined
    ? {}
    : { key: readFileSync(values.key), cert: readFileSync(values.cert) };

/** Handshakes under way at once. */
const dialsMax = 64;
let answered = 0;
let bytes = 0;

let dialled = 0;

/** What is before the dot says who it is of. */
function nextToken(): string {
  return tokenBytes === 0 ? "" : `client-${++dialled}.`.padEnd(tokenBytes, "x");
}

/** Walks the frames of one connection; a frame's payload may come in any number of pieces. */
class Frames {
  readonly #socket: TLSSocket;
  /** Bytes of the current payload to come. */
  #left = 0;
  #head = Buffer.alloc(headLength);
  #headFilled = 0;
  #counts = false;
  /** Of PING, for its answer. */
  #ping: Buffer[] | undefined;

  constructor(socket: TLSSocket) {
    this.#socket = socket;
  }

  take(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left === 0) {
        at += this.#fillHead(chunk, at);
        continue;
      }
      const step = Math.min(this.#left, chunk.length - at);
      if (this.#counts) bytes += step;
      else this.#ping?.push(chunk.subarray(at, at + step));
      this.#left -= step;
      at += step;
      if (this.#left === 0) this.#payloadEnds();
    }
  }

  #fillHead(chunk: Buffer, from: number): number {
    const count = Math.min(headLength - this.#headFilled, chunk.length - from);
    chunk.copy(this.#head, this.#headFilled, from, from + count);
    this.#headFilled += count;
    if (this.#headFilled === headLength) this.#begin();
    return count;
  }

  #begin(): void {
    this.#headFilled = 0;
    const type = this.#head.readUInt8(3);
    const flags = this.#head.readUInt8(4);
    this.#left = this.#head.readUIntBE(0, 3);
    this.#counts = type === frame.data;
    this.#ping = type === frame.ping && (flags & flag.ack) === 0 ? [] : undefined;
    if (type === frame.headers) hasAnswered();
    if (type === frame.settings && (flags & flag.ack) === 0) {
      this.#socket.write(frameOf(frame.settings, flag.ack, 0, Buffer.alloc(0)));
    }
    if (type === frame.reset || type === frame.goAway) fail(`frame of type ${type}`);
    if (type <= frame.headers && (flags & flag.endStream) !== 0) fail("a watch ended");
  }

  #payloadEnds(): void {
    if (this.#ping === undefined) return;
    this.#socket.write(frameOf(frame.ping, flag.ack, 0, Buffer.concat(this.#ping)));
    this.#ping = undefined;
  }
}

function openHttp2(socket: TLSSocket, count: number): void {
  const frames = new Frames(socket);
  const token = nextToken();
  const who = token === "" ? {} : { authorization: `Bearer ${token}` };
  const { first, again } = requestHeads({ ":path": values.path, ":authority": host, ...who });
  const flags = flag.endHeaders | flag.endStream;
  const asked = [preface()];
  for (let at = 0; at < count; at++) {
    asked.push(frameOf(frame.headers, flags, 2 * at + 1, at === 0 ? first : again));
  }
  socket.on("data", (chunk: Buffer) => frames.take(chunk));
  socket.write(Buffer.concat(asked));
}

function openHttp1(socket: TLSSocket): void {
  socket.once("data", (chunk: Buffer) => {
    if (!chunk.toString().startsWith("HTTP/1.1 200 ")) fail(chunk.toString());
    hasAnswered();
    socket.on("data", (more: Buffer) => void (bytes += more.length));
  });
  const token = nextToken();
  const authorization = token === "" ? "" : `Authorization: Bearer ${token}\r\n`;
  socket.write(`GET ${values.path} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`);
}

function dial(count: number): Promise<void> {
  return new Promise((resolve) => {
    // The certificate is made for this run; who serves it is not what is measured.
    const trust = { rejectUnauthorized: false, ALPNProtocols: [values.protocol], ...certificate };
    const socket = connect({ host: "127.0.0.1", port, ...trust }, () => {
      if (socket.alpnProtocol !== values.protocol) fail(`spoken: ${String(socket.alpnProtocol)}`);
      if (values.protocol === "h2") openHttp2(socket, count);
      else openHttp1(socket);
      resolve();
    });
    socket.on("error", (error) => fail(error.message));
    socket.on("close", () => fail("a connection was closed"));
  });
}

function hasAnswered(): void {
  if (++answered !== streams) return;
  console.log("answered");
  setTimeout(() => {
    const [since, from] = [performance.now(), bytes];
    setTimeout(() => {
      console.log(String(((bytes - from) * 1000) / (performance.now() - since)));
      process.exit(0);
    }, seconds * 1000);
  }, 1_000);
}

function fail(reason: string): never {
  console.error(`fanout-tls-client: ${reason}`);
  process.exit(1);
}

async function dialSome(first: number): Promise<void> {
  for (let at = first; at < connections; at += dialsMax) {
    await dial(
      Math.floor(((at + 1) * streams) / connections) - Math.floor((at * streams) / connections),
    );
  }
}

await Promise.all(Array.from({ length: Math.min(dialsMax, connections) }, (_, at) => dialSome(at)));
