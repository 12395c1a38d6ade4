/** The local engine against damage, faults, foreign directories and second openers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DiskError } from "#platform/disk.ts";
import { settle } from "#platform/testing/clock.ts";
import { checkDirectory } from "../../check.ts";
import type { OpenedStore } from "../../full-store.ts";
import { withDirectory } from "../../read-only.ts";
import {
  bytes,
  key,
  keepingLog,
  newWorld,
  openTestStore,
  rev,
  smallOptions,
  testDirectory,
  TestSink,
  text,
} from "../../testing/fixture.ts";
import type { World } from "../../testing/fixture.ts";
import { RecordReader } from "../../record.ts";
import { CorruptionError } from "../engine.ts";
import { ForeignDirectoryError } from "./directory.ts";
import { fileHeaderBytes } from "./files.ts";

const log1 = `${testDirectory}/log-0000000000000001`;
const log2 = `${testDirectory}/log-0000000000000002`;

async function put(store: OpenedStore, name: string, value: string): Promise<void> {
  assert.equal((await store.put(key(name), bytes(value), {})).kind, "committed");
}

function contents(store: OpenedStore): string {
  const result = store.range({ start: key(""), end: key("\uffff") });
  assert.ok(result.kind === "ok");
  return result.kvs.map((kv) => `${kv.key}=${text(kv.value)}@${kv.modRevision}`).join(" ");
}

/** Offsets of the records in a segment. */
function recordOffsets(file: Uint8Array): number[] {
  const reader = new RecordReader(file);
  const offsets: number[] = [];
  for (let at = fileHeaderBytes; reader.validSize(at) > 0; at += reader.size(at)) offsets.push(at);
  return offsets;
}

/** A store with a=1 b=2 c=3 at revisions 2 3 4 in segment 1, closed. */
async function threeWrites(lines: string[] = []): Promise<World> {
  const world = newWorld(1, keepingLog(lines));
  const store = await openTestStore(world, "local");
  await put(store, "a", "1");
  await put(store, "b", "2");
  await put(store, "c", "3");
  await store.close();
  return world;
}

async function files(world: World): Promise<readonly string[]> {
  return world.disk.list(testDirectory);
}

void test("a closed store opens as it was, with a greater epoch, and goes on in the same segment", async () => {
  const world = await threeWrites();
  const store = await openTestStore(world, "local");
  assert.equal(contents(store), "a=1@2 b=2@3 c=3@4");
  assert.equal(store.commitRevision, 4);
  await put(store, "a", "4");
  await store.close();
  assert.deepEqual(await files(world), ["FORMAT", "NEWEST", "log-0000000000000001"]);
  const file = world.disk.peek(log1);
  const reader = new RecordReader(file);
  assert.deepEqual(
    recordOffsets(file).map((at) => reader.epoch(at)),
    [1, 1, 1, 1, 2, 2],
  );
});

void test("a process that ends while it makes a segment ready leaves nothing in the way", async () => {
  for (const length of [0, 1, fileHeaderBytes - 1, fileHeaderBytes]) {
    const world = await threeWrites();
    const file = await world.disk.open(log2, "create");
    await file.extend(length);
    const loaded = await withDirectory(world.disk, testDirectory, (disk) =>
      checkDirectory({ ...world, disk }, testDirectory),
    );
    assert.deepEqual(loaded.problems, [], `a file of ${length} bytes`);
    const store = await openTestStore(world, "local");
    assert.equal(contents(store), "a=1@2 b=2@3 c=3@4");
    await put(store, "d", "5");
    await store.close();
  }
});

void test("history and watch positions outlive a restart", async () => {
  const world = await threeWrites();
  const store = await openTestStore(world, "local");
  const sink = new TestSink();
  store.watch({ start: key("a"), end: key("z") }, rev(2), sink);
  await settle();
  assert.deepEqual(sink.lines(), ["3 b=2", "4 c=3"]);
  assert.equal(store.get(key("c"), rev(3)).kind, "missing");
});

