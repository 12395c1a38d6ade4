/** npm's etcd3 against `pilothouse store`: each of its parts, and a watcher over kill -9. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, describe, test } from "node:test";
import { Etcd3, type IKeyValue } from "etcd3";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { startStore, type RunningStore } from "./store-harness.ts";

describe("npm's etcd3", () => {
  const scratch = temporaryDirectory("etcd3");
  const data = join(scratch, "data");
  let store: RunningStore;
  let client: Etcd3;

  before(async () => {
    store = await startStore(["--data-dir", data, "--listen", "127.0.0.1:0"]);
    client = new Etcd3({ hosts: store.url });
  });
  after(async () => {
    client?.close();
    await store?.kill();
    removeDirectory(scratch);
    // The library goes on trying to reach its server, and that alone would keep this process.
    setTimeout(() => process.exit(), 5_000).unref();
  });

  test("keys: put, get, ranges with limits and orders, counts, namespaces, deletes", async () => {
    await client.put("a").value("1");
    assert.equal(await client.get("a").string(), "1");
    assert.equal(await client.get("none").string(), null);
    await Promise.all(["1", "2", "3"].map((i) => client.put(`k/${i}`).value(i)));
    assert.deepEqual(await client.getAll().prefix("k/").keys(), ["k/1", "k/2", "k/3"]);
    assert.deepEqual(await client.getAll().prefix("k/").sort("Key", "Descend").limit(2).strings(), {
      "k/3": "3",
      "k/2": "2",
    });
    assert.equal(await client.getAll().prefix("k/").count(), 3);
    assert.equal(await client.namespace("k/").get("2").string(), "2");
    const before = (await client.put("a").value("2").getPrevious())?.value;
    assert.equal(before?.toString(), "1");
    const gone = await client.delete().prefix("k/").getPrevious();
    assert.equal(gone.length, 3);
  });

  test("transactions: guards, both branches, and its software transactional memory", async () => {
    await client.put("t").value("1");
    const guarded = (value: string) =>
      client
        .if("t", "Value", "==", value)
        .and("t", "Version", ">", 0)
        .then(client.put("t").value("2"))
        .else(client.get("t"))
        .commit();
    assert.equal((await guarded("1")).succeeded, true);
    const { succeeded, responses } = await guarded("1");
    assert.equal(succeeded, false);
    assert.equal(responses[0]?.response_range?.kvs[0]?.value.toString(), "2");
    const add = () =>
      client.stm().transact(async (tx) => {
        const now = Number(await tx.get("sum").string());
        await tx.put("sum").value(now + 1);
      });
    for (let i = 0; i < 3; i++) await add();
    assert.equal(await client.get("sum").number(), 3);
  });

  test("leases: kept alive, revoked with their keys, lost when they end", async () => {
    const lease = client.lease(60);
    await lease.put("leased").value("x");
    assert.equal((await lease.keepaliveOnce()).TTL, "60");
    assert.equal(
      (await client.leaseClient.leaseTimeToLive({ ID: await lease.grant(), keys: true })).keys
        .length,
      1,
    );
    await lease.revoke();
    assert.equal(await client.get("leased").string(), null);
    const short = client.lease(2, { autoKeepAlive: false });
    const watcher = await client.watch().key("short").create();
    const ended = once(watcher, "delete");
    await short.put("short").value("x");
    await ended;
    await watcher.cancel();
  });

  test("watches: from a revision on, with previous values, told of compaction", async () => {
    const { header } = await client.put("h").value("1");
    await client.put("h").value("2");
    await client.delete().key("h");
    const watcher = await client
      .watch()
      .key("h")
      .startRevision(header.revision)
      .withPreviousKV()
      .create();
    const [last, before] = (await once(watcher, "delete")) as [IKeyValue, IKeyValue];
    assert.equal(last.key.toString(), "h");
    assert.equal(before.value.toString(), "2");
    await watcher.cancel();
    const now = (await client.put("h").value("3")).header.revision;
    await client.kv.compact({ revision: now });
    await assert.rejects(
      client.getAll().prefix("h").revision(header.revision).strings(),
      /compacted/,
    );
  });

  test("locks: one holds it, a second cannot, then can", async () => {
    const held = await client.lock("l").acquire();
    await assert.rejects(client.lock("l").acquire());
    await held.release();
    await client.lock("l").do(async () => {
      assert.equal(await client.getAll().prefix("l").count(), 1);
    });
  });

  test("elections: one leads, observers are told, and who resigns is followed", async () => {
    const election = client.election("e", 30);
    const first = election.campaign("one");
    await once(first, "elected");
    const observer = await election.observe();
    const second = election.campaign("two");
    assert.equal(observer.leader(), "one");
    // On busy cores the resignation could be earlier than the candidate, and nobody would lead for a while.
    const candidates = client.namespace("election/e/");
    while ((await candidates.getAll().count()) < 2) await sleep(10);
    const changed = once(observer, "change");
    const elected = once(second, "elected");
    await first.resign();
    await elected;
    assert.deepEqual(await changed, ["two"]);
    await observer.cancel();
    await second.resign();
  });

  test("a watcher goes on over kill -9, and misses nothing", async () => {
    const watcher = await client.watch().prefix("w").create();
    const seen: string[] = [];
    const three = new Promise<void>((resolve) => {
      watcher.on("put", ({ value }) => {
        seen.push(value.toString());
        if (seen.length === 3) resolve();
      });
    });
    await client.put("w").value("1");
    await store.kill();
    store = await startStore(["--data-dir", data, "--listen", new URL(store.url).host]);
    // Its first call after the cut may still find the old connection.
    const put = (value: string) =>
      client
        .put("w")
        .value(value)
        .then(
          () => true,
          () => false,
        );
    for (const value of ["2", "3"]) while (!(await put(value)));
    await three;
    assert.deepEqual([...new Set(seen)], ["1", "2", "3"]);
    await watcher.cancel();
    assert.equal(await store.stop(), 0);
  });
});
