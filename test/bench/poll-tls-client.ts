/**
 * A crowd that polls over TLS: a client of `npm run bench -- poll`, over HTTP/1.1 or HTTP/2.
 *
 * Asks once for the ETag; then each connection, or each of a connection's `lanes` over HTTP/2, asks again
 * as soon as it is answered. Says nothing of HTTP that is not needed: bytes are made once, and of an
 * answer only its being a 304 is looked at. Prints a line when all are connected, and at the end answers
 * a second, those that were no 304, and p50, p99 and the longest in ms.
 */
import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { parseArgs } from "node:util";
import {
  flag,
  frame,
  frameOf,
  type HeadFields,
  headLength,
  preface,
  requestHeads,
} from "./http2-bytes.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "" },
    path: { type: "string", default: "/" },
    protocol: { type: "string", default: "http/1.1" },
    connections: { type: "string", default: "1" },
    /** Polls on their way on one connection. */
    lanes: { type: "string", default: "1" },
    seconds: { type: "string", default: "3" },
    /** Different bearer tokens, and the length of each; 0: none. */
    tokens: { type: "string", default: "1" },
    tokenBytes: { type: "string", default: "0" },
    /** PEM files of the client's certificate. */
    key: { type: "string" },
    cert: { type: "string" },
  },
});
const [port, connections, lanes, seconds, tokens, tokenBytes] = [
  Number(values.port),
  Number(values.connections),
  Number(values.lanes),
  Number(values.seconds),
  Number(values.tokens),
  Number(values.tokenBytes),
];
const host = `127.0.0.1:${port}`;
/** Handshakes under way at once. */
const dialsMax = 32;
const warmMs = 1_000;
const samplesMax = 2 ** 22;
/** `:status: 304` in HPACK's static table. */
const notModified = 0x8b;
const isHttp2 = values.protocol === "h2";
const certificate =
  values.key === undefined || values.cert === undefined
    ? {}
    : { key: readFileSync(values.key), cert: readFileSync(values.cert) };

const samples = new Float32Array(samplesMax);
let counts = false;
let answers = 0;
let others = 0;

interface Poller {
  begin(): void;
}

/** What is before the dot says who it is of. */
function credentials(at: number): HeadFields {
  if (tokenBytes === 0) return {};
  return { authorization: `Bearer ${`t${at % tokens}.`.padEnd(tokenBytes, "x")}` };
}

function http1Request(at: number, etag: string | undefined): Buffer {
  const { authorization } = credentials(at);
  const lines = [`GET ${values.path} HTTP/1.1`, `Host: ${host}`, "User-Agent: poll/1"];
  if (authorization !== undefined) lines.push(`Authorization: ${authorization}`);
  if (etag !== undefined) lines.push(`If-None-Match: ${etag}`);
  return Buffer.from([...lines, "", ""].join("\r\n"));
}

/** One poll after the other. */
class Http1Poller implements Poller {
  readonly #socket: TLSSocket;
  readonly #request: Buffer;
  #since = 0;

  constructor(socket: TLSSocket, at: number, etag: string) {
    this.#socket = socket;
    this.#request = http1Request(at, etag);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
  }

  begin(): void {
    this.#since = performance.now();
    this.#socket.write(this.#request);
  }

  /** A head without a body is one TLS record. */
  #take(chunk: Buffer): void {
    const is304 = chunk.toString("latin1", 0, 12) === "HTTP/1.1 304";
    count(is304 && chunk.toString("latin1", chunk.length - 4) === "\r\n\r\n", this.#since);
    this.begin();
  }
}

class Http2Poller implements Poller {
  readonly #socket: TLSSocket;
  readonly #again: Buffer;
  #first: Buffer | undefined;
  readonly #since = new Map<number, number>();
  #nextStream = 1;
  /** What is no whole frame yet. */
  #rest: Buffer = Buffer.alloc(0);
  #out: Buffer[] = [preface()];

