/**
 * Odd headers, targets and versions, one by one, and random bytes, cut at random places, are answered
 * on a connection that begins as ours exactly as by node:http alone: heads, bodies, order, and whether
 * the connection lasts.
 *
 * The peer is the same server: a line end before the first request is nothing to HTTP and makes the
 * connection node:http's at once. What was sent is followed by more line ends than any body asks for
 * and a last request, so that each exchange ends by an answer or by the server's end of the connection.
 */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { uncharged } from "../../ledger.ts";
import type { ByteSink, PlainRequest, PlainResponse } from "../../http.ts";
import { silentLog } from "../../log.ts";
import { httpLimits, listen, type Listening } from "./http.ts";

const runs = Number(process.env["PILOTHOUSE_RUNS"] ?? 1_000);
let server: Listening;

before(async () => {
  const options = { host: "127.0.0.1", port: 0, limits: httpLimits, ownHttp1: true };
  server = await listen(options, answer, silentLog);
});
after(() => server.close(0));

async function answer(request: PlainRequest): Promise<PlainResponse> {
  const { path, query, method, headers, body } = request;
  const turns = Number(/^\/slow(\d)/.exec(path)?.[1] ?? 0);
  for (let turn = 0; turn < turns; turn++) await nextTurn();
  // Read first: whether a connection outlasts an unread body depends on when the body arrived.
  const read = body.kind === "bytes" ? await body.read(100, uncharged) : "none";
  if (path.startsWith("/watch")) return { kind: "stream", status: 200, headers: {}, open };
  const { date: _, ...told } = headers;
  const seen = JSON.stringify([method, path, query, told, String(read)]);
  const padding = "x".repeat(path.startsWith("/big") ? 200_000 : 0);
  const status = path.startsWith("/304") ? 304 : 200;
  const last: Record<string, string> = path.startsWith("/last") ? { connection: "close" } : {};
  const chunks = status === 304 ? [] : [Buffer.from(seen), Buffer.from(padding)];
  return { kind: "bytes", status, headers: { "x-path": encodeURI(path), ...last }, body: chunks };
}