void test("a torn tail is cut off with a log line, and the store goes on behind it", async () => {
  const lines: string[] = [];
  const world = await threeWrites(lines);
  const last = recordOffsets(world.disk.peek(log1)).at(-1) as number;
  world.disk.corrupt(log1, last + 60, 0x10);
  const store = await openTestStore(world, "local");
  assert.equal(contents(store), "a=1@2 b=2@3");
  assert.ok(
    lines.some(
      (line) =>
        line.startsWith("warn the end of the log was torn") && line.includes(`"offset":${last}`),
    ),
    lines.join("\n"),
  );
  await put(store, "d", "4");
  await store.close();
  const again = await openTestStore(world, "local");
  assert.equal(contents(again), "a=1@2 b=2@3 d=4@4");
  assert.equal(world.disk.peek(log1).length, last);
});

void test("a segment cut short in its last record is a torn tail", async () => {
  const world = await threeWrites();
  const last = recordOffsets(world.disk.peek(log1)).at(-1) as number;
  world.disk.cut(log1, last + 20);
  const store = await openTestStore(world, "local");
  assert.equal(contents(store), "a=1@2 b=2@3");
});

void test("any flipped bit before the last batch is an error that names file and offset", async () => {
  const world = await threeWrites();
  const offsets = recordOffsets(world.disk.peek(log1));
  const last = offsets.at(-1) as number;
  for (let at = fileHeaderBytes; at < last; at += 5) {
    const mask = 1 << (at % 8);
    world.disk.corrupt(log1, at, mask);
    const record = offsets.findLast((offset) => offset <= at) as number;
    await assert.rejects(openTestStore(world, "local"), (error) => {
      assert.ok(error instanceof CorruptionError, String(error));
      assert.ok(
        error.message.startsWith(`${log1}: bad record at offset ${record},`),
        error.message,
      );
      return true;
    });
    world.disk.corrupt(log1, at, mask);
  }
  assert.equal(contents(await openTestStore(world, "local")), "a=1@2 b=2@3 c=3@4");
});

void test("a damaged header of the last segment is an error, not an empty segment", async () => {
  const world = await threeWrites();
  world.disk.corrupt(log1, 40, 1);
  await assert.rejects(openTestStore(world, "local"), /log-0{15}1: bad header at offset 0/);
});

async function fill(store: OpenedStore, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i++) await put(store, `k${i % 10}`, String(i).padStart(1000, "."));
}

void test("the log goes over many segments; a missing or shortened one is an error", async () => {
  const world = newWorld(2);
  const store = await openTestStore(world, "local");
  await fill(store, 0, 60);
  const before = contents(store);
  await store.close();
  assert.ok((await files(world)).length > 5);
  const again = await openTestStore(world, "local");
  assert.equal(contents(again), before);
  await again.close();
  const end = recordOffsets(world.disk.peek(log2)).at(-1) as number;
  world.disk.cut(log2, end);
  await assert.rejects(
    openTestStore(world, "local"),
    /log-0{15}2: bad record at offset \d+, where records should reach to \d+/,
  );
  await world.disk.remove(log2);
  await assert.rejects(
    openTestStore(world, "local"),
    /log-0{15}2: log segment 2 is missing, but segment 3 is there/,
  );
  await world.disk.remove(log1);
  await assert.rejects(
    openTestStore(world, "local"),
    /log segment 2 is missing, but segment 3 is there/,
  );
});

async function removeFrom(world: World, first: string): Promise<void> {
  for (const name of await files(world)) {
    if (name.startsWith("log-") && name >= first)
      await world.disk.remove(`${testDirectory}/${name}`);
  }
}

void test("a log that lost its last segments, and all that came after them, is an error", async () => {
  const world = newWorld(3);
  const store = await openTestStore(world, "local");
  await fill(store, 0, 60);
  await store.close();
  const newest = Number(
    /segment (\d+)/.exec(text(world.disk.peek(`${testDirectory}/NEWEST`)))?.[1],
  );
  assert.ok(newest > 4);
  for (const left of [newest - 1, 2, 0]) {
    await removeFrom(world, `log-${String(left + 1).padStart(16, "0")}`);
    const missing = new RegExp(
      `log segment ${left + 1} is missing, but NEWEST names segment ${newest}: .*remove NEWEST`,
    );
    await assert.rejects(openTestStore(world, "local"), missing);
    const report = await withDirectory(world.disk, testDirectory, (disk) =>
      checkDirectory({ ...world, disk }, testDirectory),
    );
    assert.match(report.problems.join(), missing);
  }
  await world.disk.remove(`${testDirectory}/NEWEST`);
  assert.equal(contents(await openTestStore(world, "local")), "", "as its operator wanted");
});

