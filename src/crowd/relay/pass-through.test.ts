/**
 * Pass-through over real sockets: a client, a listener, the relay's hands, and an upstream that echoes
 * over an Upgrade, takes long bodies at its own pace, and answers before it has read them.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { after, before, describe, it } from "node:test";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import type { ByteDuplex, UserInfo } from "#platform/http.ts";
import { uncharged } from "#platform/ledger.ts";
import { silentLog } from "#platform/log.ts";
import { statusResponse } from "#server/status.ts";
import { relayLimits } from "./limits.ts";
import { passThrough } from "./pass-through.ts";

const limits = {
  ...relayLimits,
  requestBytesMax: 4 * 2 ** 20,
  wholeBytesMax: 1_024,
  tunnelsMax: 2,
};
const ann: UserInfo = { name: "ann", groups: ["a,b"] };

void describe("what passes through", () => {
  let upstream: Server;
  let front: Listening;
  let http: ReturnType<typeof httpClient>;
  const tunnels = new Set<ByteDuplex>();
  const heads: Record<string, string | string[] | undefined>[] = [];

  before(async () => {
    upstream = createServer({ shouldUpgradeCallback: ({ url }) => url !== "/refuses" });
    upstream.on("upgrade", (message, socket, head) => {
      heads.push(message.headers);
      socket.on("error", () => socket.destroy());
      echo(socket, head, message.url ?? "");
    });
    upstream.on("request", (message, response) => {
      heads.push(message.headers);
      if (message.url === "/refuses") return void response.writeHead(501).end("not here");
      if (message.url === "/early") return void response.writeHead(403).end("no");
      let bytes = 0;
      message.on("data", (chunk: Buffer) => (bytes += chunk.length));
      message.on("end", () => response.end(String(bytes)));
    });
    upstream.listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    http = httpClient({ server: `http://127.0.0.1:${port}`, limits: httpClientLimits });
    const deps = { http, headers: () => ({ authorization: "Bearer relay" }), tunnels };
    front = await listen(
      { host: "127.0.0.1", port: 0, limits: httpLimits },
      (request) =>
        passThrough(deps, limits, request, ann, uncharged).catch((error: unknown) =>
          statusResponse(request, new URLSearchParams(), error),
        ),
      silentLog,
    );
  });
  after(async () => {
    http.close();
    upstream.closeAllConnections();
    upstream.close();
    await front.close(0);
  });

  /** A tunnel after its 101. */
  async function dial(path: string, protocol = "SPDY/3.1"): Promise<[Socket, string]> {
    const socket = connect({ port: front.address.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nContent-Length: 0\r\nAuthorization: Bearer mine\r\nX-Stream-Protocol-Version: v4\r\n\r\n`,
    );
    let head = "";
    while (!head.includes("\r\n\r\n")) {
      const [chunk] = (await once(socket, "data")) as [Buffer];
      head += chunk.toString("latin1");
    }
    return [socket, head];
  }

  void it("an upgrade becomes a tunnel for raw bytes, each direction ending on its own", async () => {
    const [socket, head] = await dial("/echo");
    assert.match(head, /^HTTP\/1\.1 101 /);
    assert.match(head, /upgrade: SPDY\/3\.1/i);
    assert.match(head, /hello before the rest$/);
    const sent = heads.at(-1) ?? {};
    assert.equal(sent["authorization"], "Bearer relay");
    assert.equal(sent["impersonate-user"], "ann");
    assert.equal(sent["x-stream-protocol-version"], "v4");
    const parts: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => parts.push(chunk));
    socket.write(Buffer.from([0, 255, 13, 10]));
    // The client's half is closed; the upstream's last bytes still arrive.
    socket.end("last");
    await once(socket, "end");
    assert.equal(Buffer.concat(parts).toString("latin1"), "\0\xff\r\nlastgoodbye");
    await emptied(tunnels);
  });

  void it("a reader that stands still holds the writer back, and nothing is lost", async () => {
    const [socket, head] = await dial("/flood");
    socket.pause();
    await new Promise((resolve) => setImmediate(resolve));
    let bytes = head.length - (head.indexOf("\r\n\r\n") + 4);
    socket.on("data", (chunk: Buffer) => (bytes += chunk.length));
    socket.resume();
    await once(socket, "end");
    assert.equal(bytes, floodBytes);
    socket.end();
    await emptied(tunnels);
  });

  void it("a client that goes away takes the upstream's connection along", async () => {
    const [socket] = await dial("/echo");
    socket.resetAndDestroy();
    await emptied(tunnels);
  });

  void it("the upstream's refusal to switch comes through as it is, and too many are told so", async () => {
    const [refused, head] = await dial("/refuses", "websocket");
    assert.match(head, /^HTTP\/1\.1 501 /);
    assert.match(head, /connection: close/i);
    refused.destroy();
    const open = [await dial("/echo"), await dial("/echo")];
    const [third, why] = await dial("/echo");
    assert.match(why, /^HTTP\/1\.1 429 /);
    for (const [socket] of open) socket.destroy();
    third.destroy();
    await emptied(tunnels);
  });

  void it("a long body is sent on as it comes, within the bound", async () => {
    const long = Buffer.alloc(3 * 2 ** 20, 1);
    assert.deepEqual(await put("/count", long, true), [200, String(long.length)]);
    assert.deepEqual(await put("/count", long, false), [200, String(long.length)]);
    const [status] = await put("/count", Buffer.alloc(5 * 2 ** 20), true);
    assert.equal(status, 413);
    const [early] = await put("/early", long, true);
    assert.equal(early, 403);
  });

  function put(path: string, body: Buffer, chunked: boolean): Promise<[number, string]> {
    return new Promise((resolve, reject) => {
      const headers = chunked
        ? { "transfer-encoding": "chunked" }
        : { "content-length": String(body.length) };
      const at = { host: "127.0.0.1", port: front.address.port, agent: false as const };
      const sent = httpRequest({ ...at, path, method: "PUT", headers });
      sent.on("response", (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => resolve([response.statusCode ?? 0, text]));
        response.on("error", reject);
      });
      // A client that is answered before it has sent everything may find the connection closed.
      sent.on("error", reject);
      sent.end(body);
    });
  }
});

const floodBytes = 8 * 2 ** 20;

function echo(socket: Duplex, head: Buffer, url: string): void {
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
  );
  if (url === "/flood") return void socket.end(Buffer.alloc(floodBytes, 7));
  socket.write("hello before the rest");
  if (head.length > 0) socket.write(head);
  socket.on("data", (chunk: Buffer) => socket.write(chunk));
  socket.on("end", () => socket.end("goodbye"));
}

/** Resolves when every tunnel is closed; the test's own time limit is the bound. */
async function emptied(tunnels: ReadonlySet<ByteDuplex>): Promise<void> {
  while (tunnels.size > 0) await new Promise((resolve) => setImmediate(resolve));
}
