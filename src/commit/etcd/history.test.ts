/**
 * The bugs of etcd's own history, by their numbers in its tracker: the track record of its robustness
 * tests (two of them in history-snapshots.test.ts), and three more of the same kind. Each test fails
 * on a store that has the bug. Bugs that depended on Raft, members or bbolt are tested in the form in
 * which one store over a log could have them. README.md has the table. Bugs 15220, 17507, 19179 and
 * 20221 are also cases of suite.test.ts, where a real etcd answers too.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import * as m from "#wire/etcd-messages.ts";
import { EtcdClient } from "./client.ts";
import { type Life, Lives } from "./testing/lives.ts";
import { startOurs, type OurOptions } from "./testing/servers.ts";
import { must } from "#base/assert.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const all = { key: "\0", rangeEnd: "\0" };
const compactedText = /required revision has been compacted/;

async function begin(t: TestContext, options: OurOptions = {}): Promise<Life> {
  const server = await startOurs("memory", options);
  const client = new EtcdClient(server.url);
  t.after(async () => {
    client.close();
    await server.close();
  });
  return { server, client };
}

async function revisionOf(client: EtcdClient): Promise<number> {
  const { header } = await client.range({ ...all, countOnly: true });
  return header?.revision ?? 0;
}

/** The revision of each answered put. */
async function putMany(client: EtcdClient, writer: number, count: number): Promise<number> {
  let last = 0;
  for (let i = 0; i < count; i++) {
    const { header } = await client.put({ key: `k${writer}`, value: Buffer.from(String(i)) });
    last = header?.revision ?? 0;
  }
  return last;
}

type Told = { readonly revision: number; readonly what: string };

/** Events until `revision`, one line each. */
async function follow(client: EtcdClient, from: number, until: number): Promise<Told[]> {
  const watch = client.watch();
  watch.send({ create: { ...all, startRevision: from } });
  const told: Told[] = [];
  while ((told.at(-1)?.revision ?? 0) < until) {
    const response = must(await watch.next(), "the watch ended");
    assert.equal(response.canceled, false, `canceled at ${response.compactRevision}`);
    told.push(...response.events.map(toldOf));
  }
  watch.close();
  return told;
}

function toldOf({ type, kv }: m.WatchResponse["events"][number]): Told {
  const { modRevision: revision = 0, key = "", value = new Uint8Array(0) } = kv ?? {};
  const is = type === m.EventType.put ? `=${Buffer.from(value).toString()}` : " deleted";
  return { revision, what: `${key}${is}` };
}

/** Each revision once, in order, none missing: all commits here change one key. */
function assertDense(told: readonly Told[], from: number): void {
  assert.deepEqual(
    told.map(({ revision }) => revision),
    told.map((_, i) => from + i),
  );
}

test(`13766: a crash under load leaves revision and state in step (seed ${seed})`, async (t) => {
  for (let round = 0; round < 3; round++) {
    const lives = new Lives(t, seed * 100 + round);
    const client = await lives.begin();
    lives.disk.crashAfter(150 + 40 * round);
    const acknowledged = new Map<number, number>();
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let i = 0; ; i++) {
        const value = Buffer.from(String(i));
        await client.put({ key: `k${writer}`, value });
        acknowledged.set(writer, i);
      }
    });
    // A writer that loses the connection during the power cut is noticed at once.
    const ended = Promise.allSettled(writers);
    await lives.disk.crashed;
    const after = await lives.cut();
    await ended;
    const { kvs, header } = await after.range(all);
    // Applied twice, or skipped, and the versions would not add up to the revisions.
    const versions = kvs.reduce((sum, kv) => sum + kv.version, 0);
    assert.equal(header?.revision, 1 + versions);
    for (const [writer, i] of acknowledged) {
      const kv = must(
        kvs.find(({ key }) => key === `k${writer}`),
        "an acknowledged key is lost",
      );
      assert.ok(kv.version > i, `k${writer}: version ${kv.version} after ${i + 1} answered puts`);
      assert.equal(Buffer.from(kv.value).toString(), String(kv.version - 1));
    }
    await lives.end();
  }
});

test("14370: an answered write is there after a power cut in the same instant", async (t) => {
  const lives = new Lives(t, seed);
  let client = await lives.begin();
  for (let i = 0; i < 8; i++) {
    const { header } = await client.put({ key: "k", value: Buffer.from(String(i)) });
    client = await lives.cut();
    const { kvs } = await client.range({ key: "k" });
    assert.equal(Buffer.from(kvs[0]?.value ?? []).toString(), String(i));
    assert.equal(kvs[0]?.modRevision, header?.revision);
  }
});

