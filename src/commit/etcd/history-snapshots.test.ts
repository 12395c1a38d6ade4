/**
 * The two bugs of etcd's track record that were panics over snapshots and database files: 18055 and
 * 20271. Cases that depended on members and bbolt are tested here with checkpoints, snapshots and restores.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { NodeRandom } from "#platform/node/random.ts";
import { FakeDisk } from "#platform/testing/disk.ts";
import { fileHeaderBytes } from "#store/engines/local/files.ts";
import { restoreSnapshot } from "#store/restore.ts";
import type { EtcdClient } from "./client.ts";
import { Lives } from "./testing/lives.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const sectorBytes = 512;

interface State {
  readonly revision: number;
  /** A line a key: its revision and how its value begins. */
  readonly keys: readonly string[];
}

async function stateOf(client: EtcdClient): Promise<State> {
  const { header, kvs } = await client.range({ key: "\0", rangeEnd: "\0" });
  const keys = kvs.map((kv) => `${kv.key} ${kv.modRevision} ${kv.value.toString().slice(0, 20)}`);
  return { revision: header?.revision ?? 0, keys };
}

/** Begins with `name`, and does not compress: a flipped bit means something wherever it is. */
function noise(name: string, bytes: number): Buffer {
  const rest = createHash("shake256", { outputLength: bytes - name.length });
  return Buffer.concat([Buffer.from(name), rest.update(name).digest()]);
}

async function putAll(
  client: EtcdClient,
  keys: number,
  bytes: number,
  round: number,
): Promise<void> {
  for (let at = 0; at < keys; at++) {
    await client.put({ key: `k${at}`, value: noise(`round ${round} of k${at} `, bytes) });
  }
}

/** What a snapshot stream brings, from the message that is next on. */
async function rest(stream: ReturnType<EtcdClient["snapshot"]>): Promise<Buffer[]> {
  const blobs: Buffer[] = [];
  for (let one = await stream.next(); one !== undefined; one = await stream.next()) {
    blobs.push(Buffer.from(one.blob));
  }
  assert.equal(stream.error, undefined);
  return blobs;
}

async function keep(disk: FakeDisk, bytes: Uint8Array): Promise<void> {
  await disk.makeDirectory("/from");
  const file = await disk.open("/from/snapshot", "create");
  await file.write([bytes], 0);
  await file.sync();
  await file.close();
  await disk.syncDirectory("/from");
}

/** Two blocks of a file change places: whole blocks, where they do not belong. */
async function exchange(disk: FakeDisk, path: string, one: number, other: number): Promise<void> {
  const bytes = disk.peek(path);
  const block = (at: number): Uint8Array =>
    bytes.subarray(at * sectorBytes, (at + 1) * sectorBytes);
  const file = await disk.open(path, "write");
  await file.write([block(other)], one * sectorBytes);
  await file.write([block(one)], other * sectorBytes);
  await file.close();
}

/** The older one packed, and the newest, at `revision`: they come after the answer to its compaction. */
async function twoCheckpoints(
  disk: FakeDisk,
  revision: number,
): Promise<{ readonly older: string; readonly newest: string }> {
  const newest = `checkpoint-${String(revision).padStart(16, "0")}`;
  for (let tries = 0; tries < 2000; tries++) {
    const names = await disk.list("/data");
    const checkpoints = names.filter((name) => /^(packed|checkpoint)-/.test(name));
    const packed = names.find((name) => /^packed-\d+$/.test(name));
    if (names.includes(newest) && packed !== undefined && checkpoints.length === 2) {
      // Else the plain file may be there again after the end.
      await disk.syncDirectory("/data");
      return { older: `/data/${packed}`, newest: `/data/${newest}` };
    }
    await setTimeout(5);
  }
  throw new Error("the older of two checkpoints was not packed within ten seconds");
}

async function restore(disk: FakeDisk): Promise<void> {
  const file = await disk.open("/from/snapshot", "read");
  await restoreSnapshot({ disk, random: new NodeRandom() }, { file, path: "snapshot" }, "/data");
  await file.close();
}

