/**
 * Below the messages: how malformed calls are refused, and how plain HTTP is answered. Each row
 * holds for Pilothouse's server, and for a real etcd of 3.6 if one is found.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { AlarmAction, AlarmType, snapshotResponse } from "#wire/etcd-messages.ts";
import { Deframer } from "#wire/grpc.ts";
import { EtcdClient } from "./client.ts";
import {
  etcdRelease,
  findEtcd,
  isAtLeast,
  startEtcd,
  startOurs,
  type EtcdRelease,
  type TestServer,
} from "./testing/servers.ts";

const etcd = findEtcd();
const noEtcd = "no etcd 3.6 found: set PILOTHOUSE_ETCD, or put `etcd` on the PATH";
const servers = [
  { name: "ours", skip: false, start: () => startOurs("memory") },
  {
    name: "a real etcd",
    skip: etcd === undefined ? noEtcd : false,
    start: () => startEtcd(etcd as string),
  },
] as const;

interface Ended {
  readonly http: number;
  readonly code: string;
  readonly text: string;
}

/**
 * Makes one raw call with the usual head fields, overridden by `fields`, and then sends `bytes`. `open`: the stream's
 * end is not sent. The answer's data goes to `chunks`.
 */
function call(
  url: string,
  fields: Record<string, string | undefined>,
  bytes: Buffer,
  open: "open" | "ended" = "ended",
  chunks: Buffer[] = [],
): Promise<Ended> {
  const session = connectHttp2(url);
  const all = {
    ":method": "POST",
    ":path": "/etcdserverpb.KV/Range",
    "content-type": "application/grpc",
    te: "trailers",
    ...fields,
  };
  const stream = session.request(
    Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
  );
  const ended = { http: 0, code: "", text: "" };
  const see = (headers: IncomingHttpHeaders): void => {
    if (headers[":status"] !== undefined) ended.http = Number(headers[":status"]);
    if (headers["grpc-status"] === undefined) return;
    ended.code = text(headers["grpc-status"]);
    ended.text = text(headers["grpc-message"]);
  };
  stream.on("response", see);
  stream.on("trailers", see);
  stream.on("error", () => undefined);
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  if (open === "open") stream.write(bytes);
  else stream.end(bytes);
  return new Promise((resolve) => {
    stream.on("close", () => {
      session.destroy();
      resolve(ended);
    });
  });
}

function text(header: string | readonly string[] | undefined): string {
  return typeof header === "string" ? header : "";
}

