/** The older checkpoint, packed: small, and the same bytes whatever happens while it is made. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { concatBytes } from "#base/bytes.ts";
import type { Disk, ReadableFile } from "#platform/disk.ts";
import { FakeDisk } from "#platform/testing/disk.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { checkDirectory } from "../../check.ts";
import { withDirectory } from "../../read-only.ts";
import { bytes, key, newWorld, openTestStore, testDirectory } from "../../testing/fixture.ts";
import type { World } from "../../testing/fixture.ts";
import { packedBlockBytes } from "./packed-blocks.ts";
import { openCheckpoint, packCheckpoint } from "./packed.ts";

const directory = "/data";
const plain = `${directory}/checkpoint-${"7".padStart(16, "0")}`;
const packed = `${directory}/packed-${"7".padStart(16, "0")}`;
const noRest = (): Promise<void> => Promise.resolve();

async function diskWith(content: Uint8Array, seed = 1): Promise<FakeDisk> {
  const disk = new FakeDisk(seed);
  await disk.makeDirectory(directory);
  const file = await disk.open(plain, "create");
  await file.write([content], 0);
  await file.sync();
  await disk.syncDirectory(directory);
  return disk;
}

/** Half of it can be compressed. */
function someBytes(length: number): Uint8Array {
  const random = new FakeRandom(5);
  const block = new Uint8Array(4096);
  for (let i = 0; i < block.length / 2; i++) block[i] = random.below(256);
  const blocks = Array.from({ length: Math.ceil(length / block.length) }, () => block);
  return concatBytes(blocks).subarray(0, length);
}

async function readAll(file: ReadableFile, step: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < (await file.size()); at += step) parts.push(await file.read(at, step));
  return concatBytes(parts);
}

async function packedAndRead(disk: Disk, step: number): Promise<Uint8Array> {
  const { file, path } = await openCheckpoint(disk, directory, 7);
  assert.equal(path, packed);
  const all = await readAll(file, step);
  await file.close();
  return all;
}

for (const length of [0, 1, packedBlockBytes - 1, packedBlockBytes, 3 * packedBlockBytes + 8]) {
  test(`a file of ${length} bytes is the same packed, in whatever pieces it is read`, async () => {
    const content = someBytes(length);
    const disk = await diskWith(content);
    const size = await packCheckpoint(disk, directory, 7, noRest);
    assert.deepEqual(await disk.list(directory), [packed.slice(directory.length + 1)]);
    assert.equal(disk.peek(packed).length, size);
    for (const step of [packedBlockBytes, 1_500_000, 77_777]) {
      assert.ok(Buffer.from(await packedAndRead(disk, step)).equals(content), `by ${step}`);
    }
    assert.equal(
      (await (await openCheckpoint(disk, directory, 7)).file.read(length, 10)).length,
      0,
    );
  });
}

test("a power cut at any step leaves the plain file, or the packed one, or both", async () => {
  const content = someBytes(2 * packedBlockBytes + 100);
  const seen = new Set<string>();
  for (let step = 0, done = false; !done; step++) {
    const disk = await diskWith(content, step);
    disk.crashAfter(disk.steps + step);
    const end = packCheckpoint(disk, directory, 7, noRest).then(() => true);
    done = await Promise.race([end, disk.crashed.then(() => false)]);
    const left = disk.survivor();
    const { file, path } = await openCheckpoint(left, directory, 7);
    assert.ok(Buffer.from(await readAll(file, packedBlockBytes)).equals(content), `${step}`);
    seen.add(path);
  }
  assert.deepEqual([...seen].toSorted(), [plain, packed]);
});

test("a packed file that was cut, or is none, is damaged; so are blocks that promise too much", async () => {
  const disk = await diskWith(someBytes(packedBlockBytes + 10));
  const size = await packCheckpoint(disk, directory, 7, noRest);
  const whole = disk.peek(packed);
  const cases: readonly [string, Uint8Array][] = [
    ["empty", new Uint8Array(0)],
    ["of another magic", concatBytes([bytes("PHSTPAX\n"), whole.subarray(8)])],
    ["cut in a block", whole.subarray(0, size - 1)],
    ["cut in a block's header", whole.subarray(0, 12)],
    ["with a block of 4 GiB", withLength(whole, 0xffff_ffff)],
    ["with a block that unpacks to more than it says", withLength(whole, packedBlockBytes - 1)],
  ];
  for (const [what, content] of cases) {
    const other = await diskWith(new Uint8Array(1));
    await other.rename(plain, packed);
    const file = await other.open(packed, "write");
    await file.truncate(0);
    await file.write([content], 0);
    await assert.rejects(packedAndRead(other, packedBlockBytes), /bad block at offset \d+/, what);
  }
});

function withLength(whole: Uint8Array, length: number): Uint8Array {
  const changed = whole.slice();
  new DataView(changed.buffer).setUint32(8, length, true);
  return changed;
}

async function quietStore(world: World): Promise<void> {
  const store = await openTestStore(world, "local");
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 30; i++) await store.put(key(`k${i}`), bytes("x".repeat(1000)), {});
    await store.compact(store.commitRevision);
    await world.clock.advance(10);
  }
  await store.close();
}

test("a packed checkpoint is checked, and carries a store whose newer one is damaged", async () => {
  const world = newWorld(3);
  await quietStore(world);
  const names = await world.disk.list(testDirectory);
  const [older, newest] = ["packed-", "checkpoint-"].map((kind) => {
    const found = names.filter((name) => name.startsWith(kind));
    assert.equal(found.length, 1, names.join(" "));
    return `${testDirectory}/${found[0]}`;
  }) as [string, string];
  assert.ok(world.disk.peek(older).length * 5 < world.disk.peek(newest).length);
  const check = () =>
    withDirectory(world.disk, testDirectory, (disk) =>
      checkDirectory({ ...world, disk }, testDirectory),
    );
  const whole = await check();
  assert.deepEqual(whole.problems, []);
  assert.ok(whole.files.some(({ file, state }) => file === older && state === "whole"));
  world.disk.corrupt(newest, 5000, 1);
  const again = await openTestStore(world, "local");
  assert.equal(again.get(key("k7")).kind, "found");
  // It is the older of two once more, and packed already.
  await again.put(key("k1"), bytes("y"), {});
  await again.compact(again.commitRevision);
  await world.clock.advance(10);
  await again.close();
  const left = await world.disk.list(testDirectory);
  assert.ok(left.includes(older.slice(testDirectory.length + 1)), left.join(" "));
  world.disk.corrupt(older, 20, 1);
  assert.match((await check()).problems[0] ?? "", /packed-\d+: bad block at offset 16/);
});