/** A watch of three frames, a turn apart. */
function open(sink: ByteSink): () => void {
  const frames = async (): Promise<void> => {
    for (const text of ["one", "two", "three"]) {
      sink.write([Buffer.from(text)]);
      await nextTurn();
    }
    sink.end();
  };
  void frames();
  return () => {};
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const paths = [
  "/a",
  "/b?c=%20d",
  "/%41",
  "/%zz",
  "/%",
  "/%00",
  "/%2e%2e/%2F",
  "/../a/./b",
  "//x/y",
  "/a#b",
  "/a?b#c",
  "/?",
  "/a?b?c",
  "/a;b|c",
  '/"{}\\^`',
  "/\x7f",
  "/\x80",
  "/a\tb",
  "/slow1",
  "/slow3",
  "/big",
  "/watch",
  "/watch?x",
  "/304",
  "/last",
  "http://h/a",
  "http://other:1/a?b",
  "http://h",
  "http://h?b",
  "http://user@h/a",
  "HTTP://h/a",
  "https://h/a",
  "ftp://h/a",
  "h:443",
  "a",
  "?b",
  "*",
  "",
  "/a b",
] as const;
const path = fc.constantFrom(...paths);
const headerLines = [
  "Accept: a",
  "Accept: b, c",
  "accept:a",
  "Accept : a",
  "Accept: ",
  "Accept:",
  " folded",
  "\tfolded",
  "no colon",
  ": no name",
  "X Y: a",
  "X-Y:\ta\t",
  "X-Y:  a\tb  ",
  "X-Y: a\x7fb",
  "X-Y: a\rb",
  "Host: h",
  "host: i",
  "Host: ",
  "Host: h, i",
  "Host: user@h:1/a",
  "Cookie: a=b",
  "Set-Cookie: a=b",
  "User-Agent: a",
  "Content-Type: text/plain",
  "Authorization: Bearer t",
  "Proxy-Authorization: Bearer t",
  "X-\x00: a",
  "X: \x80",
  "Content-Length: 0",
  "content-length:00",
  "Content-Length: ",
  "Content-Length: 3",
  "Content-Length: +3",
  "Content-Length: -1",
  "Content-Length: 0x3",
  "Content-Length: 3 3",
  "Content-Length: 3, 3",
  "Content-Length: 18446744073709551616",
  "Content_Length: 3",
  "Transfer-Encoding: chunked",
  "transfer-encoding:CHUNKED",
  "Transfer-Encoding: ",
  "Transfer-Encoding: identity",
  "Transfer-Encoding: gzip",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: chunked, gzip",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding:\x0bchunked",
  "Transfer-Encoding : chunked",
  "Connection: close",
  "connection:CLOSE",
  "Connection: closed",
  "Connection: keep-alive",
  "Connection: Keep-Alive, x",
  "Connection: keep-alive, close",
  "Connection: close, keep-alive",
  "Connection: x, close",
  "Connection: ,",
  "Connection: ",
  "Connection: x",
  "Connection: Host, Authorization",
  "Connection: Content-Length",
  "Proxy-Connection: close",
  "proxy-connection:CLOSE",
  "Proxy-Connection: keep-alive",
  "Keep-Alive: timeout=1",
  "Expect: 100-continue",
  "expect:100-Continue",
  "Expect: 100-continue, x",
  "Expect: x",
  "Expect: ",
  "TE: trailers",
  "TE: chunked",
  "Trailer: x",
  "Trailer: Content-Length",
  "Upgrade: websocket",
  "Upgrade: SPDY/3.1",
  "Upgrade: websocket, h2c",
  "Upgrade: ",
  "Connection: Upgrade",
  "Connection: keep-alive, Upgrade",
  "Upgrade: h2c",
  "HTTP2-Settings: AA",
  "Max-Forwards: 0",
  "Via: 1.1 a",
  "Range: bytes=0-1",
  "Date: x",
  "Impersonate-User: a",
  "Impersonate-Group: a, b",
  "__proto__: a",
  "constructor: b",
  "hasOwnProperty: b",
  'If-None-Match: "1"',
] as const;
const requestLines = [
  "GET /a HTTP/1.0",
  "GET /a HTTP/1.2",
  "GET /a HTTP/0.9",
  "GET /a HTTP/2",
  "GET /a HTTP/2.0",
  "GET /a http/1.1",
  "GET /a HTTPS/1.1",
  "GET /a HTTP/1.1 ",
  "GET /a  HTTP/1.1",
  "GET  /a HTTP/1.1",
  " GET /a HTTP/1.1",
  "GET\t/a HTTP/1.1",
  "GET /a",
  "get /a HTTP/1.1",
  "GETT /a HTTP/1.1",
  "PRI * HTTP/2.0",
  "CONNECT h:443 HTTP/1.1",
  "TRACE /a HTTP/1.1",
  "QUERY /a HTTP/1.1",
] as const;
const headerLine = fc.constantFrom(...headerLines);
const request = fc
  .record({
    method: fc.constantFrom("GET", "GET", "GET", "HEAD", "POST", "get", "OPTIONS", "CONNECT"),
    path,
    version: fc.constantFrom("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "HTTP/2"),
    host: fc.constantFrom("Host: h\r\n", "Host: h\r\n", "Host: h\r\n", ""),
    lines: fc.array(headerLine, { maxLength: 3 }),
    end: fc.constantFrom("\r\n", "\r\n", "\r\n", "\n"),
    // No digit and no hexadecimal letter: a length that a lost byte makes longer would never end.
    body: fc.constantFrom("", "", "", "xyz", "3\r\nxyz\r\n0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"),
  })
  .map(({ method, path, version, host, lines, end, body }) => {
    const head = lines.map((line) => `${line}${end}`).join("");
    return `${method} ${path} ${version}${end}${host}${head}${end}${body}`;
  });
const plain = fc
  .record({
    method: fc.constantFrom("GET", "GET", "HEAD"),
    path: fc.constantFrom("/a", "/slow1", "/slow3", "/watch", "/big", "/304", "/last"),
  })
  .map(({ method, path }) => `${method} ${path} HTTP/1.1\r\nHost: h\r\nAccept: a\r\n\r\n`);
/** But for a header or two: what must not be taken for plain. */
const nearlyPlain = fc
  .record({
    method: fc.constantFrom("GET", "HEAD"),
    path: fc.constantFrom("/a", "/slow1", "/watch", "/%41?b"),
    lines: fc.array(headerLine, { minLength: 1, maxLength: 2 }),
  })
  .map(({ method, path, lines }) => {
    const head = lines.map((line) => `${line}\r\n`).join("");
    return `${method} ${path} HTTP/1.1\r\nHost: h\r\n${head}\r\n`;
  });
const mutation = fc.record({
  at: fc.nat(),
  cut: fc.nat(1),
  put: fc.constantFrom("", "", "\r", "\n", " ", "\t", "\0", ":", "\x80", "\r\n", "\r\n\r\n"),
});
/** Most are sent as they are: what is broken or cut is node:http's at once, and shows little. */
const mostlyNone = <T>(some: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[]> =>
  fc.oneof(
    { arbitrary: fc.constant<T[]>([]), weight: 3 },
    { arbitrary: fc.array(some, { maxLength }), weight: 1 },
  );
interface Sample {
  readonly requests: readonly string[];
  readonly mutations: readonly {
    readonly at: number;
    readonly cut: number;
    readonly put: string;
  }[];
  readonly cuts: readonly { readonly at: number; readonly wait: boolean }[];
}

const sample: fc.Arbitrary<Sample> = fc.record({
  requests: fc.array(fc.oneof(plain, nearlyPlain, request), { maxLength: 5 }),
  mutations: mostlyNone(mutation, 2),
  cuts: mostlyNone(fc.record({ at: fc.nat(), wait: fc.boolean() }), 6),
});

interface Piece {
  readonly bytes: Buffer;
  readonly wait: boolean;
}

function piecesOf({ requests, mutations, cuts }: Sample): readonly Piece[] {
  let text = requests.join("");
  for (const { at, cut, put } of mutations) {
    const start = at % (text.length + 1);
    text = text.slice(0, start) + put + text.slice(start + cut);
  }
  const bytes = Buffer.from(text, "latin1");
  const places = cuts.map(({ at, wait }) => ({ at: at % (bytes.length + 1), wait }));
  // Requests one after the other are the common case: boundaries are cuts too.
  let boundary = 0;
  for (const one of requests) places.push({ at: (boundary += one.length), wait: true });
  let from = 0;
  const pieces: Piece[] = [];
  for (const { at, wait } of places.sort((a, b) => a.at - b.at)) {
    if (at <= from || at > bytes.length) continue;
    pieces.push({ bytes: bytes.subarray(from, at), wait });
    from = at;
  }
  return [...pieces, { bytes: bytes.subarray(from), wait: true }];
}

/** An exchange takes milliseconds; after this time a request counts as unanswered. */
const silenceMs = 20_000;
const last = `${"\r\n".repeat(40)}GET /final HTTP/1.1\r\nHost: h\r\n\r\n`;

/** Everything the server sent, and how the connection stood then. */
async function exchange(first: string, pieces: readonly Piece[]): Promise<string> {
  const socket = connect({ port: server.address.port, host: "127.0.0.1", allowHalfOpen: true });
  socket.setNoDelay(true);
  const told = read(socket);
  // Before, writes would be gathered and come as one.
  await new Promise((resolve) => socket.on("connect", resolve));
  if (first !== "") await send(socket, Buffer.from(first));
  for (const { bytes, wait } of pieces) {
    if (wait) await send(socket, bytes);
    else if (!socket.destroyed) socket.write(bytes);
  }
  await send(socket, Buffer.from(last));
  const text = await told;
  socket.destroy();
  return text;
}

/** Gives the server turns to read it alone. */
async function send(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed || bytes.length === 0) return;
  socket.write(bytes);
  for (let turn = 0; turn < 4; turn++) await nextTurn();
}

function read(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setTimeout(silenceMs, () => reject(new Error(`neither answered nor ended: ${text}`)));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (/"\/final"[^\r]*$/.test(text)) resolve(`${shown(text)} open`);
    });
    socket.on("end", () => resolve(`${shown(text)} ended`));
    // A server that closes with bytes unread resets: what had arrived is what counts.
    socket.on("error", () => resolve(`${shown(text)} ended`));
  });
}

