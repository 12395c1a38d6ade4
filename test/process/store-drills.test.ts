/**
 * Faults an operator may meet, done to the real process: every fault is reported with what to do, with
 * exit code 1, and no acknowledged write is lost silently.
 */
import assert from "node:assert/strict";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { crc32c } from "#base/crc32c.ts";
import { EtcdClient } from "#etcd/client.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { openStore } from "#store/open.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Key } from "#store/store.ts";
import { startStore, type RunningStore } from "./store-harness.ts";
import {
  pilothouse,
  removeDirectory,
  root,
  run,
  temporaryDirectory,
  type CommandResult,
} from "./harness.ts";

const scratch = temporaryDirectory("drills");
const whole = join(scratch, "whole");
const snapshot = join(scratch, "snapshot.db");
const keys = 200;
after(() => removeDirectory(scratch));

before(async () => {
  const store = await startStore(["--data-dir", whole, "--listen", "127.0.0.1:0"]);
  await fill(store);
  await saveSnapshot(store);
  assert.equal(await store.stop(), 0);
});

async function fill(store: RunningStore): Promise<void> {
  const client = new EtcdClient(store.url);
  for (let i = 0; i < keys; i++) {
    await client.put({ key: `/registry/k${i}`, value: Buffer.from(`value ${i}`) });
  }
  client.close();
}

/** As etcdctl does it. */
async function saveSnapshot(store: RunningStore): Promise<void> {
  const m = await import("#wire/etcd-messages.ts");
  const client = new EtcdClient(store.url);
  const path = "/etcdserverpb.Maintenance/Snapshot";
  const stream = client.stream(path, m.empty, m.snapshotResponse);
  stream.send({});
  stream.end();
  const parts: Uint8Array[] = [];
  for (let one = await stream.next(); one !== undefined; one = await stream.next()) {
    parts.push(one.blob);
  }
  client.close();
  writeFileSync(snapshot, Buffer.concat(parts));
}

function copyOf(name: string): string {
  const directory = join(scratch, name);
  cpSync(whole, directory, { recursive: true });
  for (const file of readdirSync(directory)) {
    if (file.startsWith("LOCK")) rmSync(join(directory, file));
  }
  return directory;
}

function segmentOf(directory: string): string {
  const name = readdirSync(directory).find((file) => file.startsWith("log-"));
  return join(directory, name ?? "no segment");
}

function flip(path: string, offset: number): void {
  const bytes = readFileSync(path);
  bytes[offset] = (bytes[offset] ?? 0) ^ 0x10;
  writeFileSync(path, bytes);
}

function serve(directory: string): CommandResult {
  return pilothouse(["store", "--data-dir", directory, "--listen", "127.0.0.1:0"]);
}

function refused(result: CommandResult, words: RegExp): void {
  assert.equal(result.code, 1, result.stdout + result.stderr);
  assert.match(result.stderr, words);
  assert.doesNotMatch(result.stderr, /\n\s+at /, "a stack is not for users");
}

test("check proves a whole directory, and counts what is in it", () => {
  const { code, stdout } = pilothouse(["store", "check", whole]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, new RegExp(`whole: ${keys} keys, safe to revision ${keys + 1}\n`));
  assert.equal(pilothouse(["store", "check", whole]).stdout, stdout);
});

test("a flipped bit in a record: the start is refused, check says where and how much is safe", () => {
  const directory = copyOf("bit");
  flip(segmentOf(directory), 4096 + 56 * 8);
  refused(serve(directory), /cannot open the store in .*log-\d+: .*offset \d+/);
  const check = pilothouse(["store", "check", directory]);
  assert.equal(check.code, 1);
  assert.match(check.stdout, /bad record at offset \d+/);
  assert.match(check.stdout, /DAMAGED: safe to revision \d+; restore a snapshot to go on/);
  refused(pilothouse(["store", "dump", directory]), /offset \d+/);
});