function framedAs(flag: number, message: Buffer): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const range = Buffer.from([0x0a, 1, 0x61]);
const plain = framedAs(0, range);
const well = { http: 200, code: "0", text: "" };
const refusals: readonly (readonly [string, Record<string, string | undefined>, Buffer, Ended])[] =
  [
    ["a call", {}, plain, well],
    ["without te", { te: undefined }, plain, well],
    ["a subtype", { "content-type": "application/grpc+proto" }, plain, well],
    ["two messages", {}, Buffer.concat([plain, plain]), well],
    ["gzip", { "grpc-encoding": "gzip" }, framedAs(1, gzipSync(range)), well],
    ["gzip announced, not used", { "grpc-encoding": "gzip" }, plain, well],
    ["a long wait", { "grpc-timeout": "99999999H" }, plain, well],
    [
      "unknown method",
      { ":path": "/etcdserverpb.KV/No" },
      plain,
      { http: 200, code: "12", text: "unknown method No for service etcdserverpb.KV" },
    ],
    [
      "unknown service",
      { ":path": "/a.B/C" },
      plain,
      { http: 200, code: "12", text: "unknown service a.B" },
    ],
    [
      "no service",
      { ":path": "/foo" },
      plain,
      { http: 200, code: "12", text: 'malformed method name: "/foo"' },
    ],
    [
      "flag without encoding",
      {},
      framedAs(1, range),
      { http: 200, code: "13", text: "grpc: compressed flag set with identity or empty encoding" },
    ],
    [
      "another encoding",
      { "grpc-encoding": "snappy" },
      framedAs(1, range),
      {
        http: 200,
        code: "12",
        text: 'grpc: Decompressor is not installed for grpc-encoding "snappy"',
      },
    ],
    [
      "another flag",
      {},
      framedAs(2, range),
      { http: 200, code: "13", text: "grpc: received unexpected payload format 2" },
    ],
    [
      "a cut field",
      {},
      framedAs(0, Buffer.from([0x0a, 9, 0x61])),
      { http: 200, code: "13", text: "grpc: error unmarshalling request: unexpected EOF" },
    ],
    [
      "a wrong wire type",
      {},
      framedAs(0, Buffer.from([8, 9])),
      {
        http: 200,
        code: "13",
        text: "grpc: error unmarshalling request: proto: wrong wireType = 0 for field Key",
      },
    ],
    ["no message", {}, Buffer.alloc(0), { http: 200, code: "2", text: "EOF" }],
    ["half a message", {}, plain.subarray(0, 6), { http: 200, code: "2", text: "unexpected EOF" }],
    [
      "a stream without its request",
      { ":path": "/etcdserverpb.Maintenance/Snapshot" },
      Buffer.alloc(0),
      { http: 200, code: "2", text: "EOF" },
    ],
    [
      "a stream with half a request",
      { ":path": "/etcdserverpb.Maintenance/Snapshot" },
      plain.subarray(0, 6),
      { http: 200, code: "13", text: "unexpected EOF" },
    ],
    [
      "a watch cut off in a request",
      { ":path": "/etcdserverpb.Watch/Watch" },
      plain.subarray(0, 6),
      { http: 200, code: "13", text: "unexpected EOF" },
    ],
    [
      "a health watch without its request",
      { ":path": "/grpc.health.v1.Health/Watch" },
      Buffer.alloc(0),
      { http: 200, code: "2", text: "EOF" },
    ],
    [
      "too large",
      {},
      Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]),
      {
        http: 200,
        code: "8",
        text: "grpc: received message larger than max (2147483647 vs. 2097152)",
      },
    ],
    [
      "another content",
      { "content-type": "application/json" },
      plain,
      { http: 415, code: "3", text: 'invalid gRPC request content-type "application/json"' },
    ],
    [
      "gRPC-Web",
      { "content-type": "application/grpc-web" },
      plain,
      { http: 415, code: "3", text: 'invalid gRPC request content-type "application/grpc-web"' },
    ],
    [
      "no content type",
      { "content-type": undefined },
      plain,
      { http: 415, code: "3", text: 'invalid gRPC request content-type ""' },
    ],
    [
      "PUT",
      { ":method": "PUT" },
      plain,
      {
        http: 405,
        code: "13",
        text: 'Received a HEADERS frame with :method "PUT" which should be POST',
      },
    ],
    [
      "no time left",
      { "grpc-timeout": "1n" },
      plain,
      { http: 200, code: "4", text: "context deadline exceeded" },
    ],
    [
      "a watch's time is over",
      { ":path": "/etcdserverpb.Watch/Watch", "grpc-timeout": "50m" },
      framedAs(0, Buffer.from([0x0a, 3, 0x0a, 1, 0x61])),
      { http: 200, code: "4", text: "context deadline exceeded" },
    ],
    [
      "a wait of no unit",
      { "grpc-timeout": "xx" },
      plain,
      {
        http: 400,
        code: "13",
        text: 'malformed grpc-timeout: transport: timeout unit is not recognized: "xx"',
      },
    ],
    [
      "a wait too long to say",
      { "grpc-timeout": "123456789S" },
      plain,
      {
        http: 400,
        code: "13",
        text: 'malformed grpc-timeout: transport: timeout string is too long: "123456789S"',
      },
    ],
    [
      "health of a part",
      { ":path": "/grpc.health.v1.Health/Check" },
      framedAs(0, Buffer.from([0x0a, 1, 0x61])),
      { http: 200, code: "5", text: "unknown service" },
    ],
  ];