void test("a NEWEST that names nothing is refused by name, and one that could not be written costs nothing", async () => {
  const world = newWorld(4);
  const store = await openTestStore(world, "local");
  await put(store, "a", "1");
  await store.close();
  const path = `${testDirectory}/NEWEST`;
  world.disk.corrupt(path, 5, 1);
  await assert.rejects(openTestStore(world, "local"), /NEWEST: does not name a segment/);
  await world.disk.remove(path);
  world.disk.fail("rename", "EIO");
  const again = await openTestStore(world, "local");
  await put(again, "b", "1");
  await again.close();
  assert.ok(!(await files(world)).includes("NEWEST"));
  assert.equal(contents(await openTestStore(world, "local")), "a=1@2 b=1@3");
});

async function checkpointed(world: World): Promise<string> {
  const store = await openTestStore(world, "local");
  const lease = await store.grantLease(1000);
  await store.put(key("leased"), bytes("x"), { lease });
  for (let round = 0; round < 6; round++) {
    await fill(store, round * 30, round * 30 + 30);
    await store.compact(store.commitRevision);
    await world.clock.advance(0);
  }
  await fill(store, 180, 185);
  const before = contents(store);
  await store.close();
  return before;
}

void test("compaction makes checkpoints, the log behind the older one goes, and both open the same", async () => {
  const world = newWorld(3);
  const before = await checkpointed(world);
  const names = await files(world);
  const checkpoints = names.filter((name) => /^(packed|checkpoint)-/.test(name));
  assert.deepEqual(
    checkpoints.map((name) => name.split("-")[0]),
    ["checkpoint", "packed"],
  );
  assert.ok(!names.includes("log-0000000000000001"));
  const store = await openTestStore(world, "local");
  assert.equal(contents(store), before);
  assert.equal(store.stats().leases, 1);
  await world.clock.advance(1_000_000);
  assert.equal(store.get(key("leased")).kind, "missing");
  await store.close();
  // One damaged checkpoint loses nothing: the older one and its log are still there.
  const newest = `${testDirectory}/${checkpoints[0]}`;
  world.disk.corrupt(newest, fileHeaderBytes + 300, 1);
  const again = await openTestStore(world, "local");
  assert.equal(contents(again), before.replace(/leased=\S+ ?/, "").trim());
  await again.close();
  for (const name of await files(world)) {
    if (name.startsWith("packed-")) world.disk.corrupt(`${testDirectory}/${name}`, 100, 1);
    if (name.startsWith("checkpoint-")) {
      world.disk.corrupt(`${testDirectory}/${name}`, fileHeaderBytes + 300, 1);
    }
  }
  await assert.rejects(openTestStore(world, "local"), /packed-\d+: bad \w+ at offset \d+/);
});

void test("a lease gets its whole time anew at a restart, and its keys still go together", async () => {
  const world = newWorld(4);
  const store = await openTestStore(world, "local");
  const lease = await store.grantLease(10);
  await store.put(key("a"), bytes("1"), { lease });
  await store.put(key("b"), bytes("1"), { lease });
  await world.clock.advance(9_000);
  await store.close();
  const again = await openTestStore(world, "local");
  await world.clock.advance(9_999);
  assert.equal(contents(again), "a=1@2 b=1@3");
  await world.clock.advance(1);
  assert.equal(contents(again), "");
  assert.equal(again.commitRevision, 4);
});

void test("after a failed sync or write the store stops, says why, and loses nothing it acknowledged", async () => {
  for (const operation of ["sync", "write"] as const) {
    const world = newWorld(5);
    const store = await openTestStore(world, "local");
    await put(store, "a", "1");
    await settle();
    world.disk.fail(operation, "EIO");
    const [first, second] = await Promise.all([
      store.put(key("b"), bytes("1"), {}),
      store.put(key("c"), bytes("1"), { guard: { modRevision: rev(1) } }),
    ]);
    assert.ok(first.kind === "stopped" && /EIO/.test(first.message), first.kind);
    assert.ok(second.kind === "conflict" || second.kind === "stopped");
    assert.equal((await store.put(key("d"), bytes("1"), {})).kind, "stopped");
    assert.equal((await store.delete(key("a"), {})).kind, "stopped");
    await assert.rejects(store.grantLease(1), /stopped/);
    await assert.rejects(store.compact(rev(2)), /stopped/);
    const failure = await store.failed;
    assert.ok(failure instanceof DiskError && failure.code === "EIO");
    assert.equal(contents(store), "a=1@2");
    await store.close();
    const again = await openTestStore(world, "local");
    assert.match(contents(again), /^a=1@2/);
  }
});