test("a flipped bit in a header: refused, and named", () => {
  const directory = copyOf("header");
  flip(segmentOf(directory), 20);
  refused(serve(directory), /log-\d+: /);
  const check = pilothouse(["store", "check", directory]);
  assert.equal(check.code, 1);
  assert.match(check.stdout, /bad header at offset 0/);
});

test("a missing segment is named, with the one that shows the gap", () => {
  const directory = copyOf("missing");
  rmSync(segmentOf(directory));
  writeFileSync(join(directory, "log-0000000000000009"), readFileSync(segmentOf(whole)));
  refused(serve(directory), /cannot open the store/);
  assert.equal(pilothouse(["store", "check", directory]).code, 1);
  const gap = copyOf("gap");
  // Of a log whose first segment is gone: this one says of itself that it is the second.
  renumber(segmentOf(gap), 2);
  const words = /log-0000000000000001: log segment 1 is missing, but segment 2 is there: restore/;
  refused(serve(gap), words);
  const check = pilothouse(["store", "check", gap]);
  assert.equal(check.code, 1);
  assert.match(check.stdout, words);
});

/**
 * Many small segments and two checkpoints, as a store of gigabytes has: written by the store itself
 * with other limits, since the length of a segment is no part of the format.
 */
async function grown(name: string): Promise<{ directory: string; head: number }> {
  const directory = join(scratch, name);
  const host = {
    clock: new NodeClock(),
    random: new NodeRandom(),
    disk: new NodeDisk(),
    log: silentLog,
  };
  const limits = { ...recommendedOptions, ...smallEngine };
  const store = await openStore(host, { ...limits, engine: "local", directory });
  const value = Buffer.alloc(1000, "v");
  for (let i = 0; i < 300; i++) {
    await store.put(`k${i % 60}` as Key, value, {});
    if (i % 60 === 59) await store.compact(store.commitRevision);
    // The checkpoint that this asks for is written behind the puts.
    const asked = store.compactRevision;
    while (i % 60 === 59 && store.stats().engine.checkpointRevision < asked) {
      await new Promise(setImmediate);
    }
  }
  const head = store.commitRevision;
  await store.close();
  return { directory, head };
}

const smallEngine = { segmentBytes: 2 ** 15, checkpointLogBytes: 1, freeBytesMin: 0 };

function filesOf(directory: string, kind: "log" | "checkpoint"): readonly string[] {
  const names = readdirSync(directory).filter((name) => name.startsWith(`${kind}-`));
  return names.toSorted().map((name) => join(directory, name));
}

test("a flipped bit in the newest checkpoint: the one before it serves, and the log says which file and where", async () => {
  const { directory, head } = await grown("checkpoint");
  const newest = filesOf(directory, "checkpoint").at(-1) ?? "";
  const dump = pilothouse(["store", "dump", directory]).stdout;
  assert.equal(dump.trim().split("\n").length, 60);
  flip(newest, 4096 + 3000);
  const check = pilothouse(["store", "check", directory]);
  assert.equal(check.code, 1);
  assert.match(check.stdout, new RegExp(`${newest}: bad record at offset \\d+`));
  assert.match(check.stdout, new RegExp(`DAMAGED: safe to revision ${head};`));
  const store = await startStore(["--data-dir", directory, "--listen", "127.0.0.1:0"]);
  assert.match(store.output(), /a checkpoint is damaged; using the one before it/);
  assert.match(store.output(), new RegExp(`${newest}: bad record at offset \\d+`));
  const client = new EtcdClient(store.url);
  const { kvs, header } = await client.range({ key: "k", rangeEnd: "l" });
  assert.deepEqual([kvs.length, header?.revision], [60, head]);
  client.close();
  assert.equal(await store.stop(), 0);
  assert.equal(pilothouse(["store", "dump", directory]).stdout, dump);
});

test("flipped bits in both checkpoints: refused with file and offset; check names both, and how much is safe", async () => {
  const { directory } = await grown("checkpoints");
  const both = filesOf(directory, "checkpoint");
  assert.equal(both.length, 2);
  for (const path of both) flip(path, 4096 + 3000);
  refused(serve(directory), /cannot open the store in .*checkpoint-\d+: bad record at offset \d+/);
  const { code, stdout } = pilothouse(["store", "check", directory]);
  assert.equal(code, 1);
  for (const path of both) assert.match(stdout, new RegExp(`${path}: bad record at offset \\d+`));
  // The log before them has been trimmed: nothing can be rebuilt whole.
  assert.match(stdout, /DAMAGED: safe to revision 0;/);
});