test("14571: calls about authentication change nothing, whatever they ask for", async (t) => {
  const { client } = await begin(t);
  await client.put({ key: "k" });
  const before = await client.hashKv(0);
  const methods = ["AuthEnable", "AuthDisable", "UserAdd", "RoleAdd", "UserGrantRole"];
  for (const method of methods) {
    const path = `/etcdserverpb.Auth/${method}`;
    const refused = await client.call(path, m.empty, m.empty, {}).then(
      () => "",
      (error: Error) => error.message,
    );
    assert.ok(method === "AuthDisable" || refused.startsWith("etcdserver: "), refused);
  }
  const { header, ...after } = await client.hashKv(0);
  assert.deepEqual({ header, ...after }, before);
  await client.put({ key: "k" });
});

test(`14685: a crash while defragmenting changes no revision and no state (seed ${seed})`, async (t) => {
  const lives = new Lives(t, seed + 7);
  let client = await lives.begin();
  for (let round = 0; round < 6; round++) {
    const last = await putMany(client, round, 20);
    const { hash } = await client.hashKv(last);
    lives.disk.crashAfter(round * 3);
    const defragment = client.call(
      "/etcdserverpb.Maintenance/Defragment",
      m.empty,
      m.headerResponse,
      {},
    );
    await defragment.catch(() => undefined);
    client = await lives.cut();
    assert.equal(await revisionOf(client), last);
    assert.equal((await client.hashKv(last)).hash, hash);
  }
});

test("15220: progress never speaks of events that were not sent yet", async (t) => {
  const { client } = await begin(t, { streamBacklogBytes: 20_000, responseBytes: 5000 });
  const watch = client.watch();
  watch.send({ create: { ...all } });
  assert.equal((await watch.next())?.created, true);
  const first = (await revisionOf(client)) + 1;
  const puts = 300;
  const writing = (async () => {
    for (let i = 0; i < puts; i++) {
      await client.put({ key: "k", value: Buffer.alloc(500) });
      if (i % 3 === 0) watch.send({ progress: {} });
    }
    watch.send({ progress: {} });
  })();
  let seen = first - 1;
  let told = 0;
  while (seen < first + puts - 1 || told === 0) {
    const { events, header } = must(await watch.next(), "the watch ended");
    if (events.length === 0) told = Math.max(told, header?.revision ?? 0);
    for (const { kv } of events) seen = kv?.modRevision ?? 0;
    assert.ok(told <= seen, `progress at ${told}, events only to ${seen}`);
  }
  await writing;
  watch.close();
});

test("15271: a watch that was cut off goes on where it was, and never back in time", async (t) => {
  const { server, client } = await begin(t);
  const first = (await revisionOf(client)) + 1;
  const puts = 200;
  const writing = putMany(client, 0, puts);
  const told: Told[] = [];
  while (told.length < puts) {
    const other = new EtcdClient(server.url);
    const watch = other.watch();
    const from = (told.at(-1)?.revision ?? first - 1) + 1;
    watch.send({ create: { ...all, startRevision: from } });
    for (let responses = 0; responses < 3 && told.length < puts;) {
      const { events } = must(await watch.next(), "the watch ended");
      told.push(...events.map(toldOf));
      if (events.length > 0) responses++;
    }
    other.close();
  }
  await writing;
  assertDense(told, first);
});

test("17247: a transaction's change is one event, however often it was looked at", async (t) => {
  const { client } = await begin(t);
  const watch = client.watch();
  watch.send({ create: { ...all, prevKv: true } });
  await watch.next();
  const compare = [{ key: "k", target: m.CompareTarget.version, version: 0 }];
  const range = { range: { key: "k" } };
  const put = { put: { key: "k", prevKv: true } };
  const nested = { txn: { success: [range, { put: { key: "n" } }, range] } };
  await client.txn({ compare, success: [range, put, range, nested], failure: [put] });
  await client.txn({ success: [range, range], failure: [put] });
  await client.put({ key: "end" });
  const told: string[] = [];
  while (told.at(-1) !== "end=") {
    told.push(...must(await watch.next(), "ended").events.map((event) => toldOf(event).what));
  }
  assert.deepEqual(told, ["k=", "n=", "end="]);
  watch.close();
});

test("17507: a new watch of a silent key is told its progress without any event", async (t) => {
  const { client } = await begin(t);
  const last = await putMany(client, 0, 5);
  for (const startRevision of [0, last - 2, last]) {
    const watch = client.watch();
    watch.send({ create: { key: "silent", startRevision } });
    assert.equal((await watch.next())?.created, true);
    // While it catches up there is no answer, as in etcd; then there must be one.
    const asking = setInterval(() => watch.send({ progress: {} }), 1);
    const answer = await watch.next();
    clearInterval(asking);
    assert.deepEqual([answer?.events, answer?.header?.revision], [[], last]);
    watch.close();
  }
});