for (const { name, skip, start } of servers) {
  test(`calls are refused as grpc-go does: ${name}`, { skip }, async (t) => {
    const server = await started(t, start);
    for (const [what, fields, bytes, expected] of refusals) {
      assert.deepEqual(await call(server.url, fields, bytes), expected, what);
    }
  });

  test(
    `of two requests where one is taken, the first is answered: ${name}`,
    { skip },
    async (t) => {
      const server = await started(t, start);
      const twice = Buffer.concat([framedAs(0, Buffer.alloc(0)), framedAs(0, Buffer.alloc(0))]);
      const chunks: Buffer[] = [];
      const path = "/etcdserverpb.Maintenance/Snapshot";
      const ended = await call(server.url, { ":path": path }, twice, "ended", chunks);
      assert.deepEqual(ended, well);
      const blobs: Buffer[] = [];
      const deframer = new Deframer(2 ** 30, "");
      deframer.push(Buffer.concat(chunks), (message) => {
        blobs.push(Buffer.from(snapshotResponse.decode(message).blob));
      });
      const all = Buffer.concat(blobs);
      const hash = createHash("sha256").update(all.subarray(0, -32)).digest();
      assert.ok(hash.equals(all.subarray(-32)), "one snapshot, whole");
    },
  );

  test(`a stream of 3.7 takes one request, and answers once there will be no more: ${name}`, async (t) => {
    if (skip !== false) return t.skip(skip);
    if (name !== "ours" && !isAtLeast(etcdRelease(etcd as string) as EtcdRelease, "3.7")) {
      return t.skip("this etcd is older");
    }
    const { url } = await started(t, start);
    const path = { ":path": "/etcdserverpb.KV/RangeStream" };
    const refused = (what: string): Ended => ({
      http: 200,
      code: "13",
      text: `cardinality violation: ${what} non-client-streaming RPC`,
    });
    const further = refused("received multiple request messages for");
    const twice = Buffer.concat([plain, plain]);
    const chunks: Buffer[] = [];
    assert.deepEqual(await call(url, path, twice, "ended", chunks), further);
    assert.deepEqual(await call(url, path, twice, "open", chunks), further);
    assert.equal(Buffer.concat(chunks).length, 0, "and nothing of the first is answered");
    const none = refused("received no request message from");
    assert.deepEqual(await call(url, path, Buffer.alloc(0)), none);
    const half = { http: 200, code: "13", text: "unexpected EOF" };
    const cut = Buffer.concat([plain, plain.subarray(0, 6)]);
    assert.deepEqual(await call(url, path, cut), half);
    const late = { http: 200, code: "4", text: "context deadline exceeded" };
    const waits = { ...path, "grpc-timeout": "60m" };
    assert.deepEqual(await call(url, waits, plain, "open"), late);
    assert.deepEqual(await call(url, path, framedAs(0, Buffer.alloc(0))), {
      http: 200,
      code: "3",
      text: "etcdserver: key is not provided",
    });
    assert.deepEqual(await call(url, path, plain), well);
  });

  test(`a call whose message never comes ends with its deadline: ${name}`, { skip }, async (t) => {
    const { url } = await started(t, start);
    const late = { http: 200, code: "4", text: "context deadline exceeded" };
    const waits = { "grpc-timeout": "60m" };
    for (const part of [0, 3, plain.length - 1]) {
      const bytes = plain.subarray(0, part);
      assert.deepEqual(await call(url, waits, bytes, "open"), late, `${part} bytes of it`);
    }
    assert.deepEqual(await call(url, waits, plain), well);
  });

  test(`plain HTTP is answered on the client port: ${name}`, { skip }, async (t) => {
    const { url } = await started(t, start);
    const text = "text/plain; charset=utf-8";
    const version = '{"etcdserver":"3.6.5","etcdcluster":"3.6.0","storage":"3.6.0"}';
    const rows = [
      ["GET", "/version", 200, "application/json", version],
      ["GET", "/health", 200, text, '{"health":"true","reason":""}'],
      ["GET", "/livez", 200, text, "ok\n"],
      ["GET", "/livez?verbose", 200, text, "[+]serializable_read ok\nok\n"],
      ["GET", "/readyz/data_corruption?verbose", 200, text, "[+]data_corruption ok\nok\n"],
      ["GET", "/readyz?exclude=nothing", 200, text, "ok\n"],
      ["GET", "/livez/nothing", 404, text, "404 page not found\n"],
      ["GET", "/v2/keys", 404, text, "404 page not found\n"],
      ["POST", "/health", 405, text, "Method Not Allowed\n"],
    ] as const;
    for (const [method, path, status, type, body] of rows) {
      const response = await fetch(url + path, { method });
      assert.equal(response.status, status, path);
      assert.equal(response.headers.get("content-type"), type, path);
      const got = await response.text();
      if (path === "/version") assert.match(got, /^\{"etcdserver":"3\.6\.\d+","etcdcluster":/);
      else assert.equal(got, body, path);
    }
    const metrics = await (await fetch(`${url}/metrics`)).text();
    for (const metric of ["etcd_server_has_leader 1", "etcd_mvcc_db_total_size_in_bytes "]) {
      assert.ok(metrics.includes(`\n${metric}`), metric);
    }
  });

  test(`an alarm is ill health unless it is excluded: ${name}`, { skip }, async (t) => {
    const { url } = await started(t, start);
    const client = new EtcdClient(url);
    t.after(() => client.close());
    const { header } = await client.status();
    const { activate, deactivate } = AlarmAction;
    for (const [alarm, alarmName, ready] of [
      [AlarmType.noSpace, "NOSPACE", 200],
      [AlarmType.corrupt, "CORRUPT", 503],
    ] as const) {
      await client.alarm({ action: activate, memberId: header?.memberId, alarm });
      const ill = await fetch(`${url}/health`);
      assert.equal(ill.status, 503);
      assert.equal(await ill.text(), `{"health":"false","reason":"ALARM ${alarmName}"}\n`);
      assert.equal((await fetch(`${url}/health?exclude=${alarmName}`)).status, 200);
      const readyz = await fetch(`${url}/readyz/data_corruption`);
      assert.equal(readyz.status, ready);
      if (ready === 503) {
        assert.equal(
          await readyz.text(),
          "[-]data_corruption failed: alarm activated: CORRUPT\n\n",
        );
      }
      await client.alarm({ action: deactivate, memberId: header?.memberId, alarm });
    }
    assert.equal((await fetch(`${url}/health`)).status, 200);
  });
}

test("whoever connects and says nothing, or half of it, is closed with the server", async (t) => {
  const server = await startOurs("memory");
  const port = Number(new URL(server.url).port);
  const sockets = ["", "PR", "GET /hea"].map((text) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(text);
    return socket;
  });
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  await fetch(`${server.url}/health`);
  await server.close();
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.on("close", resolve).resume())),
  );
});

async function started(t: TestContext, start: () => Promise<TestServer>): Promise<TestServer> {
  const server = await start();
  t.after(() => server.close());
  return server;
}
