/** Transactions: one revision or nothing, over power cuts too; snapshots, checks and restores. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "#platform/testing/clock.ts";
import { checkDirectory } from "./check.ts";
import type { FullStore } from "./full-store.ts";
import { openStore } from "./open.ts";
import { withDirectory } from "./read-only.ts";
import { restoreSnapshot } from "./restore.ts";
import type { Key, LeaseId, Revision } from "./store.ts";
import {
  bytes,
  key,
  newWorld,
  smallOptions,
  testDirectory,
  TestSink,
  text,
} from "./testing/fixture.ts";
import type { World } from "./testing/fixture.ts";

const none = 0n as LeaseId;
const everything = { start: "" as Key, end: "\u0100" as Key };

function open(world: World, directory: string = testDirectory): Promise<FullStore> {
  return openStore(world, { ...smallOptions, engine: "local", directory });
}

function contents(store: FullStore): string {
  const found = store.range(everything);
  assert.ok(found.kind === "ok");
  return found.kvs
    .map((kv) => `${kv.key}=${text(kv.value)}@${kv.createRevision}/${kv.modRevision}`)
    .join(" ");
}

function putAll(store: FullStore, names: string, value: string): Promise<unknown> {
  return store.transact((transaction) => {
    for (const name of names) transaction.put(key(name), bytes(value), none);
  });
}

test("changes are one revision, seen by the transaction at once and by others when durable", async () => {
  const store = await open(newWorld(1));
  await putAll(store, "abc", "1");
  const done = store.transact((transaction) => {
    transaction.delete(key("b"));
    transaction.delete(key("not there"));
    transaction.put(key("d"), bytes("2"), none);
    const seen = transaction.range(everything);
    assert.ok(seen.kind === "ok");
    assert.equal(contents(store), "a=1@2/2 b=1@2/2 c=1@2/2");
    return `${seen.kvs.map((kv) => kv.key).join("")} of ${seen.count} at ${transaction.revision}`;
  });
  assert.deepEqual(await done, { kind: "done", answer: "acd of 3 at 3" });
  assert.equal(contents(store), "a=1@2/2 c=1@2/2 d=2@3/3");
  await store.close();
});

test("a transaction whose function throws rejects its own caller, even when it waited its turn", async () => {
  const store = await open(newWorld(1));
  const transact = (name: string): Promise<unknown> =>
    store.transact((transaction) => {
      transaction.put(key(name), bytes("1"), none);
      if (name.startsWith("bad")) throw new RangeError(name);
    });
  // Sixteen fill a batch: the later ones wait.
  const names = Array.from({ length: 40 }, (_, i) => (i === 3 || i === 30 ? `bad-${i}` : `k-${i}`));
  const settled = await Promise.allSettled(names.map(transact));
  const rejected = settled.flatMap((one) =>
    one.status === "rejected" ? [String(one.reason)] : [],
  );
  assert.deepEqual(rejected, ["RangeError: bad-3", "RangeError: bad-30"]);
  assert.equal((await store.put(key("later"), bytes("1"), {})).kind, "committed");
  assert.equal(store.stats().keys, 39);
  await store.close();
});

test("a key changed twice keeps both changes, over a restart and compaction", async () => {
  const world = newWorld(2);
  let store = await open(world);
  await putAll(store, "ab", "1");
  await store.transact((transaction) => {
    transaction.delete(key("a"));
    transaction.put(key("a"), bytes("new"), none);
    transaction.put(key("c"), bytes("gone"), none);
    transaction.delete(key("c"));
  });
  for (let life = 0; life < 3; life++) {
    assert.equal(contents(store), "a=new@3/3 b=1@2/2");
    const sink = new TestSink();
    store.watchFrom(everything, 3 as Revision, sink);
    await settle();
    assert.deepEqual(sink.lines(), ["3 -a", "3 a=new", "3 c=gone", "3 -c"]);
    await store.close();
    store = await open(world);
    if (life === 0) await store.compact(3 as Revision);
  }
  await putAll(store, "e", "1");
  await store.compact(store.commitRevision);
  assert.equal(contents(store), "a=new@3/3 b=1@2/2 e=1@4/4");
  await store.close();
});

test("a power cut leaves all of a transaction or nothing", async () => {
  for (let seed = 0; seed < 60; seed++) {
    const world = newWorld(seed);
    const store = await open(world);
    await putAll(store, "abcdefgh", "0");
    world.disk.crashAfter(seed % 20);
    for (const value of ["1", "2", "3", "4"]) {
      await Promise.race([putAll(store, "abcdefgh", value), world.disk.crashed]);
    }
    world.disk = world.disk.survivor();
    const again = await open(world);
    const found = again.range(everything);
    assert.ok(found.kind === "ok");
    const values = new Set(found.kvs.map((kv) => `${text(kv.value)}@${kv.modRevision}`));
    assert.equal(values.size, 1, `seed ${seed}: ${contents(again)}`);
    assert.equal(found.kvs.length, 8);
    await again.close();
  }
});

test("a refused transaction leaves no trace", async () => {
  const store = await open(newWorld(3));
  await putAll(store, "a", "1");
  const refused = await store.transact((transaction) => {
    for (let i = 0; i < 300; i++) transaction.put(key(`x${i}`), new Uint8Array(4000), none);
  });
  assert.equal(refused.kind, "no-space");
  for (const [name, size] of [
    ["k".repeat(65_536), 1],
    ["y", smallOptions.valueBytesMax + 1],
  ] as const) {
    const large = await store.transact((transaction) => {
      transaction.delete(key("a"));
      transaction.put(key(name), new Uint8Array(size), none);
    });
    assert.equal(large.kind, "too-large");
  }
  const abandoned = await store.transact((transaction) => {
    transaction.delete(key("a"));
    transaction.abandon();
    return transaction.get(key("a"))?.modRevision;
  });
  assert.deepEqual(abandoned, { kind: "done", answer: 2 });
  assert.equal(contents(store), "a=1@2/2");
  assert.equal(store.commitRevision, 2);
  await store.close();
});

test("a transaction's puts, too, are refused in time when the disk has little room left", async () => {
  const world = newWorld(8);
  const store = await open(world);
  world.disk.setCapacity(smallOptions.segmentBytes + smallOptions.freeBytesMin);
  await world.clock.advance(1000);
  await store.put(key("a"), bytes("1"), {});
  await world.clock.advance(1);
  const refused = await store.transact((transaction) => {
    transaction.put(key("b"), bytes("1"), none);
  });
  assert.equal(refused.kind, "no-space");
  const putting = store.transact((transaction) => transaction.put(key("b"), bytes("1"), none));
  world.disk.setCapacity(undefined);
  assert.equal((await putting).kind, "done", "room made before anybody looked");
  world.disk.setCapacity(smallOptions.segmentBytes + smallOptions.freeBytesMin);
  const removed = await store.transact((transaction) => transaction.delete(key("a")));
  assert.equal(removed.kind, "done");
  await store.close();
});

test("leases are named, renewed and revoked; a renewal moves the end, and only that", async () => {
  const world = newWorld(4);
  const store = await open(world);
  const lease = 7n as LeaseId;
  assert.equal(await store.grantLeaseAs(lease, 10), true);
  assert.equal(await store.grantLeaseAs(lease, 10), false);
  await store.put(key("a"), bytes("1"), { lease });
  await world.clock.advance(9000);
  assert.equal(store.renewLease(lease), true);
  await world.clock.advance(9000);
  assert.equal(contents(store), "a=1@2/2");
  assert.equal(store.lease(lease)?.remainingMs, 1000);
  assert.deepEqual(store.leaseKeys(lease), ["a"]);
  await world.clock.advance(1001);
  assert.equal(contents(store), "");
  assert.equal(store.renewLease(lease), false);
  assert.equal(await store.revokeLease(lease), false);
  await store.close();
});

test("a snapshot is one state whatever happens meanwhile, and a store can be made of it", async () => {
  const world = newWorld(5);
  const store = await open(world);
  for (let i = 0; i < 200; i++) await putAll(store, String.fromCharCode(97 + (i % 26)), String(i));
  const before = contents(store);
  const snapshot = store.snapshot();
  const chunks = [Buffer.from(snapshot.next() ?? [])];
  await putAll(store, "abc", "later");
  await store.compact(store.commitRevision);
  await world.clock.advance(1);
  for (let one = snapshot.next(); one !== undefined; one = snapshot.next())
    chunks.push(Buffer.from(one));
  snapshot.close();
  await store.close();

  await world.disk.makeDirectory("/elsewhere");
  const file = await world.disk.open("/elsewhere/snapshot", "create");
  const whole = Buffer.concat(chunks);
  await file.write([whole, Buffer.alloc(544, 1)], 0);
  const restored = await restoreSnapshot(world, { file, path: "snapshot" }, "/restored");
  assert.equal(restored.revision, snapshot.revision);
  const again = await open(world, "/restored");
  assert.equal(contents(again), before);
  await putAll(again, "z", "on");
  assert.equal(again.commitRevision, snapshot.revision + 1);
  await again.close();

  await assert.rejects(restoreSnapshot(world, { file, path: "s" }, "/restored"), /is not empty/);
  await file.write([Buffer.from([0xee])], whole.length - 100);
  await assert.rejects(
    restoreSnapshot(world, { file, path: "s" }, "/third"),
    /s: bad record at offset/,
  );
});

test("a snapshot taken while a lease's end is being written has the lease with its keys", async () => {
  const world = newWorld(9);
  const store = await open(world);
  const lease = 7n as LeaseId;
  await store.grantLeaseAs(lease, 10);
  await store.put(key("a"), bytes("1"), { lease });
  const revoked = store.revokeLease(lease);
  const snapshot = store.snapshot();
  const chunks: Buffer[] = [];
  for (let one = snapshot.next(); one !== undefined; one = snapshot.next())
    chunks.push(Buffer.from(one));
  snapshot.close();
  assert.equal(await revoked, true);
  await store.close();

  await world.disk.makeDirectory("/elsewhere");
  const file = await world.disk.open("/elsewhere/snapshot", "create");
  await file.write(chunks, 0);
  await restoreSnapshot(world, { file, path: "snapshot" }, "/restored");
  const again = await open(world, "/restored");
  assert.equal(contents(again), "a=1@2/2");
  assert.deepEqual(again.leaseKeys(lease), ["a"]);
  await world.clock.advance(10_001);
  assert.equal(contents(again), "");
  await again.close();
});

test("a check proves what is there, names what is damaged, and says how much is safe", async () => {
  const world = newWorld(6);
  const store = await open(world);
  for (let i = 0; i < 300; i++) await putAll(store, "ab", `${i}`.padEnd(200));
  await store.compact(200 as Revision);
  await world.clock.advance(10);
  await store.close();
  const check = () =>
    withDirectory(world.disk, testDirectory, (disk) =>
      checkDirectory({ clock: world.clock, log: world.log, disk }, testDirectory),
    );
  const well = await check();
  assert.deepEqual(well.problems, []);
  assert.equal(well.safeRevision, 301);
  assert.equal(well.keys, 2);
  assert.ok(well.files.some(({ file }) => file.includes("checkpoint")));

  const damaged = well.files.filter(({ file }) => file.includes("log-")).at(-3);
  const path = damaged?.file ?? "";
  const file = await world.disk.open(path, "write");
  await file.write([Buffer.from("damage")], 6000);
  await file.close();
  const ill = await check();
  assert.ok(ill.problems[0]?.startsWith(`${path}: bad record at offset`), String(ill.problems));
  assert.equal(ill.files.find((one) => one.file === path)?.state, "damaged");
  assert.ok(ill.safeRevision < 301 && ill.safeRevision >= 200, `safe to ${ill.safeRevision}`);
  await assert.rejects(open(world), /bad record/);
});