test("18055: snapshots and checkpoints that overlap do not take each other's files", async (t) => {
  const lives = new Lives(t, seed + 17);
  const client = await lives.begin();
  // More than a stream's window, so both are open while checkpoints come and go.
  const bytes = 64 * 1024;
  await putAll(client, 160, bytes, 0);
  const states: State[] = [];
  const streams: ReturnType<EtcdClient["snapshot"]>[] = [];
  for (const round of [1, 2]) {
    states.push(await stateOf(client));
    const stream = client.snapshot();
    stream.pause();
    streams.push(stream);
    await putAll(client, 20, bytes, round);
    await client.compact((await stateOf(client)).revision);
  }
  for (const [at, stream] of streams.entries()) {
    stream.resume();
    const disk = new FakeDisk(seed);
    await keep(disk, Buffer.concat(await rest(stream)));
    await restore(disk);
    const restored = new Lives(t, disk);
    assert.deepEqual(await stateOf(await restored.begin()), states[at]);
    await restored.end();
  }
});

test(`18055: two checkpoints, one right after the other, and a crash at any step (seed ${seed})`, async (t) => {
  for (let step = 0; step < 40; step += 3) {
    const lives = new Lives(t, seed + 100 + step);
    let client = await lives.begin();
    await putAll(client, 20, 200, 0);
    await client.compact(15);
    await putAll(client, 20, 200, 1);
    const before = await stateOf(client);
    lives.disk.crashAfter(step);
    await Promise.race([client.compact(before.revision), lives.disk.crashed]);
    client = await lives.cut();
    assert.deepEqual(await stateOf(client), before, `crash after ${step} steps`);
    await lives.end();
  }
});

test("20271: a checkpoint's block that holds another's bytes is found, and never served", async (t) => {
  const lives = new Lives(t, seed + 19);
  const client = await lives.begin();
  for (const round of [0, 1, 2]) {
    await putAll(client, 40, 500, round);
    await client.compact((await stateOf(client)).revision);
  }
  const before = await stateOf(client);
  const { older, newest } = await twoCheckpoints(lives.disk, before.revision);
  await lives.end();
  const olderBytes = lives.disk.peek(older).length;
  const sectors = Math.floor(lives.disk.peek(newest).length / sectorBytes);
  let found = 0;
  for (let at = fileHeaderBytes / sectorBytes; at < sectors - 2; at++) {
    const damaged = new Lives(t, lives.disk.survivor());
    await exchange(damaged.disk, newest, at, at + 2);
    // The older one and the log after it are enough.
    assert.deepEqual(await stateOf(await damaged.begin()), before, `block ${at}`);
    await damaged.end();
    const both = new Lives(t, lives.disk.survivor());
    await exchange(both.disk, newest, at, at + 2);
    both.disk.corrupt(older, (at * 97) % olderBytes, 1 << (at % 8));
    try {
      // Some bits of a packed file mean nothing: those that fill up a byte.
      assert.deepEqual(await stateOf(await both.begin()), before);
      await both.end();
    } catch (error) {
      found++;
      assert.match((error as Error).message, /packed-\d+: bad/, `block ${at} of both`);
    }
  }
  assert.ok(found > sectors / 2, `${found} of ${sectors} were found`);
});

test(`20271: a restore that is cut short leaves no store, or the whole one (seed ${seed})`, async (t) => {
  const lives = new Lives(t, seed + 23);
  const client = await lives.begin();
  await putAll(client, 40, 500, 0);
  const before = await stateOf(client);
  const snapshot = Buffer.concat(await rest(client.snapshot()));
  await lives.end();
  let whole = 0;
  for (let step = 0; whole < 2; step++) {
    const disk = new FakeDisk(seed + step);
    await keep(disk, snapshot);
    disk.crashAfter(step);
    await Promise.race([restore(disk), disk.crashed]);
    const left = disk.survivor();
    const names = await left.list("/data").catch(() => []);
    if (!names.some((name) => name === "FORMAT")) continue;
    const restored = new Lives(t, left);
    const client = await restored.begin();
    assert.deepEqual(await stateOf(client), before, `cut after ${step} steps`);
    await restored.end();
    whole++;
  }
});
