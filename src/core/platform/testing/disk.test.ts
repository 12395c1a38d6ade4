/** The fake disk keeps what was synced, and only that for sure. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DiskFile } from "../disk.ts";
import { DiskError } from "../disk.ts";
import { FakeDisk } from "./disk.ts";

const seeds = Array.from({ length: 100 }, (_, i) => i + 1);
const filled = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);

async function newFile(disk: FakeDisk): Promise<DiskFile> {
  await disk.makeDirectory("/d");
  const file = await disk.open("/d/f", "create");
  await disk.syncDirectory("/d");
  return file;
}

void test("what was synced survives every crash; what was not survives by the sector, or not", async () => {
  const outcomes = new Set<string>();
  for (const seed of seeds) {
    const disk = new FakeDisk(seed);
    const file = await newFile(disk);
    await file.write([filled(1, 1024)], 0);
    await file.sync();
    await file.write([filled(2, 2048)], 0);
    await file.writeDurably([filled(3, 100)], 4096);
    assert.equal(file.writeDurablyAtOnce([filled(4, 100)], 8192), undefined);
    const kept = disk.survivor().peek("/d/f");
    assert.deepEqual([...kept.subarray(4096, 4196)], [...filled(3, 100)]);
    assert.deepEqual([...kept.subarray(8192, 8292)], [...filled(4, 100)]);
    const sectors = [0, 512, 1024, 1536].map((at) => new Set(kept.subarray(at, at + 512)));
    for (const sector of sectors) assert.equal(sector.size, 1, "sectors are whole");
    outcomes.add(sectors.map((sector) => [...sector].join()).join(" "));
  }
  assert.ok(
    outcomes.has("1 1 0 0") && outcomes.has("2 2 2 2") && outcomes.size > 6,
    [...outcomes].join("\n"),
  );
});

void test("names survive once their directory was synced, else in order or not at all", async () => {
  const outcomes = new Set<string>();
  for (const seed of seeds) {
    const disk = new FakeDisk(seed);
    await newFile(disk);
    await disk.open("/d/a", "create");
    await disk.rename("/d/a", "/d/b");
    await disk.remove("/d/f");
    outcomes.add((await disk.survivor().list("/d")).join());
  }
  assert.deepEqual([...outcomes].toSorted(), ["a,f", "b", "b,f", "f"]);
});

void test("a failed sync keeps nothing for sure, not even by the next sync", async () => {
  let lost = 0;
  for (const seed of seeds) {
    const disk = new FakeDisk(seed);
    const file = await newFile(disk);
    await file.write([filled(1, 512)], 0);
    disk.fail("sync", "EIO");
    await assert.rejects(
      file.sync(),
      (error) => error instanceof DiskError && error.code === "EIO",
    );
    assert.equal((await file.read(0, 1))[0], 1);
    await file.sync();
    if (disk.survivor().peek("/d/f")[0] !== 1) lost++;
  }
  assert.ok(lost > 10);
});

void test("a killed process leaves what it wrote to be read, and to be lost by a power cut", async () => {
  let lost = 0;
  for (const seed of seeds) {
    const disk = new FakeDisk(seed);
    const file = await newFile(disk);
    await file.write([filled(1, 512)], 0);
    const next = disk.inherited();
    assert.equal(next.peek("/d/f")[0], 1);
    if (next.survivor().peek("/d/f")[0] !== 1) lost++;
  }
  assert.ok(lost > 10);
});

void test("a sync that fails is told to the durable write beside it too", async () => {
  const disk = new FakeDisk(1);
  const file = await newFile(disk);
  await file.writeDurably([filled(1, 512)], 0);
  const write = file.writeDurably([filled(2, 512)], 512);
  disk.fail("sync", "EIO");
  const outcomes = await Promise.allSettled([file.sync(), write]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["rejected", "rejected"],
  );
});

void test("a slow disk takes time", async () => {
  const disk = new FakeDisk(1);
  const file = await newFile(disk);
  const gate = Promise.withResolvers<void>();
  disk.setPace(() => gate.promise);
  let done = false;
  const write = Promise.resolve(file.writeDurablyAtOnce([filled(1, 512)], 0)).then(() => {
    done = true;
  });
  for (let i = 0; i < 100; i++) await Promise.resolve();
  assert.equal(done, false);
  gate.resolve();
  await write;
});

void test("after a crash nothing goes on", async () => {
  const disk = new FakeDisk(1);
  const file = await newFile(disk);
  disk.crashAfter(0);
  let went = false;
  void file.sync().then(() => (went = true));
  void disk.list("/d").then(() => (went = true));
  await disk.crashed;
  for (let i = 0; i < 100; i++) await Promise.resolve();
  assert.equal(went, false);
});

void test("a full disk says ENOSPC, and how much is free before", async () => {
  const disk = new FakeDisk(1);
  const file = await newFile(disk);
  disk.setCapacity(1000);
  await file.write([filled(1, 900)], 0);
  assert.equal(await disk.freeBytes("/d"), 100);
  await assert.rejects(file.write([filled(1, 101)], 900), /ENOSPC/);
  await assert.rejects(file.extend(1001), /ENOSPC/);
  await file.write([filled(2, 900)], 0);
});
