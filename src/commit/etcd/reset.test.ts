/**
 * Calls that their client resets in the middle leave nothing behind: no stream, no watch, no keep-alive,
 * by the server's own counters and limits. Metadata that is too large is refused for its whole connection.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { test, type TestContext } from "node:test";
import type { Input, Message } from "#wire/etcd-codec.ts";
import * as m from "#wire/etcd-messages.ts";
import { framed, prefixBytes } from "#wire/grpc.ts";
import { EtcdClient } from "./client.ts";
import { startOurs, type TestServer } from "./testing/servers.ts";

/** Resets that a connection of so few streams must survive. */
const rounds = 50;
const streamsMax = 2;

interface Running {
  readonly server: TestServer;
  readonly session: ClientHttp2Session;
}

async function start(t: TestContext): Promise<Running> {
  const server = await startOurs("memory", {
    watchesMax: 1,
    server: { streamsPerConnectionMax: streamsMax },
  });
  const session = connect(server.url);
  session.on("error", () => undefined);
  t.after(async () => {
    session.destroy();
    await server.close();
  });
  return { server, session };
}

function open(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const head = { ":method": "POST", ":path": path, "content-type": "application/grpc" };
  const stream = session.request(head);
  stream.on("error", () => undefined);
  return stream;
}

function write<Q>(stream: ClientHttp2Stream, message: Message<Q>, value: Input<Q>): void {
  stream.write(framed(message.encode(value, prefixBytes)));
}

/** In order: later frames on the connection are seen after it. */
function reset(stream: ClientHttp2Stream): void {
  stream.close(constants.NGHTTP2_CANCEL);
  stream.resume();
}

/** A whole call on the same connection, which needs a free stream. @returns its gRPC status. */
async function answered(session: ClientHttp2Session): Promise<unknown> {
  const stream = open(session, "/etcdserverpb.KV/Range");
  let status: unknown;
  stream.on("trailers", (trailers) => (status = trailers["grpc-status"]));
  stream.end(framed(m.rangeRequest.encode({ key: "k" }, prefixBytes)));
  stream.resume();
  await once(stream, "close");
  return status;
}

const put = { key: "k", value: Buffer.alloc(1000, "v") };

test("a call reset before its message, in the middle of it, or right after it is forgotten", async (t) => {
  const { session, server } = await start(t);
  const message = framed(m.putRequest.encode(put, prefixBytes));
  for (const sent of [0, 3, 500, message.length]) {
    for (let i = 0; i < rounds; i++) {
      const stream = open(session, "/etcdserverpb.KV/Put");
      if (stream.pending) await once(stream, "ready");
      if (sent > 0)
        await new Promise((written) => stream.write(message.subarray(0, sent), written));
      reset(stream);
    }
    assert.equal(await answered(session), "0", `${sent} bytes`);
  }
  // A put whose message was not whole was never made; one that was may have been, once each.
  const revision = server.store?.commitRevision ?? 0;
  assert.ok(revision <= 1 + rounds, `${revision}`);
});

test("an answer that its client no longer wants is dropped with its stream", async (t) => {
  const { session, server } = await start(t);
  const client = new EtcdClient(server.url);
  t.after(() => client.close());
  for (let i = 0; i < 20; i++) {
    await client.put({ key: `k${i}`, value: Buffer.alloc(200_000, "v") });
  }
  for (const path of ["/etcdserverpb.KV/Range", "/etcdserverpb.KV/RangeStream"]) {
    for (let i = 0; i < rounds / 5; i++) {
      const stream = open(session, path);
      write(stream, m.rangeRequest, { key: "k", rangeEnd: "l" });
      stream.end();
      await once(stream, "response");
      reset(stream);
    }
    assert.equal(await answered(session), "0", path);
  }
});

test("a watch reset at any moment is not watched any more", async (t) => {
  const { session, server } = await start(t);
  const client = new EtcdClient(server.url);
  t.after(() => client.close());
  for (let i = 0; i < rounds; i++) {
    const stream = open(session, "/etcdserverpb.Watch/Watch");
    if (i % 3 > 0) write(stream, m.watchRequest, { create: { key: "k", startRevision: 1 } });
    if (i % 3 > 1) {
      // Created, and then in the middle of events.
      await once(stream, "data");
      await client.put(put);
    }
    reset(stream);
    assert.equal(await answered(session), "0");
    // A request sent after the reset on that connection has been answered, so the reset was seen.
    assert.equal(server.store?.stats().watches.watches, 0, `round ${i}`);
  }
  // Only one is allowed, so every one before was given back.
  const watch = client.watch();
  watch.send({ create: { key: "k" } });
  assert.equal((await watch.next())?.canceled, false);
  watch.close();
});

test("a keep-alive and a snapshot reset in the middle give back their streams", async (t) => {
  const { session, server } = await start(t);
  const client = new EtcdClient(server.url);
  t.after(() => client.close());
  for (let i = 0; i < 40; i++) {
    await client.put({ key: `k${i}`, value: Buffer.alloc(200_000, "v") });
  }
  await client.grant(600, 7n);
  for (let i = 0; i < rounds / 5; i++) {
    const alive = open(session, "/etcdserverpb.Lease/LeaseKeepAlive");
    write(alive, m.leaseKeepAliveRequest, { id: 7n });
    await once(alive, "data");
    reset(alive);
    const snapshot = open(session, "/etcdserverpb.Maintenance/Snapshot");
    snapshot.end(framed(m.empty.encode({}, prefixBytes)));
    await once(snapshot, "data");
    reset(snapshot);
    assert.equal(await answered(session), "0");
  }
  // A snapshot pins its revision: left behind, it would hold compaction up for ever.
  const { header } = await client.deleteRange({ key: "k", rangeEnd: "l" });
  await client.compact(header?.revision ?? 0);
  while ((server.store?.stats().bytes ?? 0) > 1_000_000) await new Promise(setImmediate);
});

test("metadata up to the limit is taken; beyond it the connection is refused, and only it", async (t) => {
  const { server } = await start(t);
  const status = async (metadata: Record<string, string>): Promise<unknown> => {
    // The client has a limit of its own, which is ours by default.
    const session = connect(server.url, { maxSendHeaderBlockLength: 2 ** 20 });
    let goaway: number | undefined;
    session.on("goaway", (code) => (goaway = code));
    session.on("error", () => undefined);
    t.after(() => session.destroy());
    const path = "/etcdserverpb.KV/Range";
    const head = { ":method": "POST", ":path": path, "content-type": "application/grpc" };
    const stream = session.request({ ...head, ...metadata });
    stream.on("error", () => undefined);
    let code: unknown;
    stream.on("trailers", (trailers) => (code = trailers["grpc-status"]));
    stream.end(framed(m.rangeRequest.encode({ key: "k" }, prefixBytes)));
    stream.resume();
    await new Promise((closed) => stream.on("close", closed));
    return code ?? goaway;
  };
  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "~".repeat(1000)]));
  assert.equal(await status({ authorization: "~".repeat(15_000) }), "0");
  assert.equal(await status(many(30)), "0");
  assert.equal(
    await status({ authorization: "~".repeat(17_000) }),
    constants.NGHTTP2_COMPRESSION_ERROR,
  );
  assert.equal(await status(many(70)), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.equal(await status({}), "0");
});
