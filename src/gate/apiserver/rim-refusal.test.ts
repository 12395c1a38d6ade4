/** Requests that no handler sees are refused in order and reported to the owner; no header is dropped silently. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test as runTest, type TestContext } from "node:test";
import { uncharged } from "#platform/ledger.ts";
import type { ByteSink, PlainHandler, RefusedRequest } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";

type Context = { after(f: () => unknown): void };

/** Who serves HTTP/1.1 in the test that runs: node:http as for the API server, or our own code as for a relay. */
let ownHttp1 = false;

function test(name: string, run: (context: TestContext) => Promise<void>): void {
  for (const own of [false, true]) {
    void runTest(`${name} (${own ? "own HTTP/1.1" : "node:http"})`, (context) => {
      ownHttp1 = own;
      return run(context);
    });
  }
}

class Served {
  readonly refused: RefusedRequest[] = [];
  readonly port: number;

  constructor(port: number, refused: RefusedRequest[]) {
    this.port = port;
    this.refused = refused;
  }

  static async start(
    context: Context,
    handler: PlainHandler,
    limits = httpLimits,
  ): Promise<Served> {
    const refused: RefusedRequest[] = [];
    const at = { host: "127.0.0.1", port: 0, limits, ownHttp1 };
    const told = { refused: (request: RefusedRequest) => void refused.push(request) };
    const server = await listen({ ...at, ...told }, handler, silentLog);
    context.after(() => server.close(0));
    return new Served(server.address.port, refused);
  }

  /** Everything that comes back until the server closes. */
  async answers(sent: string): Promise<string> {
    const socket = this.open(sent);
    const all = await textOf(socket);
    socket.destroy();
    return all;
  }

  open(sent: string): Socket {
    const socket = connect(this.port, "127.0.0.1");
    socket.write(sent, "latin1");
    return socket;
  }
}

async function textOf(socket: Socket): Promise<string> {
  let all = "";
  for await (const chunk of socket) all += String(chunk);
  return all;
}

const text = (body: string, status = 200) =>
  ({ kind: "bytes", status, headers: {}, body: [Buffer.from(body)] }) as const;
const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;

test("a refusal is told to the owner of the server, with what could be read", async (context) => {
  const served = await Served.start(context, () => Promise.resolve(text("never")));
  await served.answers(get("/a%zz?b"));
  await served.answers(get("/x", "Host: b\r\n"));
  await served.answers("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n");
  await served.answers("nonsense\r\n\r\n");
  await served.answers(get("/x", `X: ${"x".repeat(70_000)}\r\n`));
  const seen = served.refused.map(({ status, reason, protocol, method, target, address }) =>
    [status, reason, protocol, method, target, address].join("|"),
  );
  assert.deepEqual(seen, [
    "400|Bad Request|HTTP/1.1|GET|/a%zz?b|127.0.0.1",
    "400|Bad Request|HTTP/1.1|GET|/x|127.0.0.1",
    "405|Method Not Allowed|HTTP/1.1|CONNECT|h:1|127.0.0.1",
    "400|Bad Request|HTTP/1.1|||127.0.0.1",
    "431|Request Header Fields Too Large|HTTP/1.1|||127.0.0.1",
  ]);
});

test("a header is never dropped for its place among many", async (context) => {
  const served = await Served.start(context, ({ headers, impersonateLines }) =>
    Promise.resolve(
      text(`${headers["authorization"]} as ${impersonateLines?.["impersonate-user"]?.join()}`),
    ),
  );
  const many = Array.from({ length: 3_000 }, (_, at) => `a${at}: b\r\n`).join("");
  const last = "Authorization: Bearer t\r\nImpersonate-User: ann\r\nConnection: close\r\n";
  assert.match(await served.answers(get("/", many + last)), /Bearer t as ann$/);
});

test("what is due before a broken request leaves before its refusal", async (context) => {
  const first = Promise.withResolvers<void>();
  const served = await Served.start(context, async ({ path }) => {
    await first.promise;
    return text(`${path};`);
  });
  const answers = served.answers(`${get("/1")}${get("/2")}nonsense\r\n\r\n`);
  first.resolve();
  const all = await answers;
  assert.deepEqual(all.match(/\/[12];|HTTP\/1.1 \d+/g), [
    "HTTP/1.1 200",
    "/1;",
    "HTTP/1.1 200",
    "/2;",
    "HTTP/1.1 400",
  ]);
  assert.equal(served.refused.length, 1);
});

test("a watch behind which nonsense comes goes on to its end", async (context) => {
  const opened = Promise.withResolvers<ByteSink>();
  const served = await Served.start(context, () =>
    Promise.resolve({
      kind: "stream",
      status: 200,
      headers: {},
      open: (sink) => {
        opened.resolve(sink);
        return () => {};
      },
    }),
  );
  // The line end makes the connection node:http's.
  const socket = served.open(`\r\n${get("/watch")}nonsense\r\n\r\n`);
  const sink = await opened.promise;
  sink.write([Buffer.from("one")]);
  await once(socket, "data");
  assert.equal(served.refused.length, 0);
  sink.write([Buffer.from("two")]);
  sink.end();
  assert.match(await textOf(socket), /two[\s\S]*0\r\n\r\nHTTP\/1\.1 400 Bad Request/);
});

test("a request whose body breaks is refused, though its handler waits for more", async (context) => {
  const outcome = Promise.withResolvers<string>();
  const served = await Served.start(context, async ({ body }) => {
    if (body.kind !== "bytes") return text("no body");
    const read = await body.read(1_000, uncharged).then(String, (error: Error) => error.message);
    outcome.resolve(read);
    return text("read");
  });
  const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const all = await served.answers(`${head}2\r\nab\r\nzz\r\n`);
  assert.match(all, /^HTTP\/1\.1 400 Bad Request\r\n/);
  assert.doesNotMatch(all, /read/);
  assert.equal(await outcome.promise, "the client went away before its body ended");
});

test("a refused client that goes on sending reads its refusal, and is not read for long", async (context) => {
  const served = await Served.start(context, () => Promise.resolve(text("never")));
  const socket = served.open(`nonsense\r\n\r\n${"x".repeat(2 ** 20)}`);
  let all = "";
  socket.on("data", (chunk: Buffer) => (all += String(chunk))).on("error", () => {});
  const more = setInterval(() => socket.write("x".repeat(2 ** 16)), 5);
  await once(socket, "close");
  clearInterval(more);
  assert.match(all, /^HTTP\/1\.1 400 Bad Request/);
  assert.equal(served.refused.length, 1);
});

test("a client that is answered while it still sends its body reads the answer", async (context) => {
  const served = await Served.start(context, () => Promise.resolve(text("refused unread", 401)));
  const bytes = 2 ** 25;
  const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`;
  const socket = served.open(head);
  socket.write(Buffer.alloc(bytes / 2));
  let all = "";
  socket.on("data", (chunk: Buffer) => (all += String(chunk))).on("error", () => {});
  await once(socket, "close");
  assert.match(all, /^HTTP\/1\.1 401 Unauthorized[\s\S]*refused unread$/);
});

test("a connection that sends no head, or a part of one, is told 408 and closed", async (context) => {
  const limits = { ...httpLimits, headMs: 30 };
  const served = await Served.start(context, () => Promise.resolve(text("never")), limits);
  for (const sent of ["", "GET / HTTP/1.1\r\nHo"]) {
    assert.match(await served.answers(sent), /^HTTP\/1\.1 408 Request Timeout\r\n/);
  }
});
