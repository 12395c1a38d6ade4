/** Connections of clients that only read, over raw sockets: remembered polls, watches, and any other requests. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { uncharged } from "../../ledger.ts";
import type { PlainHandler, PlainRequest, PlainResponse } from "../../http.ts";
import { silentLog } from "../../log.ts";
import type { Replay, ReplayableResponse } from "../../replay.ts";
import { httpLimits, listen, type Listening } from "./http.ts";

const options = { host: "127.0.0.1", port: 0, limits: httpLimits, ownHttp1: true };
const poll = 'GET /a HTTP/1.1\r\nHost: relay\r\nIf-None-Match: "1"\r\n\r\n';
const shortWay = { status: 304, headers: { etag: '"short"' } };

/** A server whose every answer is a 304 that says how to give it again, and one raw client. */
class Served {
  readonly requests: PlainRequest[] = [];
  known = true;
  /** Answers of `/slow` wait for this. */
  readonly slow = Promise.withResolvers<void>();
  server!: Listening;
  #socket!: Socket;
  #text = "";
  #came = Promise.withResolvers<void>();

  static async start(context: TestContext): Promise<Served> {
    const served = new Served();
    served.server = await listen(options, served.#handler, silentLog);
    served.#socket = connect(served.server.address.port, "127.0.0.1");
    served.#socket.on("data", (chunk) => {
      served.#text += chunk.toString("latin1");
      served.#came.resolve();
    });
    context.after(() => {
      served.#socket.destroy();
      return served.server.close(0);
    });
    return served;
  }

  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  send(text: string): void {
    this.#socket.write(text, "latin1");
  }

  /** The next `count` answers, each identified by its ETag, or else by the path in its body. */
  async answers(count: number): Promise<readonly string[]> {
    while (this.#text.split("\r\n\r\n").length <= count) {
      await this.#came.promise;
      this.#came = Promise.withResolvers<void>();
    }
    const heads = this.#text.split("\r\n\r\n");
    this.#text = heads.slice(count).join("\r\n\r\n");
    return heads.slice(0, count).map((head) => /^(?:etag|x-path): (.*)$/m.exec(head)?.[1] ?? head);
  }

  async ask(text = poll): Promise<string> {
    this.send(text);
    return (await this.answers(1))[0] ?? "";
  }

  /** The first answer is remembered. */
  async warm(): Promise<void> {
    while ((await this.ask()) !== '"short"') assert.ok(this.requests.length < 20);
  }

  readonly #handler: PlainHandler = async (request): Promise<PlainResponse> => {
    this.requests.push(request);
    const { body, path } = request;
    if (path === "/slow") await this.slow.promise;
    if (body.kind === "bytes") await body.read(1_000, uncharged);
    const again: Replay = () => (this.known ? shortWay : undefined);
    const head = { kind: "bytes", status: 304, headers: { "x-path": path } } as const;
    const answer: ReplayableResponse = { ...head, body: [], again };
    return answer;
  };
}

test("the same bytes again are answered without a request, until they differ", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  assert.equal(await served.ask(), '"short"');
  assert.equal(served.requests.length, 1);
  assert.equal(await served.ask(poll.replace("/a", "/b")), "/b");
  assert.equal(await served.ask(), "/a", "another request was made in between");
  assert.equal(await served.ask(), '"short"');
});

test("what is no longer known goes the usual way, and is known again after it", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  served.known = false;
  assert.deepEqual([await served.ask(), await served.ask()], ["/a", "/a"]);
  served.known = true;
  assert.equal(await served.ask(), '"short"');
});

test("pipelined requests are answered in order, whatever is remembered", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  served.send(poll + poll);
  assert.deepEqual(await served.answers(2), ["/a", "/a"]);
  assert.equal(await served.ask(), "/a", "the connection is node:http's for good");
});

test("what comes while an answer is made waits for it", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  served.send(poll.replace("/a", "/slow"));
  served.send(poll);
  await until(() => served.requests.some(({ path }) => path === "/slow"));
  served.send(poll);
  served.slow.resolve();
  assert.deepEqual(await served.answers(3), ["/slow", "/a", "/a"]);
});

test("a body that looks like the remembered request stays a body", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  const head = `POST /post HTTP/1.1\r\nHost: relay\r\nContent-Length: ${poll.length}\r\n\r\n`;
  served.send(head);
  await until(() => served.requests.at(-1)?.path === "/post");
  assert.equal(await served.ask(), "/post");
  // Nor does such a body, as a read of its own, become what is remembered.
  served.send(head);
  assert.equal(await served.ask(), "/post");
  assert.equal(await served.ask(), "/a");
});

test("a request in two reads is not remembered, nor one that ends its connection", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  const known = served.requests.length;
  served.send(poll.slice(0, 30));
  served.send(poll.slice(30));
  await served.answers(1);
  const last = poll.replace("Host", "Connection: close\r\nHost");
  assert.equal(await served.ask(last), "/a");
  assert.ok(served.requests.length > known);
});

test("HEAD is remembered as HEAD; headers of odd spelling are not remembered", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  const head = poll.replace("GET", "HEAD");
  assert.deepEqual([await served.ask(head), await served.ask(head)], ["/a", '"short"']);
  const odd = poll.replace("Host: ", "Host:");
  assert.deepEqual([await served.ask(odd), await served.ask(odd)], ["/a", "/a"]);
});

test("a polling connection that becomes a tunnel gives its bytes to the tunnel", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  const upgrade = poll.replace("Host", "Connection: Upgrade\r\nUpgrade: websocket\r\nHost");
  assert.equal(await served.ask(upgrade), "/a");
});

test("an upgrade behind an answer that has not left is answered as if none was offered", async (context) => {
  const served = await Served.start(context);
  const upgrade = poll.replace("Host", "Connection: Upgrade\r\nUpgrade: websocket\r\nHost");
  served.send(poll.replace("/a", "/slow") + upgrade);
  await until(() => served.requests.length > 0);
  served.slow.resolve();
  assert.deepEqual(await served.answers(2), ["/slow", "/a"]);
  assert.equal(served.requests[1]?.upgrade, undefined);
});

test("requests behind an answer that does not come are neither handled nor read without end", async (context) => {
  const served = await Served.start(context);
  // With the first line end the connection is node:http's.
  served.send(`\r\n${poll.replace("/a", "/slow")}`);
  await until(() => served.requests.length > 0);
  // More than the buffers of two sockets.
  served.send(poll.repeat(300_000));
  for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(served.unsentBytes > 0);
  assert.equal(served.requests.length, 1);
  served.slow.resolve();
  const paths = await served.answers(5_000);
  assert.equal(paths.indexOf("/slow"), 0);
  assert.equal(paths.lastIndexOf("/slow"), 0);
});

test("a server that closes does not wait for who polls", async (context) => {
  const served = await Served.start(context);
  await served.warm();
  const start = performance.now();
  await served.server.close(30_000);
  assert.ok(performance.now() - start < 10_000);
});

async function until(reached: () => boolean): Promise<void> {
  while (!reached()) await new Promise((resolve) => setImmediate(resolve));
}