void test("with little room left on the disk puts are refused in time, deletes go on", async () => {
  const world = newWorld(6);
  const store = await openTestStore(world, "local");
  await put(store, "a", "1");
  // The format file and one segment are there; less than `freeBytesMin` is left.
  world.disk.setCapacity(smallOptions.segmentBytes + smallOptions.freeBytesMin);
  world.clock.tick(1000);
  await put(store, "b", "1");
  await settle();
  const refused = await store.put(key("c"), bytes("1"), {});
  assert.ok(refused.kind === "no-space");
  assert.match(
    refused.message,
    /^\d+ bytes are free on the disk of \/data, fewer than the 8192 kept/,
  );
  assert.equal((await store.delete(key("a"), {})).kind, "committed");
  // Room that was made counts at once, for a put and for a transaction.
  world.disk.setCapacity(undefined);
  await put(store, "c", "1");
});

void test("a full disk stops the store before anything is lost, and it opens again", async () => {
  const world = newWorld(7);
  const store = await openTestStore(world, "local");
  await put(store, "a", "1");
  world.disk.setCapacity(1);
  // Deletes are not refused early; in the end the log cannot grow.
  let stopped = 0;
  for (let i = 0; i < 400 && stopped === 0; i++) {
    await store.put(key(`k${i}`), bytes("1"), {});
    const result = await store.delete(key(`k${i}`), {});
    if (result.kind === "stopped") stopped++;
    if (result.kind === "missing") {
      const again = await store.grantLease(1).catch(() => undefined);
      if (again === undefined) stopped++;
    }
  }
  const before = contents(store);
  await store.close();
  world.disk.setCapacity(undefined);
  const again = await openTestStore(world, "local", { leasesMax: 1000 });
  assert.ok(contents(again).startsWith("a=1@2"), before);
});

void test("a second opener is refused while the first is open", async () => {
  const world = newWorld(8);
  const store = await openTestStore(world, "local");
  await assert.rejects(
    openTestStore(world, "local"),
    (error) => error instanceof DiskError && error.code === "ELOCKED",
  );
  await store.close();
  await (await openTestStore(world, "local")).close();
});

void test("a directory of somebody else is left alone; a half-made one of ours is made anew", async () => {
  const world = newWorld(9);
  await world.disk.makeDirectory(testDirectory);
  await (await world.disk.open(`${testDirectory}/FORMAT.tmp`, "create")).close();
  await (await openTestStore(world, "local")).close();

  const foreign = newWorld(9);
  await foreign.disk.makeDirectory(testDirectory);
  await (await foreign.disk.open(`${testDirectory}/thesis.tex`, "create")).close();
  await assert.rejects(openTestStore(foreign, "local"), (error) => {
    assert.ok(error instanceof ForeignDirectoryError);
    assert.match(error.message, /directory \/data holds "thesis.tex" and no FORMAT file/);
    return true;
  });
  assert.deepEqual(await files(foreign), ["thesis.tex"]);
});

void test("another format version and a file of another store are refused by name", async () => {
  const world = await threeWrites();
  const other = await threeWrites();
  const format = await world.disk.open(`${testDirectory}/FORMAT`, "write");
  await format.write(
    [bytes("pilothouse-store format 3\nid 00000000-0000-4000-8000-000000000000\n")],
    0,
  );
  await assert.rejects(
    openTestStore(world, "local"),
    /FORMAT: store has format 3, this version reads formats 1 to 2/,
  );
  const id = await other.disk.open(`${testDirectory}/FORMAT`, "write");
  await id.write(
    [bytes("pilothouse-store format 2\nid 00000000-0000-4000-8000-000000000000\n")],
    0,
  );
  await assert.rejects(
    openTestStore(other, "local"),
    /log-0{15}1: belongs to store .*, this is 00000000-/,
  );
});

