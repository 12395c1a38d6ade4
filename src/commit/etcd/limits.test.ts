/** Every limit, and what is answered at it; alarms over restarts. Codes and texts are etcd's. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { FakeDisk } from "#platform/testing/disk.ts";
import * as m from "#wire/etcd-messages.ts";
import { Code, GrpcError } from "#wire/grpc.ts";
import { EtcdClient } from "./client.ts";
import { startOurs, type OurOptions } from "./testing/servers.ts";

async function begin(
  t: TestContext,
  options: OurOptions = {},
  engine: "memory" | "local" = "memory",
): Promise<EtcdClient> {
  const server = await startOurs(engine, options);
  const client = new EtcdClient(server.url);
  t.after(async () => {
    client.close();
    await server.close();
  });
  return client;
}

function refused(call: Promise<unknown>, code: Code, message: string): Promise<void> {
  return assert.rejects(call, (error) => {
    assert.ok(error instanceof GrpcError);
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  });
}

const mebibyte = 2 ** 20;
const tooLarge = "etcdserver: request is too large";
const full = "etcdserver: mvcc: database space exceeded";

test("a request holds 1.5 MiB, a message 2 MiB", async (t) => {
  const client = await begin(t);
  const put = (bytes: number) => client.put({ key: "k", value: Buffer.alloc(bytes) });
  await put(1.5 * mebibyte - 1);
  await refused(put(1.5 * mebibyte + 1), Code.invalidArgument, tooLarge);
  const halves = [0, 1].map((i) => ({
    put: { key: `h${i}`, value: Buffer.alloc(mebibyte * 0.8) },
  }));
  await refused(client.txn({ success: halves }), Code.invalidArgument, tooLarge);
  await assert.rejects(put(2 * mebibyte), /^GrpcError: grpc: received message larger than max \(/);
  assert.equal((await client.range({ key: "h0" })).count, 0);
});

test("a transaction holds 128 operations and 128 compares a branch", async (t) => {
  const client = await begin(t);
  const ops = (n: number) => Array.from({ length: n }, (_, i) => ({ put: { key: `k${i}` } }));
  const compare = (n: number) => Array.from({ length: n }, () => ({ key: "k" }));
  await client.txn({ compare: compare(128), success: ops(128), failure: ops(128) });
  const text = "etcdserver: too many operations in txn request";
  await refused(client.txn({ success: ops(129) }), Code.invalidArgument, text);
  await refused(client.txn({ failure: ops(129) }), Code.invalidArgument, text);
  await refused(client.txn({ compare: compare(129) }), Code.invalidArgument, text);
});

test("leases over the limit are refused", async (t) => {
  const client = await begin(t, { store: { leasesMax: 2 } });
  await client.grant(60, 1n);
  await client.grant(60, 2n);
  await refused(client.grant(60, 3n), Code.resourceExhausted, "etcdserver: too many requests");
  await client.revoke(1n);
  await client.grant(60, 3n);
});

test("streams over a connection's limit are refused; others go on", async (t) => {
  const client = await begin(t, { server: { streamsPerConnectionMax: 2 } });
  const watches = [client.watch(), client.watch()];
  for (const watch of watches) {
    watch.send({ create: { key: "k" } });
    assert.equal((await watch.next())?.created, true);
  }
  // node's client keeps the calls beyond the limit to itself until there is room, as HTTP/2 says.
  const waiting = client.put({ key: "k" });
  watches[1]?.close();
  await waiting;
  assert.equal((await watches[0]?.next())?.events.length, 1);
  watches[0]?.close();
});

test("a connection over the limit is closed; one that ends makes room", async (t) => {
  const server = await startOurs("memory", { server: { connectionsMax: 1 } });
  t.after(() => server.close());
  const port = Number(new URL(server.url).port);
  const first = new EtcdClient(server.url);
  await first.put({ key: "k" });
  const second = connect(port, "127.0.0.1");
  await new Promise((resolve) => second.on("close", resolve).on("error", () => undefined));
  await first.put({ key: "k" });
  first.close();
  for (let answered = false; !answered;) {
    const third = new EtcdClient(server.url);
    answered = await third.put({ key: "k" }).then(
      () => true,
      () => false,
    );
    third.close();
  }
});

test("NOSPACE is remembered over restarts and power cuts until it is disarmed", async (t) => {
  let disk = new FakeDisk(1);
  const start = () =>
    startOurs("local", {
      disk,
      directory: "/data",
      quotaBytes: 30_000,
      store: { segmentBytes: 65_536, freeBytesMin: 0 },
    });
  let server = await start();
  let client = new EtcdClient(server.url);
  const cut = async (): Promise<void> => {
    disk = disk.survivor();
    client.close();
    await server.kill?.();
    server = await start();
    client = new EtcdClient(server.url);
  };
  t.after(async () => {
    client.close();
    await server.close();
  });
  for (const i of [0, 1]) await client.put({ key: `k${i}`, value: Buffer.alloc(14_000) });
  await refused(
    client.put({ key: "k2", value: Buffer.alloc(14_000) }),
    Code.resourceExhausted,
    full,
  );
  const list = async () => (await client.alarm({ action: m.AlarmAction.get })).alarms;
  const { header } = await client.status();
  // The refused put's alarm is written behind its answer: an RPC about alarms waits for it.
  assert.deepEqual(await list(), [{ memberId: header?.memberId, alarm: m.AlarmType.noSpace }]);
  await cut();
  assert.equal((await list()).length, 1);
  await refused(client.put({ key: "tiny" }), Code.resourceExhausted, full);
  await refused(client.grant(60), Code.resourceExhausted, full);
  const deleted = await client.deleteRange({ key: "k", rangeEnd: "l" });
  await client.compact(deleted.header?.revision ?? 0);
  await refused(client.put({ key: "tiny" }), Code.resourceExhausted, full);
  await client.alarm({ action: m.AlarmAction.deactivate, memberId: header?.memberId, alarm: 1 });
  await cut();
  assert.deepEqual(await list(), []);
  await client.put({ key: "tiny" });
});

test("CORRUPT refuses every write until it is disarmed; reads go on", async (t) => {
  const client = await begin(t);
  await client.put({ key: "k" });
  const { header } = await client.status();
  const alarm = { memberId: header?.memberId, alarm: m.AlarmType.corrupt };
  await client.alarm({ ...alarm, action: m.AlarmAction.activate });
  const corrupt = "etcdserver: corrupt cluster";
  for (const write of [
    client.put({ key: "k" }),
    client.deleteRange({ key: "k" }),
    client.txn({ success: [{ deleteRange: { key: "k" } }] }),
    client.compact(2),
    client.grant(60),
    client.revoke(1n),
  ]) {
    await refused(write, Code.dataLoss, corrupt);
  }
  assert.equal((await client.range({ key: "k" })).count, 1);
  await client.alarm({ ...alarm, action: m.AlarmAction.deactivate });
  await client.put({ key: "k" });
});

test("RangeStream's chunks are Range's answer, with every option it takes; it is not sorted or filtered", async (t) => {
  const client = await begin(t, { rangeChunkBytes: 500 });
  for (let i = 0; i < 30; i++) {
    await client.put({ key: `k${i % 25}`, value: Buffer.alloc(200, 97 + (i % 7)) });
  }
  const all = { key: "k", rangeEnd: "l" };
  for (const options of [
    {},
    { limit: 7 },
    { keysOnly: true },
    { countOnly: true },
    { revision: 9 },
    { key: "none" },
    { serializable: true },
    { sortOrder: m.SortOrder.ascend },
    { limit: -1 },
    { revision: -1 },
  ]) {
    const request = { ...all, ...options };
    const stream = client.stream(
      "/etcdserverpb.KV/RangeStream",
      m.rangeRequest,
      m.rangeStreamResponse,
    );
    stream.send(request);
    stream.end();
    const chunks: m.RangeResponse[] = [];
    for (let one = await stream.next(); one !== undefined; one = await stream.next()) {
      if (one.rangeResponse !== undefined) chunks.push(one.rangeResponse);
    }
    const whole = await client.range(request);
    const joined = { ...chunks.at(-1), kvs: chunks.flatMap(({ kvs }) => kvs) };
    assert.deepEqual(joined, whole, JSON.stringify(options));
    assert.equal(stream.error, undefined);
  }
  // Texts as etcd 3.7.3 has them; Range itself sorts by a target without an order.
  const sorted = "RangeStream does not support custom sort orders";
  const filtered = "RangeStream does not support revision filters";
  const byVersion = { sortTarget: m.SortTarget.version };
  for (const [options, message] of [
    [{ sortOrder: m.SortOrder.descend }, sorted],
    [{ sortOrder: m.SortOrder.ascend, ...byVersion }, sorted],
    [{ minModRevision: 12 }, filtered],
    [{ maxCreateRevision: 12 }, filtered],
    [byVersion, undefined],
  ] as const) {
    const path = "/etcdserverpb.KV/RangeStream";
    const stream = client.stream(path, m.rangeRequest, m.rangeStreamResponse);
    stream.send({ ...all, ...options });
    stream.end();
    while ((await stream.next()) !== undefined);
    assert.equal(stream.error?.message, message, JSON.stringify(options));
    if (message !== undefined) assert.equal(stream.error?.code, Code.unimplemented);
  }
  const future = client.stream("/etcdserverpb.KV/RangeStream", m.rangeRequest, m.empty);
  future.send({ ...all, revision: 1000 });
  future.end();
  assert.equal(await future.next(), undefined);
  assert.deepEqual(
    [future.error?.code, future.error?.message],
    [Code.outOfRange, "etcdserver: mvcc: required revision is a future revision"],
  );
});