test("17529: a starved stream of many watches loses none of their events", async (t) => {
  const { server, client } = await begin(t, { streamBacklogBytes: 2000, responseBytes: 1000 });
  const slow = new EtcdClient(server.url);
  t.after(() => slow.close());
  const watch = slow.watch();
  const watches = 10;
  for (let i = 0; i < watches; i++) watch.send({ create: all });
  for (let i = 0; i < watches; i++) assert.equal((await watch.next())?.created, true);
  watch.pause();
  const puts = 150;
  for (let i = 0; i < puts; i++) await client.put({ key: "k", value: Buffer.alloc(3000) });
  watch.resume();
  const seen = new Map<number, Told[]>();
  const whole = (): boolean =>
    [...seen.values()].filter((one) => one.length === puts).length === 10;
  while (!whole()) {
    const { watchId, events } = must(await watch.next(), "the watch ended");
    seen.set(watchId, [...(seen.get(watchId) ?? []), ...events.map(toldOf)]);
  }
  for (const told of seen.values()) assertDense(told, 2);
});

test(`17780: the revision does not fall when a crash meets a compaction up to a delete (seed ${seed})`, async (t) => {
  const lives = new Lives(t, seed + 11);
  let client = await lives.begin();
  let expected = 1;
  for (let round = 0; round < 12; round++) {
    for (let i = 0; i < 10; i++) await client.put({ key: "gone", value: Buffer.alloc(2000) });
    const { header } = await client.deleteRange({ key: "gone" });
    expected = header?.revision ?? 0;
    lives.disk.crashAfter(round * 2);
    await Promise.race([client.compact(expected), lives.disk.crashed]);
    client = await lives.cut();
    assert.equal(await revisionOf(client), expected, `round ${round}`);
    client = await lives.restart();
    assert.equal(await revisionOf(client), expected, `round ${round}, restarted`);
  }
  const { header } = await client.put({ key: "next" });
  assert.equal(header?.revision, expected + 1);
});

test("18089: a slow watch is not robbed of a delete by a compaction up to it", async (t) => {
  const { server, client } = await begin(t, { streamBacklogBytes: 1000, responseBytes: 1000 });
  const slow = new EtcdClient(server.url);
  t.after(() => slow.close());
  const watch = slow.watch();
  watch.send({ create: all });
  assert.equal((await watch.next())?.created, true);
  watch.pause();
  for (let i = 0; i < 100; i++) await client.put({ key: "k", value: Buffer.alloc(50_000) });
  const { header } = await client.deleteRange({ key: "k" });
  const at = header?.revision ?? 0;
  await client.compact(at);
  await client.put({ key: "after" });
  watch.resume();
  // All events in order, or `compacted` with the first revision: the delete is never skipped.
  let seen = 1;
  for (;;) {
    const response = must(await watch.next(), "the watch ended");
    for (const { kv } of response.events) assert.equal(kv?.modRevision, ++seen);
    if (response.canceled) {
      assert.equal(response.compactRevision, at);
      break;
    }
    if (seen === at + 1) break;
  }
  assert.deepEqual(
    (await follow(client, at, at + 1)).map(({ what }) => what),
    ["k deleted", "after="],
  );
});

test("18667, 18679: a transaction that reads what is compacted changes nothing", async (t) => {
  const { client } = await begin(t);
  await putMany(client, 1, 20);
  const revision = await revisionOf(client);
  await client.compact(revision);
  const { hash } = await client.hashKv(0);
  const put = { put: { key: "k2", value: Buffer.from("foo") } };
  const old = { range: { key: "k1", revision: revision - 10 } };
  const branches = [[put, old], [put, { txn: { success: [old] } }], [old, put], [old]];
  for (const success of branches) await assert.rejects(client.txn({ success }), compactedText);
  assert.equal(await revisionOf(client), revision);
  assert.equal((await client.hashKv(0)).hash, hash);
  assert.equal((await client.range({ key: "k2" })).count, 0);
});

