/** Polls that are repeated on an HTTP/2 connection: answered from memory while they are the same to the byte. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import { test, type TestContext } from "node:test";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import type { PlainHandler } from "#platform/http.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import { silentLog } from "#platform/log.ts";
import type { Replay, ReplayableResponse } from "#platform/replay.ts";

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};
const authority = makeAuthority("test-ca", issue);
const served = makeServerCertificate(authority, "server", ["127.0.0.1"], issue);
/** What its maker gives for the body of a 304, which is never sent. */
const none = Buffer.from("none");
const fields = { "if-none-match": '"1"', authorization: `Bearer ${"t".repeat(2_000)}` };

/** Every answer is a 304 with a repeat function (`again`), and a header `x-way` that names its path. */
class Polled {
  requests = 0;
  known = true;
  server!: Listening;
  #session!: ClientHttp2Session;

  static async start(context: TestContext): Promise<Polled> {
    const polled = new Polled();
    const pair = { key: served.privateKey, cert: served.certificate };
    const at = { host: "127.0.0.1", port: 0, limits: httpLimits };
    polled.server = await listen({ ...at, ...pair }, polled.#handler, silentLog);
    polled.#session = polled.connect();
    context.after(() => {
      polled.#session.destroy();
      return polled.server.close(0);
    });
    return polled;
  }

  connect(): ClientHttp2Session {
    const url = `https://127.0.0.1:${this.server.address.port}`;
    return connect(url, { rejectUnauthorized: false });
  }

  async ask(
    path: string,
    more: Record<string, string> = {},
    { session = this.#session, body = "" } = {},
  ): Promise<IncomingHttpHeaders> {
    const head = { ":path": path, ...fields, ...more };
    const stream = session.request(head, { endStream: body === "" });
    if (body !== "") stream.end(body);
    const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
    stream.on("data", () => assert.fail("a 304 has no body"));
    await once(stream, "close");
    assert.equal(headers[":status"], 304);
    assert.equal(headers["content-length"], undefined);
    return headers;
  }

  async ways(...paths: readonly string[]): Promise<readonly unknown[]> {
    const found: unknown[] = [];
    for (const path of paths) found.push((await this.ask(path))["x-way"]);
    return found;
  }

  readonly #handler: PlainHandler = ({ path }) => {
    this.requests++;
    const again: Replay = () =>
      this.known ? { status: 304, headers: { "x-way": `${path} again` } } : undefined;
    const head = { kind: "bytes", status: 304, headers: { "x-way": path } } as const;
    const answer: ReplayableResponse = { ...head, body: [none], again };
    return Promise.resolve(answer);
  };
}

void test("the same poll is answered again without a request, like the first time", async (context) => {
  const polled = await Polled.start(context);
  const first = await polled.ask("/a");
  const second = await polled.ask("/a");
  assert.equal(polled.requests, 1);
  assert.deepEqual([first["x-way"], second["x-way"]], ["/a", "/a again"]);
  const names = (headers: IncomingHttpHeaders): string[] => Object.keys(headers).sort();
  assert.deepEqual(names(second), names(first));
  assert.equal(first["content-length"], undefined, "it would be the 200's");
});

void test("another field, another method or a body is another request", async (context) => {
  const polled = await Polled.start(context);
  await polled.ask("/a");
  const others = [{ authorization: "Bearer t" }, { "if-none-match": '"2"' }, { "x-more": "1" }];
  for (const more of others) assert.equal((await polled.ask("/a", more))["x-way"], "/a");
  assert.equal((await polled.ask("/a", { ":method": "POST" }, { body: "b" }))["x-way"], "/a");
  assert.equal((await polled.ask("/a", {}, { body: "b" }))["x-way"], "/a");
});

void test("what is no longer known goes the usual way, and is known again after it", async (context) => {
  const polled = await Polled.start(context);
  await polled.ask("/a");
  polled.known = false;
  assert.deepEqual(await polled.ways("/a", "/a"), ["/a", "/a"]);
  polled.known = true;
  assert.deepEqual(await polled.ways("/a"), ["/a again"]);
});

void test("a connection remembers its last four polls, and no other connection's", async (context) => {
  const polled = await Polled.start(context);
  const four = ["/1", "/2", "/3", "/4"];
  await polled.ways(...four);
  assert.deepEqual(await polled.ways(...four), ["/1 again", "/2 again", "/3 again", "/4 again"]);
  assert.deepEqual(await polled.ways("/5", "/1", "/5"), ["/5", "/1", "/5 again"]);
  const session = polled.connect();
  context.after(() => session.destroy());
  assert.equal((await polled.ask("/5", {}, { session }))["x-way"], "/5");
});