test("a segment missing in the middle is named; what is safe is what the newest checkpoint holds", async () => {
  const { directory, head } = await grown("middle");
  const segments = filesOf(directory, "log");
  assert.ok(segments.length > 3, segments.join(" "));
  const middle = segments.at(1) ?? "";
  rmSync(middle);
  const words = (path: string): RegExp => new RegExp(`${path}: log segment \\d+ is missing, but`);
  refused(serve(directory), words(middle));
  const check = pilothouse(["store", "check", directory]);
  assert.equal(check.code, 1);
  assert.match(check.stdout, /log-\d+: segment \d+ is missing/);
  assert.match(check.stdout, new RegExp(`DAMAGED: safe to revision ${head};`));
});

test("a log that ends before its checkpoint has lost its end, and that is said", async () => {
  const { directory, head } = await grown("end");
  const lost = filesOf(directory, "log").slice(2);
  for (const path of lost) rmSync(path);
  // As it was before there was such a file, or when its operator has removed it.
  rmSync(join(directory, "NEWEST"));
  const words = new RegExp(`${lost[0]}: log segment \\d+ is missing, but there is a checkpoint`);
  refused(serve(directory), words);
  const { code, stdout } = pilothouse(["store", "check", directory]);
  assert.equal(code, 1);
  assert.match(stdout, words);
  assert.match(stdout, new RegExp(`DAMAGED: safe to revision ${head};`));
});

test("a log that lost its last segment, and whatever came after it, is not served without it", () => {
  const directory = copyOf("last");
  rmSync(segmentOf(directory));
  const words =
    /log-0{15}1: log segment 1 is missing, but NEWEST names segment 1: .* remove NEWEST/;
  refused(serve(directory), words);
  const check = pilothouse(["store", "check", directory]);
  assert.equal(check.code, 1);
  assert.match(check.stdout, words);
});

test("a segment that was begun is missed when the next one had been made ready only", async () => {
  const directory = copyOf("ready");
  writeFileSync(join(directory, "log-0000000000000003"), Buffer.alloc(8192));
  const words = /log-0{15}2: log segment 2 is missing, but segment 3 is there/;
  refused(serve(directory), words);
  assert.match(pilothouse(["store", "check", directory]).stdout, words);
});

/** A segment under another number, its header's checksum made anew. */
function renumber(path: string, number: number): void {
  const bytes = readFileSync(path);
  bytes.writeBigUInt64LE(BigInt(number), 32);
  bytes.writeUInt32LE(crc32c(bytes, 0, 60), 60);
  rmSync(path);
  writeFileSync(path.replace(/\d+$/, String(number).padStart(16, "0")), bytes);
}

test("a torn last batch is cut off, and only it", async () => {
  const directory = copyOf("torn");
  const path = segmentOf(directory);
  const bytes = readFileSync(path);
  const text = bytes.lastIndexOf(`value ${keys - 1}`);
  // The last put's own batch is the last thing that was written: half of it never came to be.
  truncateSync(path, text);
  const check = pilothouse(["store", "check", directory]);
  assert.equal(check.code, 0, check.stdout);
  assert.match(check.stdout, new RegExp(`torn[\\s\\S]*safe to revision ${keys}\n`));
  // The next segment is made ready in good time: the log ends in the one before it then.
  writeFileSync(join(directory, "log-0000000000000002"), Buffer.alloc(8192));
  const ready = pilothouse(["store", "check", directory]);
  assert.equal(ready.code, 0, ready.stdout);
  assert.match(ready.stdout, new RegExp(`torn[\\s\\S]*unused[\\s\\S]*safe to revision ${keys}\n`));
  const store = await startStore(["--data-dir", directory, "--listen", "127.0.0.1:0"]);
  const client = new EtcdClient(store.url);
  const { header } = await client.put({ key: "next" });
  assert.equal(header?.revision, keys + 1);
  client.close();
  assert.equal(await store.stop(), 0);
});