test("19179: a watch from the compacted revision gets its changes, after restarts too", async (t) => {
  const lives = new Lives(t, seed + 3);
  let client = await lives.begin();
  await client.put({ key: "a", value: Buffer.from("1") });
  await client.put({ key: "b", value: Buffer.from("1") });
  const put = (key: string, value: string) => ({ put: { key, value: Buffer.from(value) } });
  const steps = [
    () => client.deleteRange({ key: "a" }),
    () => client.txn({ success: [put("c", "1"), { deleteRange: { key: "b" } }, put("d", "1")] }),
    () => client.put({ key: "c", value: Buffer.from("2") }),
  ];
  const expected = [["a deleted"], ["c=1", "b deleted", "d=1"], ["c=2"]];
  for (const [i, step] of steps.entries()) {
    // More than two segments, so that the compaction makes a checkpoint.
    for (let n = 0; n < 40; n++) await client.put({ key: "pad", value: Buffer.alloc(1000) });
    const at = (await step()).header?.revision ?? 0;
    await client.put({ key: "after" });
    await client.compact(at);
    for (const life of [() => client, () => lives.restart(), () => lives.cut()]) {
      client = await life();
      const told = await follow(client, at, at + 1);
      assert.deepEqual(
        told.map(({ what }) => what),
        [...(expected[i] ?? []), "after="],
      );
      const { kvs } = await client.range({ key: "c" });
      assert.equal(kvs[0]?.version, [undefined, 1, 2][i]);
    }
    const { checkpointRevision } = must(lives.server.store, "no store").stats().engine;
    assert.equal(checkpointRevision, at);
  }
});

test("20221: a watch of the future is told no events of the past", async (t) => {
  const { client } = await begin(t);
  const watch = client.watch();
  const start = (await revisionOf(client)) + 5;
  watch.send({ create: { ...all, startRevision: start } });
  assert.equal((await watch.next())?.created, true);
  for (let i = 0; i < 6; i++) await client.put({ key: "k", value: Buffer.from(String(i)) });
  const { events } = must(await watch.next(), "the watch ended");
  assert.equal(events[0]?.kv?.modRevision, start);
  watch.close();
});

test("20221: a watch of the future is told no progress of the past", async (t) => {
  const { client } = await begin(t);
  const watch = client.watch();
  const start = (await revisionOf(client)) + 5;
  watch.send({ create: { ...all, startRevision: start } });
  assert.equal((await watch.next())?.created, true);
  for (let i = 0; i < 6; i++) {
    watch.send({ progress: {} });
    await client.put({ key: "k", value: Buffer.from(String(i)) });
  }
  // Whichever of the two arrives first, it names no revision below the start.
  const { header } = must(await watch.next(), "the watch ended");
  assert.ok((header?.revision ?? 0) >= start);
  watch.close();
});

test("20418: a read that begins after an answered write sees it, on any connection", async (t) => {
  const { server, client } = await begin(t);
  const readers = Array.from({ length: 4 }, () => new EtcdClient(server.url));
  t.after(() => readers.forEach((reader) => reader.close()));
  let answered = 0;
  const reading = readers.map(async (reader) => {
    for (let i = 0; i < 150; i++) {
      const least = answered;
      const { header, kvs } = await reader.range({ key: "k0" });
      assert.ok((header?.revision ?? 0) >= least, "a stale read");
      assert.equal(kvs[0]?.modRevision ?? 1, header?.revision);
    }
  });
  for (let i = 0; i < 300; i++) answered = await putMany(client, 0, 1);
  await Promise.all(reading);
});

test("20573: a watch can be resumed at every revision of the window, many at once", async (t) => {
  const { client } = await begin(t);
  const last = await putMany(client, 0, 60);
  const following = Array.from({ length: last - 1 }, async (_, i) => {
    const told = await follow(client, i + 2, last + 30);
    assert.equal(told.length, last + 30 - i - 1);
    assertDense(told, i + 2);
  });
  await putMany(client, 1, 30);
  await Promise.all(following);
});

test(`16693: crash after crash in compactions, revision and data stay together (seed ${seed})`, async (t) => {
  const lives = new Lives(t, seed + 5);
  let client = await lives.begin();
  let answered = 1;
  for (let round = 0; round < 15; round++) {
    lives.disk.crashAfter(20 + 9 * round);
    const life = client;
    const writing = (async () => {
      for (;;) {
        answered = Math.max(answered, await putMany(life, 0, 5));
        await life.compact(answered - 2);
      }
    })();
    await Promise.race([lives.disk.crashed, writing]);
    const ended = assert.rejects(writing);
    client = await lives.cut();
    await ended;
    const { kvs, header } = await client.range(all);
    const revision = header?.revision ?? 0;
    assert.ok(revision >= answered, `revision ${revision} after ${answered} was answered`);
    // One key is all there is: its newest change is the newest revision.
    assert.equal(kvs[0]?.modRevision ?? 1, revision);
    assert.equal(kvs[0]?.version ?? 0, revision - 1);
    answered = revision;
  }
});
