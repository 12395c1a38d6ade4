/** Several replicas behind etcd's API, over one log: what clients see at any of them, and when the holder goes. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GrpcError } from "#wire/grpc.ts";
import type * as m from "#wire/etcd-messages.ts";
import { headerResponse, moveLeaderRequest } from "#wire/etcd-messages.ts";
import type { EtcdClient } from "./client.ts";
import { replicaPrefix } from "./holder-link.ts";
import { SharedLog, startReplica, type TestReplica } from "./testing/replicas.ts";

const encoder = new TextEncoder();
const waitMsMax = 20_000;
const started: TestReplica[] = [];

after(() => Promise.all(started.map((one) => one.kill())));

async function start(count: number, log = new SharedLog()): Promise<TestReplica[]> {
  const replicas: TestReplica[] = [];
  for (let i = 0; i < count; i++) replicas.push(await startReplica(log));
  started.push(...replicas);
  await until(
    "all know who holds the log",
    () =>
      replicas.every(({ role }) => role.holder !== "") && replicas.some((one) => one.role.isOwner),
  );
  return replicas;
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + waitMsMax;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function split(replicas: readonly TestReplica[]): { owner: TestReplica; others: TestReplica[] } {
  const owner = replicas.find(({ role }) => role.isOwner) as TestReplica;
  return { owner, others: replicas.filter((one) => one !== owner) };
}

function put(client: EtcdClient, key: string, value: string): Promise<{ revision: number }> {
  return client
    .put({ key, value: encoder.encode(value) })
    .then(({ header }) => ({ revision: header?.revision ?? 0 }));
}

async function get(client: EtcdClient, key: string): Promise<string | undefined> {
  const { kvs } = await client.range({ key });
  const [kv] = kvs;
  return kv === undefined ? undefined : Buffer.from(kv.value).toString();
}

/** Again and again, as clients do, until it is answered. */
async function putAtLast(client: EtcdClient, key: string, value: string): Promise<void> {
  const deadline = performance.now() + waitMsMax;
  for (;;) {
    try {
      return void (await put(client, key, value));
    } catch (error) {
      assert.ok(error instanceof GrpcError && performance.now() < deadline, String(error));
    }
  }
}

/** All events of a watch, as `revision key`. */
function watchAll(client: EtcdClient): { readonly lines: string[] } {
  const lines: string[] = [];
  const watch = client.watch();
  watch.send({ create: { key: "\0", rangeEnd: "\0", startRevision: 1 } });
  void (async () => {
    for (let answer = await watch.next(); answer !== undefined; answer = await watch.next()) {
      for (const { kv } of answer.events) lines.push(`${kv?.modRevision} ${kv?.key}`);
    }
  })();
  return { lines };
}

void test("a write through any replica is read at once at every other", async () => {
  const replicas = await start(3);
  for (const writer of replicas) {
    const { revision } = await put(writer.client, "a", writer.url);
    for (const reader of replicas) {
      assert.equal(await get(reader.client, "a"), writer.url);
      assert.ok(reader.replica.commitRevision >= revision);
    }
  }
});

void test("the holder is killed: writes go on at the others, and their watches have every revision once", async () => {
  const replicas = await start(3);
  const { owner, others } = split(replicas);
  const watches = others.map(({ client }) => watchAll(client));
  for (let i = 0; i < 20; i++) await put((others[i % 2] as TestReplica).client, `k${i}`, "before");
  await owner.kill();
  for (let i = 20; i < 40; i++) {
    await putAtLast((others[i % 2] as TestReplica).client, `k${i}`, "after");
  }
  const last = Math.max(...others.map(({ replica }) => replica.commitRevision));
  // The store's first revision is its empty state.
  const wanted = Array.from({ length: last - 1 }, (_, i) => i + 2);
  for (const { lines } of watches) {
    await until("the watch has all", () => lines.length >= wanted.length);
    assert.deepEqual(
      lines.map((line) => Number(line.split(" ")[0])),
      wanted,
    );
  }
  for (let i = 0; i < 40; i++) {
    assert.equal(
      await get((others[0] as TestReplica).client, `k${i}`),
      i < 20 ? "before" : "after",
    );
  }
});

void test("a holder that was paused while another took over lands nothing and tells nothing old", async () => {
  const replicas = await start(2);
  const { owner, others } = split(replicas);
  const [next] = others as [TestReplica];
  await put(owner.client, "a", "old");
  owner.cut.isCut = true;
  const landed = put(owner.client, "b", "of the paused one").then(
    () => "answered",
    (error: Error) => error.message,
  );
  const compared = owner.client
    .txn({ compare: [valueIs("a", "old")], success: [], failure: [] })
    .then(
      ({ succeeded }) => `answered ${succeeded}`,
      (error: Error) => error.message,
    );
  assert.ok(await next.replica.takeOver(next.replica.holder));
  await put(next.client, "a", "new");
  owner.cut.isCut = false;
  assert.match(await landed, /^etcdserver: /);
  assert.match(await compared, /^etcdserver: /);
  assert.equal(await get(next.client, "b"), undefined);
  assert.equal((await owner.replica.failed).name, "FencedError");
  await assert.rejects(get(owner.client, "a"), /etcdserver: /);
});

function valueIs(key: string, value: string): Partial<m.Compare> & { readonly key: string } {
  return { key, target: 3, result: 0, value: encoder.encode(value) };
}

