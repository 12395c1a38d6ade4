/** Watches, timeouts and ends on connections of clients that read, over raw sockets. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import type { ByteSink, PlainHandler, PlainResponse } from "../../http.ts";
import { silentLog } from "../../log.ts";
import { httpLimits, listen, type Listening } from "./http.ts";

const head = (path: string, method = "GET"): string =>
  `${method} ${path} HTTP/1.1\r\nHost: relay\r\nAccept: application/json\r\n\r\n`;

class Watched {
  opened = Promise.withResolvers<ByteSink>();
  readonly closed = Promise.withResolvers<void>();
  closes = 0;
  server!: Listening;
  socket!: Socket;
  text = "";
  readonly ended = Promise.withResolvers<void>();
  #came = Promise.withResolvers<void>();

  static async start(context: TestContext, limits = httpLimits): Promise<Watched> {
    const watched = new Watched();
    const options = { host: "127.0.0.1", port: 0, limits, ownHttp1: true };
    watched.server = await listen(options, watched.#handler, silentLog);
    const port = watched.server.address.port;
    watched.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    watched.socket.on("data", (chunk) => {
      watched.text += chunk.toString("latin1");
      watched.#came.resolve();
    });
    watched.socket.on("error", () => watched.ended.resolve());
    watched.socket.on("end", () => watched.ended.resolve());
    context.after(() => {
      watched.socket.destroy();
      return watched.server.close(0);
    });
    return watched;
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) {
      await this.#came.promise;
      this.#came = Promise.withResolvers<void>();
    }
  }

  async watch(): Promise<ByteSink> {
    this.socket.write(head("/watch"));
    const sink = await this.opened.promise;
    sink.write([Buffer.from("one\n")]);
    await this.until(/4\r\none\n\r\n/);
    return sink;
  }

  readonly #handler: PlainHandler = (request): Promise<PlainResponse> => {
    const { path } = request;
    if (path === "/unchanged") return Promise.resolve(answer(304, {}, "a body that is none"));
    if (path === "/bad") return Promise.resolve(answer(200, { "x-a": "b\r\nx-c: d" }, "bad"));
    if (!path.endsWith("watch"))
      return Promise.resolve(answer(200, { "x-path": path }, `[${path}]`));
    const open = (sink: ByteSink): (() => void) => {
      this.opened.resolve(sink);
      return () => {
        this.closes++;
        this.closed.resolve();
      };
    };
    const headers: Record<string, string> = path === "/watch" ? {} : { "x-a": "\n" };
    return Promise.resolve({ kind: "stream", status: 200, headers, open });
  };
}

function answer(status: number, headers: Record<string, string>, body: string): PlainResponse {
  return { kind: "bytes", status, headers, body: [Buffer.from(body)] };
}

test("a watch is chunks, ends with the last one, and its connection serves on", async (context) => {
  const watched = await Watched.start(context);
  const sink = await watched.watch();
  sink.end();
  await watched.until(/one\n\r\n0\r\n\r\n$/);
  assert.equal(sink.closed, true);
  assert.equal(sink.write([Buffer.from("late")]), true);
  watched.socket.write(head("/next"));
  await watched.until(/\[\/next\]$/);
  assert.equal(watched.closes, 1);
  assert.match(watched.text, /^HTTP\/1\.1 200 OK\r\ntransfer-encoding: chunked\r\nDate: /);
  assert.doesNotMatch(watched.text, /late/);
});

test("what a client asks while it watches is answered when the watch has ended, in order", async (context) => {
  const watched = await Watched.start(context);
  const sink = await watched.watch();
  // More than is held: the rest waits in the socket.
  const count = 3_000;
  for (let at = 0; at < count; at++) watched.socket.write(head(`/${at}`));
  sink.write([Buffer.from("two\n")]);
  await watched.until(/two\n\r\n$/);
  sink.end();
  await watched.until(new RegExp(`\\[/${count - 1}\\]$`));
  const order = [...watched.text.matchAll(/\[\/(\d+)\]/g)].map(([, at]) => Number(at));
  assert.deepEqual(
    order,
    Array.from({ length: count }, (_, at) => at),
  );
});

test("a client that ends its direction, or breaks off, is gone", async (context) => {
  const halfClosed = await Watched.start(context);
  await halfClosed.watch();
  halfClosed.socket.end();
  await Promise.all([halfClosed.closed.promise, halfClosed.ended.promise]);
  const broken = await Watched.start(context);
  await broken.watch();
  broken.socket.resetAndDestroy();
  await broken.closed.promise;
  assert.deepEqual([halfClosed.closes, broken.closes], [1, 1]);
});

test("a stream that leaves ends its connection, one that aborts has no last chunk", async (context) => {
  const leaving = await Watched.start(context);
  (await leaving.watch()).leave?.();
  await leaving.ended.promise;
  assert.match(leaving.text, /0\r\n\r\n$/);
  const aborting = await Watched.start(context);
  (await aborting.watch()).abort?.();
  await Promise.all([aborting.ended.promise, aborting.closed.promise]);
  assert.match(aborting.text, /one\n\r\n$/);
});

test("a connection that is ended with requests unread closes, if its client does not, in its time", async (context) => {
  const watched = await Watched.start(context, { ...httpLimits, idleMs: 60 });
  const sink = await watched.watch();
  for (let at = 0; at < 3_000; at++) watched.socket.write(head(`/${at}`));
  sink.leave?.();
  await watched.ended.promise;
  const start = performance.now();
  await watched.server.close(30_000);
  assert.ok(performance.now() - start < 10_000);
  assert.equal(watched.closes, 1);
  assert.doesNotMatch(watched.text, /\[\/0\]/);
});

test("the sink of a watch that has ended touches no later watch of its connection", async (context) => {
  const watched = await Watched.start(context);
  const stale = await watched.watch();
  stale.end();
  watched.opened = Promise.withResolvers();
  watched.text = "";
  const sink = await watched.watch();
  assert.equal(stale.closed, true);
  assert.equal(stale.write([Buffer.from("late\n")]), true);
  stale.end();
  stale.leave?.();
  stale.abort?.();
  assert.equal(sink.closed, false);
  sink.write([Buffer.from("two\n")]);
  sink.end();
  await watched.until(/\r\n\r\n4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n$/);
});

test("bytes that come one by one while a watch is open are bounded by their number too", async (context) => {
  const watched = await Watched.start(context);
  const sink = await watched.watch();
  const text = head("/last");
  for (const byte of text) {
    watched.socket.write(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  sink.end();
  await watched.until(/\[\/last\]$/);
});

test("an answer that has no body by its meaning sends none", async (context) => {
  const watched = await Watched.start(context);
  watched.socket.write(head("/unchanged"));
  await watched.until(/304 Not Modified\r\n[^]*\r\n\r\n/);
  watched.socket.write(head("/next"));
  await watched.until(/\[\/next\]$/);
  assert.doesNotMatch(watched.text, /none/);
  assert.doesNotMatch(watched.text.split("\r\n\r\n")[0] ?? "", /content-length/i);
});

test("HEAD of a watch is its head, and what would have been watched is closed", async (context) => {
  for (const begin of ["", "\r\n"]) {
    const watched = await Watched.start(context);
    watched.socket.write(begin + head("/watch", "HEAD"));
    await watched.closed.promise;
    watched.socket.write(head("/next"));
    await watched.until(/\[\/next\]$/);
    assert.equal(watched.closes, 1);
  }
});

test("a server that closes ends its watches well and its quiet connections at once", async (context) => {
  const watched = await Watched.start(context);
  await watched.watch();
  const quiet = connect(watched.server.address.port, "127.0.0.1");
  const left = new Promise((resolve) => quiet.on("close", resolve));
  quiet.write(head("/quiet"));
  await new Promise((resolve) => quiet.once("data", resolve));
  const closed = watched.server.close(30_000);
  await Promise.all([watched.ended.promise, left]);
  assert.match(watched.text, /0\r\n\r\n$/);
  watched.socket.end();
  await closed;
});

test("a connection without a head is told 408, a quiet one is closed, a watch is not", async (context) => {
  const limits = { ...httpLimits, headMs: 30, idleMs: 60 };
  const silent = await Watched.start(context, limits);
  await silent.ended.promise;
  assert.match(silent.text, /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n\r\n$/);
  const watching = await Watched.start(context, limits);
  const sink = await watching.watch();
  const quiet = await Watched.start(context, limits);
  quiet.socket.write(head("/a"));
  await quiet.ended.promise;
  assert.match(quiet.text, /\[\/a\]$/);
  assert.equal(sink.closed, false);
  sink.end();
  await watching.ended.promise;
});

test("requests that are not plain are node:http's, whatever was served before", async (context) => {
  const once = await Watched.start(context);
  once.socket.write(head("/first"));
  await once.until(/\[\/first\]$/);
  once.socket.write("GET /old HTTP/1.0\r\n\r\n");
  await once.until(/\[\/old\]$/);
  await once.ended.promise;
  const last = await Watched.start(context);
  last.socket.write(head("/last").replace("Accept", "Connection: close\r\nAccept"));
  await last.ended.promise;
  assert.match(last.text, /connection: close[^]*\[\/last\]$/i);
  const bad = await Watched.start(context);
  bad.socket.write("GET / HTTP/1.1\r\n\r\n");
  await bad.ended.promise;
  assert.match(bad.text, /^HTTP\/1\.1 400 /);
});

test("a header with a line end in it is never sent, and the watch behind it is closed", async (context) => {
  // A line end before the request makes it node:http's.
  for (const begin of ["", "\r\n"]) {
    const watched = await Watched.start(context);
    watched.socket.write(begin + head("/bad"));
    await watched.ended.promise;
    assert.equal(watched.text, "");
    const opened = await Watched.start(context);
    opened.socket.write(begin + head("/bad-watch"));
    await Promise.all([opened.closed.promise, opened.ended.promise]);
    assert.deepEqual([opened.text, opened.closes], ["", 1]);
  }
});