test("somebody else's directory is left alone; a store of a newer format is not misread", () => {
  const foreign = join(scratch, "foreign");
  mkdirSync(foreign);
  writeFileSync(join(foreign, "thesis.txt"), "years of work");
  refused(serve(foreign), /thesis\.txt/);
  assert.deepEqual(readdirSync(foreign), ["thesis.txt"]);
  for (const command of ["check", "dump", "stats"]) {
    refused(pilothouse(["store", command, foreign]), /no FORMAT file, so it is not a store/);
  }
  const newer = copyOf("newer");
  const format = readFileSync(join(newer, "FORMAT"), "utf8");
  writeFileSync(join(newer, "FORMAT"), format.replace(/format \d+/, "format 7"));
  const words =
    /FORMAT: store has format 7, this version reads formats 1 to 2: use the version that/;
  refused(serve(newer), words);
  for (const command of ["check", "dump", "stats"]) {
    refused(pilothouse(["store", command, newer]), words);
  }
});

test("a directory of the first format is upgraded by a start, and not by a look", async () => {
  const directory = join(scratch, "first");
  cpSync(join(root, "src/commit/store/testdata/format-1"), directory, { recursive: true });
  const said = (): string => readFileSync(join(directory, "FORMAT"), "utf8").split("\n")[0] ?? "";
  const dump = pilothouse(["store", "dump", directory]).stdout;
  assert.equal(pilothouse(["store", "check", directory]).code, 0);
  assert.equal(said(), "pilothouse-store format 1");
  const store = await startStore(["--data-dir", directory, "--listen", "127.0.0.1:0"]);
  assert.equal(await store.stop(), 0);
  assert.equal(said(), "pilothouse-store format 2");
  assert.equal(pilothouse(["store", "dump", directory]).stdout, dump);
});

test("a file of another store is refused", () => {
  const directory = copyOf("mixed");
  const other = join(scratch, "other");
  assert.equal(pilothouse(["store", "restore", snapshot, other]).code, 0);
  copyFileSync(segmentOf(other), segmentOf(directory));
  refused(serve(directory), /store/);
});

test("alarms that cannot be read are not taken for none", () => {
  const directory = copyOf("alarms");
  for (const text of ["nonsense", "pilothouse-store alarms 2\n"]) {
    writeFileSync(join(directory, "ALARMS"), text);
    refused(serve(directory), /ALARMS: not a file of alarms; remove it/);
  }
});

test("a note of the newest segment that cannot be read is not taken for none", () => {
  const directory = copyOf("newest");
  for (const text of ["nonsense", "pilothouse-store newest 2\nsegment 1\n"]) {
    writeFileSync(join(directory, "NEWEST"), text);
    refused(serve(directory), /NEWEST: does not name a segment; remove it/);
  }
});

test("a directory in use is refused by store and tools, and stays whole", async () => {
  const directory = copyOf("used");
  const store = await startStore(["--data-dir", directory, "--listen", "127.0.0.1:0"]);
  refused(serve(directory), /in use/);
  refused(pilothouse(["store", "check", directory]), /in use/);
  refused(pilothouse(["store", "restore", snapshot, directory]), /in use|not empty/);
  assert.equal(await store.stop(), 0);
  assert.equal(pilothouse(["store", "check", directory]).code, 0);
});

test("dump, stats and restore: the same keys, byte for byte", () => {
  const restored = join(scratch, "restored");
  const made = pilothouse(["store", "restore", snapshot, restored]);
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, new RegExp(`restored ${keys} keys and leases at revision ${keys + 1}`));
  const dump = pilothouse(["store", "dump", whole]).stdout;
  assert.equal(dump.trim().split("\n").length, keys);
  assert.equal(pilothouse(["store", "dump", restored]).stdout, dump);
  assert.deepEqual(JSON.parse(dump.split("\n")[0] ?? ""), {
    key: "/registry/k0",
    value: "value 0",
    createRevision: 2,
    modRevision: 2,
    version: 1,
  });
  const stats = pilothouse(["store", "stats", whole]);
  assert.match(stats.stdout, new RegExp(`keys +${keys}, versions ${keys}, leases 0`));
  assert.match(
    stats.stdout,
    /largest prefixes by bytes of values:\n {2}9 bytes in 1 keys {2}"\/registry\/k\d+"\n/,
  );
  refused(pilothouse(["store", "restore", snapshot, restored]), /not empty/);
});