  constructor(socket: TLSSocket, at: number, etag: string) {
    const { first, again } = requestHeads({
      ":path": values.path,
      ":authority": host,
      ...credentials(at),
      "if-none-match": etag,
    });
    this.#socket = socket;
    [this.#first, this.#again] = [first, again];
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
  }

  begin(): void {
    for (let lane = 0; lane < lanes; lane++) this.#ask();
    this.#flush();
  }

  #ask(): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#since.set(stream, performance.now());
    const head = this.#first ?? this.#again;
    this.#first = undefined;
    this.#out.push(frameOf(frame.headers, flag.endHeaders | flag.endStream, stream, head));
  }

  #flush(): void {
    if (this.#out.length > 0) this.#socket.write(Buffer.concat(this.#out));
    this.#out = [];
  }

  #take(chunk: Buffer): void {
    let left = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (left.length >= headLength) {
      const end = headLength + left.readUIntBE(0, 3);
      if (left.length < end) break;
      this.#frame(left.subarray(0, end));
      left = left.subarray(end);
    }
    this.#rest = left;
    this.#flush();
  }

  #frame(bytes: Buffer): void {
    const [type, flags] = [bytes.readUInt8(3), bytes.readUInt8(4)];
    const isAnswer = (flags & flag.ack) !== 0;
    if (type === frame.settings && !isAnswer) {
      this.#out.push(frameOf(frame.settings, flag.ack, 0, Buffer.alloc(0)));
    } else if (type === frame.ping && !isAnswer) {
      this.#out.push(frameOf(frame.ping, flag.ack, 0, bytes.subarray(headLength)));
    } else if (type === frame.reset || type === frame.goAway) {
      fail(`frame of type ${type}`);
    } else if (type === frame.headers) {
      this.#answered(bytes.readUInt32BE(5), bytes[headLength] ?? 0, flags);
    }
  }

  #answered(stream: number, status: number, flags: number): void {
    const since = this.#since.get(stream) ?? Number.NaN;
    this.#since.delete(stream);
    // A body would follow: its end would have to be waited for.
    if ((flags & flag.endStream) === 0) fail("an answer has a body");
    count(status === notModified, since);
    this.#ask();
  }
}

function count(is304: boolean, since: number): void {
  if (!counts) return;
  if (!is304) return void others++;
  samples[answers++ % samplesMax] = performance.now() - since;
}

function dial(protocol: string): Promise<TLSSocket> {
  return new Promise((resolve) => {
    // The certificate is made for this run; who serves it is not what is measured.
    const trust = { rejectUnauthorized: false, ALPNProtocols: [protocol], ...certificate };
    const socket = connect({ host: "127.0.0.1", port, ...trust }, () => resolve(socket));
    socket.on("error", (error) => fail(error.message));
    socket.on("close", () => fail("a connection was closed"));
  });
}

async function firstEtag(): Promise<string> {
  const socket = await dial("http/1.1");
  socket.write(http1Request(0, undefined));
  const head = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
  const etag = /\r\netag: ([^\r]+)\r\n/i.exec(head.toString("latin1"))?.[1];
  socket.removeAllListeners("close").destroy();
  return etag ?? fail(`no ETag: ${head.toString("latin1").slice(0, 300)}`);
}

function fail(reason: string): never {
  console.error(`poll-tls-client: ${reason}`);
  process.exit(1);
}

function result(): object {
  const sorted = samples.subarray(0, Math.min(answers, samplesMax)).sort();
  const at = (share: number): number =>
    Number((sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(2));
  const perSecond = Math.round(answers / seconds);
  return { perSecond, others, skipped: 0, p50: at(0.5), p99: at(0.99), max: at(1) };
}

const etag = await firstEtag();
const pollers: Poller[] = [];
async function dialSome(first: number): Promise<void> {
  for (let at = first; at < connections; at += dialsMax) {
    const socket = await dial(values.protocol);
    pollers.push(isHttp2 ? new Http2Poller(socket, at, etag) : new Http1Poller(socket, at, etag));
  }
}
await Promise.all(Array.from({ length: dialsMax }, (_, at) => dialSome(at)));
console.log("connected");
for (const poller of pollers) poller.begin();
setTimeout(() => {
  counts = true;
  setTimeout(() => {
    console.log(JSON.stringify(result()));
    process.exit(0);
  }, seconds * 1000);
}, warmMs);
