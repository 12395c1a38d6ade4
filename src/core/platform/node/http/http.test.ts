/** The HTTP/1.1 rim in the clear; TLS and HTTP/2 are tested in apiserver/rim.test.ts, beside the keys. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { Agent, request as httpRequest } from "node:http";
import type { ByteSink, PlainHandler, PlainRequest } from "../../http.ts";
import { silentLog } from "../../log.ts";
import { listen } from "./http.ts";
import { call, clear, echo, text } from "../testing/http-calls.ts";

test("a path is decoded once, the query is not, and a body is read", async () => {
  const server = await listen(clear, echo, silentLog);
  const options = { path: "/a%20b/c?x=%201", method: "POST" };
  const answer = await call(httpRequest, server.address.port, options, "hello");
  assert.equal(answer.body, "POST /a b/c x=%201 hello");
  await server.close(1000);
});

test("a body over the limit is not kept, and the connection still answers", async () => {
  const server = await listen(clear, echo, silentLog);
  const options = { path: "/", method: "POST", headers: { "transfer-encoding": "chunked" } };
  const answer = await call(httpRequest, server.address.port, options, "x".repeat(5000));
  assert.equal(answer.status, 413);
  await server.close(1000);
});

test("an answer that has no body by its status tells no length of it, however it is asked for", async () => {
  for (const status of [204, 304]) {
    const server = await listen(clear, () => Promise.resolve(text(status, "none")), silentLog);
    for (const method of ["GET", "HEAD", "POST"]) {
      const answer = await call(httpRequest, server.address.port, { method });
      assert.deepEqual([answer.status, answer.body], [status, ""]);
      assert.equal(answer.headers["content-length"], undefined);
      assert.equal(answer.headers["transfer-encoding"], undefined);
    }
    await server.close(1000);
  }
});

test("a malformed escape in the path is a 400", async () => {
  const server = await listen(clear, echo, silentLog);
  const answer = await call(httpRequest, server.address.port, { path: "/a%zz" });
  assert.equal(answer.status, 400);
  await server.close(1000);
});

test("a taken port is named in the error", async () => {
  const server = await listen(clear, echo, silentLog);
  const port = server.address.port;
  await assert.rejects(listen({ ...clear, port }, echo, silentLog), /is already in use/);
  await server.close(1000);
});

test("a stream sends its head at once, shares one frame among clients, and closes with the client", async () => {
  const sinks: ByteSink[] = [];
  let closed = 0;
  const handler: PlainHandler = () =>
    Promise.resolve({
      kind: "stream",
      status: 200,
      headers: { "content-type": "application/json" },
      open: (sink) => {
        sinks.push(sink);
        return () => void closed++;
      },
    });
  const server = await listen(clear, handler, silentLog);
  const agent = new Agent({ keepAlive: true });
  const open = (): Promise<import("node:http").IncomingMessage> =>
    new Promise((resolve, reject) => {
      httpRequest({ host: "127.0.0.1", port: server.address.port, path: "/w", agent }, resolve)
        .on("error", reject)
        .end();
    });
  const [first, second] = await Promise.all([open(), open()]);
  const block = Buffer.from('{"type":"ADDED"}\n');
  for (const sink of sinks) sink.write([block]);
  for (const sink of sinks) sink.write([block, block]);
  sinks[0]?.end();
  const read = async (message: import("node:http").IncomingMessage): Promise<string> => {
    let all = "";
    for await (const chunk of message) all += String(chunk);
    return all;
  };
  const bodies = Promise.all([read(first), read(second)]);
  await server.close(5000);
  assert.deepEqual(await bodies, [block.toString().repeat(3), block.toString().repeat(3)]);
  assert.equal(closed, 2);
  agent.destroy();
});

test("a request's signal aborts when its client leaves, whenever the signal is asked for", async () => {
  const requests: PlainRequest[] = [];
  let early: AbortSignal | undefined;
  const came = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const handler: PlainHandler = (request) => {
    requests.push(request);
    early = request.signal;
    early.addEventListener("abort", () => left.resolve());
    came.resolve();
    return new Promise(() => {});
  };
  const server = await listen(clear, handler, silentLog);
  const client = httpRequest({ host: "127.0.0.1", port: server.address.port, path: "/" });
  client.on("error", () => {});
  client.end();
  await came.promise;
  assert.equal(early?.aborted, false);
  client.destroy();
  await left.promise;
  assert.equal(requests[0]?.signal.aborted, true);
  await server.close(1000);
});

test("pipelined requests are handled one by one, and all are answered", async () => {
  let busy = 0;
  const handler: PlainHandler = async ({ path }) => {
    assert.equal(busy++, 0);
    if (path === "/1") await new Promise((resolve) => setImmediate(resolve));
    busy--;
    return { kind: "bytes", status: 200, headers: {}, body: [Buffer.from(`${path};`)] };
  };
  const server = await listen(clear, handler, silentLog);
  const socket = connect(server.address.port, "127.0.0.1");
  const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  socket.write(request("/1") + request("/2") + request("/3"));
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.includes("/3;")) break;
  }
  assert.deepEqual(text.match(/\/[0-9];/g), ["/1;", "/2;", "/3;"]);
  await server.close(1000);
});