void test("leases live at the holder, wherever they are kept alive, and outlive it", async () => {
  const replicas = await start(3);
  const { owner, others } = split(replicas);
  const [one, two] = others as [TestReplica, TestReplica];
  const { id } = await one.client.grant(60);
  await one.client.put({ key: "leased", value: encoder.encode("x"), lease: id });
  assert.deepEqual((await two.client.timeToLive(id, true)).keys, ["leased"]);
  const alive = two.client.keepAlive();
  alive.send({ id });
  assert.equal((await alive.next())?.ttl, 60);
  await owner.kill();
  await until("another holds the log", () => others.some(({ role }) => role.isOwner));
  alive.send({ id });
  assert.equal((await alive.next())?.ttl, 60);
  await one.client.revoke(id);
  assert.equal(await get(two.client, "leased"), undefined);
});

void test("a replica's own way to the holder is no way around: a follower refuses it", async () => {
  const replicas = await start(2);
  const { others } = split(replicas);
  const [follower] = others as [TestReplica];
  for (const path of ["/Hold", "/etcdserverpb.KV/Put", "/etcdserverpb.Lease/LeaseKeepAlive"]) {
    await assert.rejects(
      follower.client.forward(`${replicaPrefix}${path}`, Buffer.alloc(5)),
      /etcdserver: no leader/,
    );
  }
});

void test("a follower that cannot read the log is not ready, and says so, until it can", async () => {
  const replicas = await start(2);
  const { others } = split(replicas);
  const [follower] = others as [TestReplica];
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`${follower.url}${path}`)).status;
  const becomes = async (wanted: number): Promise<void> => {
    const deadline = performance.now() + waitMsMax;
    for (const path of ["/readyz", "/health"]) {
      while ((await statusOf(path)) !== wanted) {
        assert.ok(performance.now() < deadline, `${path} is never ${wanted}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  await becomes(200);
  follower.cut.isCut = true;
  await becomes(503);
  assert.equal(await statusOf("/livez"), 200);
  assert.equal(await statusOf("/health?serializable=true"), 200);
  assert.match(
    await (await fetch(`${follower.url}/health`)).text(),
    /RANGE ERROR:the log was last/,
  );
  follower.cut.isCut = false;
  await becomes(200);
});

function moveLeader(client: EtcdClient, targetId: bigint): Promise<unknown> {
  const path = "/etcdserverpb.Maintenance/MoveLeader";
  return client.call(path, moveLeaderRequest, headerResponse, { targetId });
}

async function memberOf({ client }: TestReplica): Promise<bigint> {
  return (await client.status()).header?.memberId ?? 0n;
}

void test("MoveLeader gives the log to the replica it names, writes go on, and the former holder retires", async () => {
  const replicas = await start(3);
  const { owner, others } = split(replicas);
  const [next, third] = others as [TestReplica, TestReplica];
  await put(owner.client, "a", "1");
  const running = new AbortController();
  const acknowledged: number[] = [];
  const writing = (async () => {
    for (let i = 0; !running.signal.aborted; i++) {
      await put(third.client, "b", `${i}`).then(
        ({ revision }) => acknowledged.push(revision),
        () => undefined,
      );
    }
  })();
  await moveLeader(owner.client, await memberOf(next));
  assert.ok(next.role.isOwner);
  assert.equal((await owner.role.failed).name, "FencedError");
  await owner.kill();
  const before = acknowledged.length;
  await until("writes go on", () => acknowledged.length > before + 5);
  running.abort();
  await writing;
  assert.deepEqual(
    acknowledged,
    [...new Set(acknowledged)].toSorted((x, y) => x - y),
  );
  assert.equal(await get(third.client, "a"), "1");
});

void test("MoveLeader is refused as etcd refuses it: at a follower, and to a stranger", async () => {
  const replicas = await start(2);
  const { owner, others } = split(replicas);
  const [follower] = others as [TestReplica];
  await assert.rejects(
    moveLeader(follower.client, await memberOf(follower)),
    /etcdserver: not leader/,
  );
  await assert.rejects(moveLeader(owner.client, 5n), /etcdserver: bad leader transferee/);
  await moveLeader(owner.client, await memberOf(owner));
  const toNobody = owner.client.forward(`${replicaPrefix}/Yield`, withRoom("http://127.0.0.1:1"));
  await assert.rejects(toNobody, /bad leader transferee/);
  await assert.rejects(
    follower.client.forward(`${replicaPrefix}/Yield`, withRoom(follower.url)),
    /no leader/,
  );
  assert.ok(owner.role.isOwner);
});

function withRoom(text: string): Buffer {
  return Buffer.concat([Buffer.alloc(5), Buffer.from(text)]);
}

void test("a replica that prefers to hold the log takes it once it is there, and two of them do not take turns", async () => {
  const log = new SharedLog();
  const [first] = (await start(1, log)) as [TestReplica];
  await put(first.client, "a", "1");
  const preferring = await startReplica(log, true);
  started.push(preferring);
  await until("it holds the log", () => preferring.role.isOwner);
  assert.equal((await first.role.failed).name, "FencedError");
  await first.kill();
  const rival = await startReplica(log, true);
  started.push(rival);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.deepEqual([preferring.role.isOwner, rival.role.isOwner], [true, false]);
  assert.equal(await get(rival.client, "a"), "1");
  await preferring.kill();
  await putAtLast(rival.client, "a", "2");
});