test("a damaged or foreign snapshot makes no store", () => {
  const target = join(scratch, "never");
  const damaged = join(scratch, "damaged.db");
  copyFileSync(snapshot, damaged);
  flip(damaged, 5000);
  refused(pilothouse(["store", "restore", damaged, target]), /damaged: its checksum does not hold/);
  const short = join(scratch, "short.db");
  writeFileSync(short, readFileSync(snapshot).subarray(0, 4000));
  refused(pilothouse(["store", "restore", short, target]), /no snapshot is/);
  refused(pilothouse(["store", "restore", join(scratch, "none"), target]), /cannot read/);
  assert.throws(() => readdirSync(target));
});

test("--help of each command, and what it does not know", () => {
  for (const command of ["check", "dump", "stats", "restore"]) {
    const { code, stdout } = pilothouse(["store", command, "--help"]);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`Usage: pilothouse store ${command}`));
    refused(pilothouse(["store", command]), /missing required argument/);
  }
  assert.match(pilothouse(["store", "--help"]).stdout, /--data-dir[\s\S]*--quota[\s\S]*restore/);
  refused(pilothouse(["store", "--listen", "nowhere"]), /--listen takes host:port/);
  refused(pilothouse(["store", "--cert", "a"]), /TLS needs both --cert and --key/);
});

test("a directory that cannot be written is refused", (t) => {
  const probe = run("mount", ["-t", "tmpfs", "tmpfs", mkdir("ro")], {});
  if (probe.code !== 0) return t.skip(`no tmpfs can be mounted here: ${probe.stderr.trim()}`);
  const directory = join(scratch, "ro");
  t.after(() => run("umount", [directory], {}));
  cpSync(whole, directory, { recursive: true });
  assert.equal(run("mount", ["-o", "remount,ro", directory], {}).code, 0);
  refused(serve(directory), /cannot open the store in .*(EROFS|read-only)/i);
  assertReadable(directory);
  assert.equal(run("mount", ["-o", "remount,rw", directory], {}).code, 0);
  for (const name of ["LOCK", "LOCK.holder"]) rmSync(join(directory, name));
  assert.equal(run("mount", ["-o", "remount,ro", directory], {}).code, 0);
  assertReadable(directory);
});

test("check, dump and stats leave a directory as they found it, whether a store ever ran in it or not", async () => {
  for (const directory of [whole, copyOf("looked-at")]) {
    const found = namesAndTimes(directory);
    assertReadable(directory);
    assert.deepEqual(namesAndTimes(directory), found);
  }
  const store = await startStore(["--data-dir", copyOf("running"), "--listen", "127.0.0.1:0"]);
  for (const command of ["check", "dump", "stats"]) {
    const result = pilothouse(["store", command, join(scratch, "running")]);
    refused(result, new RegExp(`in use by process ${store.child.pid}: stop that one first`));
  }
  assert.equal(await store.stop(), 0);
});

function assertReadable(directory: string): void {
  assert.match(pilothouse(["store", "check", directory]).stdout, /whole: 200 keys/);
  assert.equal(pilothouse(["store", "dump", directory]).stdout.split("\n").length, keys + 1);
  assert.equal(pilothouse(["store", "stats", directory]).code, 0);
}

function namesAndTimes(directory: string): readonly string[] {
  return readdirSync(directory).map((name) => `${name} ${statSync(join(directory, name)).mtimeMs}`);
}

function mkdir(name: string): string {
  mkdirSync(join(scratch, name));
  return join(scratch, name);
}