void test("leases granted at a checkpoint's own revision outlive the segment they are in", async () => {
  const world = newWorld(21);
  const sizes = { segmentBytes: 4096, checkpointLogBytes: 4096 };
  let store = await openTestStore(world, "local", sizes);
  for (let i = 0; i < 40; i++) await put(store, "k", "x".repeat(200));
  const head = store.commitRevision;
  await store.compact(head);
  await world.clock.advance(10);
  assert.equal(store.stats().engine.checkpointRevision, head);
  for (let i = 0; i < 90; i++) await store.grantLease(60);
  await store.close();
  store = await openTestStore(world, "local", sizes);
  assert.equal(store.stats().leases, 90);
  await store.close();
});

void test("what a restart shows after a failed sync is there after a power cut too", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = newWorld(seed);
    const store = await openTestStore(world, "local");
    await put(store, "a", "1");
    await settle();
    world.disk.fail("sync", "EIO");
    const failed = await store.put(key("b"), bytes("2"), {});
    assert.equal(failed.kind, "stopped");
    world.disk = world.disk.inherited();
    const shown = contents(await openTestStore(world, "local"));
    world.disk = world.disk.survivor();
    assert.equal(contents(await openTestStore(world, "local")), shown, `seed ${seed}`);
  }
});

const logOnly = { segmentBytes: 2 ** 16, checkpointLogBytes: 2 ** 30, quotaBytes: 2 ** 24 };

void test("what a busy time left of log goes within two compactions of its end, and then no checkpoint is made", async () => {
  const world = newWorld(5);
  const store = await openTestStore(world, "local", logOnly);
  for (let i = 0; i < 600; i++) await put(store, `k${i % 3}`, "x".repeat(2000));
  assert.ok(store.stats().engine.storedBytes > 2 ** 20);
  const compact = async (): Promise<number> => {
    await put(store, "heartbeat", "x");
    await store.compact(store.commitRevision);
    await world.clock.advance(10);
    return store.stats().engine.checkpointRevision;
  };
  const [first, second, third] = [await compact(), await compact(), await compact()];
  assert.ok(0 < first && first < second, `checkpoints at ${first}, ${second}`);
  assert.equal(third, second);
  const { storedBytes } = store.stats().engine;
  assert.ok(storedBytes < 2 ** 17, `${storedBytes} bytes are kept of 4 small keys`);
  await store.close();
});

void test("a state that shrank takes its large checkpoints with it", async () => {
  const world = newWorld(6);
  const store = await openTestStore(world, "local", { ...logOnly, checkpointLogBytes: 2 ** 16 });
  const compact = async (): Promise<void> => {
    await put(store, "heartbeat", "x");
    await store.compact(store.commitRevision);
    await world.clock.advance(10);
  };
  for (let i = 0; i < 400; i++) await put(store, `k${i}`, "x".repeat(2000));
  for (let i = 0; i < 2; i++) await compact();
  for (let i = 0; i < 400; i++) await store.delete(key(`k${i}`), {});
  for (let i = 0; i < 3; i++) await compact();
  const { storedBytes } = store.stats().engine;
  assert.ok(storedBytes < 2 ** 17, `${storedBytes} bytes are kept of one small key`);
  await store.close();
});

void test("a segment that holds something is followed by another after a minute, and gives back its zeros", async () => {
  const world = newWorld(7);
  const store = await openTestStore(world, "local", { ...logOnly, segmentBytes: 2 ** 20 });
  const segments = async (): Promise<number> =>
    (await files(world)).filter((name) => name.startsWith("log")).length;
  await put(store, "k", "x");
  await world.clock.advance(60_000);
  await put(store, "k", "x");
  assert.equal(await segments(), 1);
  for (let i = 0; i < 80; i++) await put(store, "k", "x".repeat(2000));
  await put(store, "k", "x");
  await settle();
  await put(store, "k", "last");
  assert.equal(await segments(), 2);
  const full = await world.disk.open(`${testDirectory}/log-${"1".padStart(16, "0")}`, "read");
  const size = await full.size();
  assert.ok(size < 2 ** 18, `${size} bytes for 80 records of 2 KB`);
  await store.close();
  const again = await openTestStore(world, "local", logOnly);
  assert.match(contents(again), /k=last/);
  await again.close();
});
