/** The server under clients that are slow, many, greedy or broken. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import type { Input } from "#wire/etcd-codec.ts";
import { Code, framed, prefixBytes } from "#wire/grpc.ts";
import * as m from "#wire/etcd-messages.ts";
import { EtcdClient, type EtcdStream } from "./client.ts";
import { startOurs, type TestServer } from "./testing/servers.ts";

async function start(
  t: TestContext,
  options: Parameters<typeof startOurs>[1] = {},
): Promise<{ readonly server: TestServer; readonly client: EtcdClient }> {
  const server = await startOurs("memory", options);
  const client = new EtcdClient(server.url);
  t.after(async () => {
    client.close();
    await server.close();
  });
  return { server, client };
}

test("a watch that is not read costs its backlog, holds nobody up, and misses nothing", async (t) => {
  const { server, client } = await start(t, { streamBacklogBytes: 100_000 });
  const slow = new EtcdClient(server.url);
  t.after(() => slow.close());
  const watch = slow.watch();
  watch.send({ create: { key: "k", rangeEnd: "l" } });
  assert.equal((await watch.next())?.created, true);
  watch.pause();
  const value = Buffer.alloc(100_000);
  const puts = 300;
  for (let i = 0; i < puts; i++) await client.put({ key: `k${i}`, value });
  assert.equal(server.store?.stats().watches.behind, 1);
  watch.resume();
  const seen: string[] = [];
  while (seen.length < puts) {
    for (const { kv } of (await watch.next())?.events ?? []) seen.push(kv?.key ?? "");
  }
  assert.deepEqual(
    seen,
    Array.from({ length: puts }, (_, i) => `k${i}`),
  );
});

test("a watch over the limit is canceled with the reason, others live on", async (t) => {
  const { client } = await start(t, { watchesMax: 2 });
  const watch = client.watch();
  for (const canceled of [false, false, true]) {
    watch.send({ create: { key: "a" } });
    const response = await watch.next();
    assert.equal(response?.canceled, canceled);
    assert.equal(
      response?.cancelReason,
      canceled ? "etcdserver: too many watchers: at most 2" : "",
    );
  }
  watch.send({ cancel: { watchId: 0 } });
  assert.equal((await watch.next())?.canceled, true);
  watch.send({ create: { key: "a" } });
  assert.equal((await watch.next())?.canceled, false);
  watch.close();
});

test("watches of a client that went away are given back", async (t) => {
  const { server, client } = await start(t, { watchesMax: 1 });
  const gone = new EtcdClient(server.url);
  const watch = gone.watch();
  watch.send({ create: { key: "a" } });
  assert.equal((await watch.next())?.canceled, false);
  gone.close();
  for (;;) {
    const again = client.watch();
    again.send({ create: { key: "a" } });
    const { canceled } = (await again.next()) ?? {};
    again.close();
    if (canceled === false) break;
  }
});

test("a full database answers NOSPACE until room was made and the alarm disarmed", async (t) => {
  const { client } = await start(t, { quotaBytes: 100_000 });
  const value = Buffer.alloc(20_000);
  const full = /code|database space exceeded/;
  const fill = async (): Promise<void> => {
    for (let i = 0; ; i++) await client.put({ key: `k${i}`, value });
  };
  await assert.rejects(fill(), full);
  await assert.rejects(client.put({ key: "tiny" }), full);
  const { header, errors } = await client.status();
  assert.match(errors[0] ?? "", /alarm:NOSPACE/);
  const deleted = await client.deleteRange({ key: "k", rangeEnd: "l" });
  await client.compact(deleted.header?.revision ?? 0);
  await assert.rejects(client.put({ key: "tiny" }), full);
  await client.alarm({ action: m.AlarmAction.deactivate, memberId: header?.memberId, alarm: 1 });
  await client.put({ key: "k0", value });
});

test("RangeStream's chunks add up to Range's answer", async (t) => {
  const { client } = await start(t, { rangeChunkBytes: 1000 });
  for (let i = 0; i < 20; i++) await client.put({ key: `k${i}`, value: Buffer.alloc(300) });
  const stream = rangeStream(client, { key: "k", rangeEnd: "l", limit: 15 });
  const chunks: m.RangeResponse[] = [];
  for (let one = await stream.next(); one !== undefined; one = await stream.next()) {
    if (one.rangeResponse !== undefined) chunks.push(one.rangeResponse);
  }
  const whole = await client.range({ key: "k", rangeEnd: "l", limit: 15 });
  assert.ok(chunks.length > 3);
  assert.deepEqual(
    chunks.flatMap(({ kvs }) => kvs),
    whole.kvs,
  );
  const last = chunks.at(-1);
  assert.deepEqual({ ...last, kvs: [] }, { ...whole, kvs: [] });
});

test("RangeStream reads one revision to the end, whatever is written or left out meanwhile", async (t) => {
  const { client } = await start(t, { rangeChunkBytes: 100_000 });
  for (let i = 10; i < 90; i++) await client.put({ key: `k${i}`, value: Buffer.alloc(100_000) });
  const stream = rangeStream(client, { key: "k", rangeEnd: "l", limit: 70 });
  const first = await stream.next();
  await client.deleteRange({ key: "k", rangeEnd: "l" });
  const chunks = [first];
  for (let one = await stream.next(); one !== undefined; one = await stream.next())
    chunks.push(one);
  const { header, kvs, more, count } = Object.assign(
    {},
    ...chunks.map((chunk) => chunk?.rangeResponse),
    { kvs: chunks.flatMap((chunk) => chunk?.rangeResponse?.kvs ?? []) },
  ) as m.RangeResponse;
  assert.deepEqual([kvs.length, more, count, header?.revision], [70, true, 80, 81]);
});

test("RangeStream ends with etcd's error when its revision is compacted under it", async (t) => {
  const { client } = await start(t, { rangeChunkBytes: 100_000 });
  // More than the sockets and windows on the way hold.
  for (let i = 10; i < 60; i++) await client.put({ key: `k${i}`, value: Buffer.alloc(1_000_000) });
  const stream = rangeStream(client, { key: "k", rangeEnd: "l" });
  await stream.next();
  stream.pause();
  const { header } = await client.put({ key: "k10" });
  await client.compact(header?.revision ?? 0);
  stream.resume();
  while ((await stream.next()) !== undefined);
  assert.match(stream.error?.message ?? "", /required revision has been compacted/);
});

test("RangeStream refuses to sort and to filter, as etcd does", async (t) => {
  const { client } = await start(t);
  for (const request of [
    { sortOrder: m.SortOrder.descend },
    { sortOrder: m.SortOrder.ascend, sortTarget: m.SortTarget.mod },
    { minModRevision: 2 },
  ]) {
    const stream = rangeStream(client, { key: "k", ...request });
    assert.equal(await stream.next(), undefined);
    assert.equal(stream.error?.code, Code.unimplemented);
  }
});

test("what is not known here is answered in grpc-go's words", async (t) => {
  const { client } = await start(t);
  const call = (path: string): Promise<unknown> => client.call(path, m.empty, m.empty, {});
  await assert.rejects(call("/v3lockpb.Lock/Lock"), /^GrpcError: unknown service v3lockpb.Lock$/);
  await assert.rejects(
    call("/etcdserverpb.KV/Nothing"),
    /unknown method Nothing for service etcdserverpb.KV/,
  );
  await assert.rejects(call("/etcdserverpb.Auth/Authenticate"), /authentication is not enabled/);
});

test("a peer that does not speak HTTP/2 is told and let go", async (t) => {
  const { server, client } = await start(t);
  const port = Number(new URL(server.url).port);
  for (const bytes of [
    Buffer.concat([preface, frame(1, 4, 2, Buffer.from([0x82]))]),
    Buffer.concat([preface, frame(1, 4, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff]))]),
    Buffer.concat([preface, frame(0, 0, 3, Buffer.alloc(4))]),
    Buffer.concat([preface, frame(8, 0, 0, Buffer.alloc(4))]),
    Buffer.concat([preface, frame(1, 0, 1, Buffer.from([0x82])), frame(0, 0, 1, Buffer.alloc(1))]),
    Buffer.concat([preface, Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])]),
  ]) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(bytes);
    const answer: Buffer[] = [];
    for await (const chunk of socket) answer.push(chunk as Buffer);
    assert.equal(lastFrameType(Buffer.concat(answer)), goaway);
  }
  await client.put({ key: "still serving" });
});

test("padding, priority, continuations and messages in pieces are all the same call", async (t) => {
  const { server } = await start(t);
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  const message = framed(m.putRequest.encode({ key: "k", value: Buffer.from("v") }, prefixBytes));
  const padded = Buffer.concat([
    Buffer.from([2, 0, 0, 0, 0, 16]),
    block.subarray(0, 3),
    Buffer.alloc(2),
  ]);
  socket.write(
    Buffer.concat([preface, frame(1, 8 | 32, 1, padded), frame(9, 0, 1, block.subarray(3, 9))]),
  );
  socket.write(frame(9, 4, 1, block.subarray(9)));
  socket.write(
    frame(0, 8, 1, Buffer.concat([Buffer.from([1]), message.subarray(0, 4), Buffer.alloc(1)])),
  );
  socket.write(frame(0, 1, 1, message.subarray(4)));
  for await (const chunk of socket) if ((chunk as Buffer).includes("grpc-status\x010")) break;
  assert.equal(server.store?.get("k" as never).kind, "found");
});

const goaway = 7;
const preface = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(4, 0, 0, Buffer.alloc(0)),
]);
const block = Buffer.concat([
  Buffer.from([0x83, 0x86, 0x04, 20]),
  Buffer.from("/etcdserverpb.KV/Put"),
  Buffer.from([0x0f, 0x10, 16]),
  Buffer.from("application/grpc"),
]);

function rangeStream(
  client: EtcdClient,
  request: Input<m.RangeRequest>,
): EtcdStream<m.RangeRequest, m.Of<typeof m.rangeStreamResponse>> {
  const path = "/etcdserverpb.KV/RangeStream";
  const stream = client.stream(path, m.rangeRequest, m.rangeStreamResponse);
  stream.send(request);
  stream.end();
  return stream;
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function lastFrameType(bytes: Buffer): number | undefined {
  let type: number | undefined;
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) type = bytes[at + 3];
  return type;
}