/** But for the time, and the spelling of names. */
function shown(text: string): string {
  return text
    .replace(/^date: .*\r\n/gim, "")
    .replace(/^[A-Za-z-]+: /gm, (name) => name.toLowerCase())
    .replace(/x{1000,}/g, (padding) => `(${padding.length} bytes)`);
}

/** One request after the other, each whole. */
async function assertSame(...requests: readonly string[]): Promise<void> {
  const pieces = piecesOf({ requests, mutations: [], cuts: [] });
  const [ours, theirs] = await Promise.all([exchange("", pieces), exchange("\r\n", pieces)]);
  assert.equal(ours, theirs, JSON.stringify(requests));
}

const following = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

test("every header alone, twice, and on a watch", async () => {
  for (const line of headerLines) {
    const head = (path: string, lines: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: h\r\n${lines}\r\n`;
    await assertSame(head("/a", `${line}\r\n`), following);
    await assertSame(following, head("/a", `${line}\r\n${line}\r\n`), following);
    await assertSame(head("/watch", `${line}\r\n`), following);
  }
});

test("every target, method and version", async () => {
  for (const target of paths) {
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      await assertSame(`${method} ${target} HTTP/1.1\r\nHost: h\r\n\r\n`, following);
    }
  }
  for (const line of requestLines) await assertSame(`${line}\r\nHost: h\r\n\r\n`, following);
});

test("a 304 tells no length", async () => {
  const pieces = piecesOf({
    requests: [`GET /304 HTTP/1.1\r\nHost: h\r\n\r\n`],
    mutations: [],
    cuts: [],
  });
  for (const first of ["", "\r\n"]) {
    const [head = ""] = (await exchange(first, pieces)).split("\r\n\r\n");
    assert.match(head, /^HTTP\/1\.1 304 /);
    assert.doesNotMatch(head, /content-length|transfer-encoding/i);
  }
});

test("an upgrade not taken is answered, and nothing behind it is waited for", async () => {
  const offer = "GET /a HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n";
  const pieces = piecesOf({ requests: [offer, "no request\r\n\r\n"], mutations: [], cuts: [] });
  assert.match(
    await exchange("", pieces),
    /^HTTP\/1\.1 200 OK\r\n[^]*connection: close\r\n[^]* ended$/,
  );
});

test("whatever comes is answered as by node:http alone", async () => {
  await fc.assert(
    fc.asyncProperty(sample, async (given) => {
      const pieces = piecesOf(given);
      const [ours, theirs] = await Promise.all([exchange("", pieces), exchange("\r\n", pieces)]);
      assert.equal(ours, theirs);
    }),
    { numRuns: runs },
  );
});
