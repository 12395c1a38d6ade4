/**
 * A passed-through answer that does not come to its end is seen to be cut: by a client whose connection
 * is served by us (a GET), and by one that node:http serves (a POST). HTTP/2: apiserver/rim.test.ts.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";
import { uncharged } from "#platform/ledger.ts";
import { silentLog } from "#platform/log.ts";
import { relayLimits } from "./limits.ts";
import { passThrough } from "./pass-through.ts";

const ways = [
  { way: "our own connection", method: "GET", more: "" },
  { way: "node:http", method: "POST", more: "Content-Length: 0\r\n" },
];
/** Sent before the cut. */
const told = "x".repeat(100_000);

for (const { way, method, more } of ways) {
  for (const length of [undefined, 2 * told.length]) {
    const kind = length === undefined ? "of unknown length" : "of a declared length";

    void test(`a body ${kind} that the upstream breaks off is cut (${way})`, async (context) => {
      const { answering, read } = await relayed(context, method, more, length);
      const upstream = await answering;
      const client = read();
      await client.untilTold();
      upstream.destroy();
      assertCut(await client.all);
    });

    void test(`a body ${kind} that is under way when the relay ends is cut (${way})`, async (context) => {
      const { answering, read, close } = await relayed(context, method, more, length);
      const upstream = await answering;
      const client = read();
      await client.untilTold();
      const left = once(upstream, "close");
      await close();
      assertCut(await client.all);
      await left;
    });

    void test(`a body ${kind} that comes to its end ends well (${way})`, async (context) => {
      const { answering, read, close } = await relayed(context, method, more, length);
      const upstream = await answering;
      const client = read();
      upstream.end(length === undefined ? "" : told);
      await client.untilTold("\r\n0\r\n\r\n");
      await close();
      assert.match(await client.all, /\r\n0\r\n\r\n$/);
    });
  }
}

function assertCut(text: string): void {
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.match(text, /transfer-encoding: chunked\r\n/i);
  assert.doesNotMatch(text, /\r\n0\r\n/, "the last chunk says that the body is whole");
}

interface Relayed {
  /** The upstream's answer, its first half written. */
  readonly answering: Promise<ServerResponse>;
  readonly read: () => { readonly all: Promise<string>; untilTold(what?: string): Promise<void> };
  readonly close: () => Promise<void>;
}

async function relayed(
  context: { after(f: () => unknown): void },
  method: string,
  more: string,
  length: number | undefined,
): Promise<Relayed> {
  const upstream = createServer();
  const answering = (once(upstream, "request") as Promise<[unknown, ServerResponse]>).then(
    ([, response]) => {
      response.writeHead(200, length === undefined ? {} : { "content-length": length });
      response.write(told);
      return response;
    },
  );
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const { port } = upstream.address() as AddressInfo;
  const http = httpClient({ server: `http://127.0.0.1:${port}`, limits: httpClientLimits });
  const deps = { http, headers: () => ({}), tunnels: new Set<never>() };
  const at = { host: "127.0.0.1", port: 0, limits: httpLimits };
  const limits = { ...relayLimits, wholeBytesMax: 1_024 };
  const front = await listen(
    at,
    (request) => passThrough(deps, limits, request, undefined, uncharged),
    silentLog,
  );
  const socket = connect({ port: front.address.port, host: "127.0.0.1" });
  socket.write(`${method} /api HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
  context.after(async () => {
    socket.destroy();
    http.close();
    upstream.closeAllConnections();
    upstream.close();
    await front.close(0);
  });
  // Far beyond what a test takes: what is to be cut is cut at once, not at the deadline.
  return { answering, read: () => reader(socket), close: () => front.close(600_000) };
}

function reader(socket: ReturnType<typeof connect>): ReturnType<Relayed["read"]> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  // A reset is a cut as good as an end.
  socket.on("error", () => {});
  const all = once(socket, "close").then(() => text);
  return {
    all,
    async untilTold(what = told.slice(-1_000)) {
      while (!text.includes(what)) await Promise.race([once(socket, "data"), all]);
    },
  };
}
