/**
 * How a directory changes across formats and versions: one test for each sentence of "How this changes" in
 * FORMAT.md. `--rewrite` as the last argument keeps a directory of the newest format, if none is kept yet.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { crc32c } from "#base/crc32c.ts";
import { checkDirectory } from "../../check.ts";
import type { FullStore } from "../../full-store.ts";
import { headerBytes, RecordKind, RecordReader, recordSize, recordSpace } from "../../record.ts";
import { writeRecord } from "../../record.ts";
import { loadReadOnly, withDirectory } from "../../read-only.ts";
import { restoreSnapshot } from "../../restore.ts";
import type { Key } from "../../store.ts";
import { bytes, key, newWorld, testDirectory, text } from "../../testing/fixture.ts";
import type { World } from "../../testing/fixture.ts";
import {
  filesOf,
  filesOfFormat,
  formatDirectory,
  openCourse,
  runCourse,
  worldWith,
} from "../../testing/format-course.ts";
import type { Files } from "../../testing/format-course.ts";
import { fileHeaderBytes, formatVersion } from "./files.ts";

const everything = { start: key(""), end: "\u0100" as Key };
const firstLine = (format: number): string => `pilothouse-store format ${format}\n`;

function values(store: FullStore): Record<string, string> {
  const all = store.range(everything);
  assert.ok(all.kind === "ok");
  return Object.fromEntries(all.kvs.map((kv) => [kv.key, text(kv.value).split(" x")[0] as string]));
}

const held: readonly { readonly format: number; readonly values: Record<string, string> }[] = [
  {
    format: 1,
    values: {
      both: "1",
      k0: "2",
      k2: "value 34",
      k4: "value 36",
      k5: "value 37",
      k6: "value 38",
      k7: "value 39",
      last: "end",
      leased: "l",
    },
  },
  {
    format: 2,
    values: {
      "\u0000\u00ff": "",
      both: "1",
      k0: "2",
      k2: "value 74",
      k4: "value 76",
      k5: "value 77",
      k6: "value 78",
      k7: "value 79",
      last: "end",
      leased: "l",
    },
  },
];

function formatSaid(files: Files): string {
  return Buffer.from(files.get("FORMAT") ?? "").toString("latin1");
}

/** `assert.deepEqual` prints every byte. */
function same(files: Files, expected: Files): void {
  assert.deepEqual([...files.keys()], [...expected.keys()]);
  for (const [name, content] of files) {
    assert.ok(Buffer.compare(content, expected.get(name) as Uint8Array) === 0, `${name} differs`);
  }
}

function checked(world: World) {
  return withDirectory(world.disk, testDirectory, (disk) =>
    checkDirectory({ ...world, disk }, testDirectory),
  );
}

/** Marks and kinds of all records, groups' changes included. */
function recordsIn(files: Files): { readonly marks: Set<string>; readonly kinds: Set<number> } {
  const found = { marks: new Set<string>(), kinds: new Set<number>() };
  const see = (content: Uint8Array, from: number, end: number): void => {
    const reader = new RecordReader(content);
    for (let at = from; at < end; at += reader.size(at)) {
      if (reader.plausibleSize(at) === 0) return;
      found.marks.add(Buffer.from(content.subarray(at + 8, at + 10)).toString());
      found.kinds.add(reader.kind(at));
      if (reader.kind(at) === RecordKind.group)
        see(content, at + headerBytes, at + reader.size(at));
    }
  };
  for (const [name, content] of files) {
    if (/^(log|checkpoint)-/.test(name)) see(content.slice(), fileHeaderBytes, content.length);
  }
  return found;
}

function withFile(files: Files, name: string, change: (content: Uint8Array) => Uint8Array): Files {
  const content = files.get(name);
  assert.ok(content !== undefined, name);
  return new Map([...files, [name, change(content.slice())]]);
}

/** The header's fields as `change` leaves them, under a right checksum. */
function withHeader(files: Files, name: string, change: (view: DataView) => void): Files {
  return withFile(files, name, (content) => {
    const view = new DataView(content.buffer, content.byteOffset);
    change(view);
    view.setUint32(60, crc32c(content, 0, 60), true);
    return content;
  });
}

/** The last one that holds something: a segment made ready is zeros. */
function newest(files: Files, kind: "log" | "checkpoint"): string {
  const held = [...files].filter(([name, content]) => name.startsWith(kind) && content[0] !== 0);
  return held.at(-1)?.[0] ?? assert.fail(kind);
}

if (process.argv.includes("--rewrite")) {
  const directory = formatDirectory(formatVersion);
  assert.ok(!existsSync(directory), `${directory} is kept: what was written once is not rewritten`);
  mkdirSync(directory);
  for (const [name, content] of await runCourse()) writeFileSync(join(directory, name), content);
}

void test("what is written is the newest format to the byte, with every kind of record", async () => {
  const [written, kept] = [new Map(await runCourse()), filesOfFormat(formatVersion)];
  // A newer file, as FORMAT.md allows: the kept directory was made before it. Segment 5 was only prepared.
  const newest = Buffer.from(written.get("NEWEST") ?? "").toString();
  assert.equal(newest, "pilothouse-store newest 1\nsegment 4\n");
  written.delete("NEWEST");
  assert.deepEqual([...written.keys()], [...kept.keys()]);
  for (const [name, content] of written) {
    const same = Buffer.compare(content, kept.get(name) ?? new Uint8Array()) === 0;
    assert.ok(same, `${name} is another than before: FORMAT.md says what needs a new format`);
  }
  assert.deepEqual([...recordsIn(written).kinds].toSorted(), Object.values(RecordKind));
});

for (const { format, values: expected } of held) {
  void test(`a directory of format ${format} opens, takes writes beside the old records, and is of the newest then`, async () => {
    const files = filesOfFormat(format);
    assert.ok(formatSaid(files).startsWith(firstLine(format)));
    const world = await worldWith(files);
    let store = await openCourse(world);
    assert.deepEqual(values(store), expected);
    assert.ok(formatSaid(await filesOf(world)).startsWith(firstLine(formatVersion)));
    await store.put(key("new"), bytes("n"), {});
    await store.close();
    const report = await checked(world);
    assert.deepEqual([report.problems, report.keys], [[], Object.keys(expected).length + 1]);
    store = await openCourse(world);
    assert.deepEqual(values(store), { ...expected, new: "n" });
    await store.close();
  });

  void test(`the tools read a directory of format ${format} and leave it as it is`, async () => {
    const files = new Map([...filesOfFormat(format), ["half.tmp", bytes("left over")]]);
    const world = await worldWith(files);
    const before = await filesOf(world);
    assert.deepEqual((await checked(world)).problems, []);
    await withDirectory(world.disk, testDirectory, (disk) =>
      loadReadOnly({ ...world, disk }, testDirectory),
    );
    same(await filesOf(world), before);
  });

  void test(`segments of any length are read in format ${format}`, async () => {
    for (const segmentBytes of [4096 + 512, 2 ** 16]) {
      const world = await worldWith(filesOfFormat(format));
      for (let life = 0; life < 3; life++) {
        const store = await openCourse(world, { segmentBytes });
        for (let i = 0; i < 20; i++) await store.put(key("k0"), bytes(`${life} ${i}`), {});
        await store.close();
      }
      assert.deepEqual((await checked(world)).problems, []);
      const store = await openCourse(world);
      assert.deepEqual(values(store), { ...expected, k0: "2 19" });
      await store.close();
    }
  });

  void test(`a flipped bit in a record of format ${format} is found`, async () => {
    const world = await worldWith(filesOfFormat(format));
    world.disk.corrupt(`${testDirectory}/log-0000000000000001`, fileHeaderBytes + 200, 4);
    assert.match(
      (await checked(world)).problems.join("\n"),
      /log-\d+: bad record at offset 4\d\d\d/,
    );
  });
}

void test("checkpoints copy old records as they are, and old files go as new checkpoints come", async () => {
  const world = await worldWith(filesOfFormat(1));
  assert.deepEqual([...recordsIn(await filesOf(world)).marks], ["PH"]);
  const store = await openCourse(world);
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 60; i++) await store.put(key("new"), bytes("n".repeat(200)), {});
    await store.compact(store.commitRevision);
    await world.clock.advance(60_000);
  }
  await store.close();
  const files = await filesOf(world);
  for (const name of filesOfFormat(1).keys())
    assert.ok(name === "FORMAT" || !files.has(name), name);
  const checkpoint = newest(files, "checkpoint");
  const inCheckpoint = new Map([[checkpoint, files.get(checkpoint) as Uint8Array]]);
  assert.deepEqual([...recordsIn(inCheckpoint).marks].toSorted(), ["PH", "PX"]);
  assert.deepEqual((await checked(world)).problems, []);
});

void test("an upgrade that a power cut ends anywhere leaves an old directory or a new one, and nothing lost", async () => {
  const old = filesOfFormat(1);
  const expected = held[0]?.values;
  let crashes = 0;
  for (let step = 1; ; step++) {
    const world = await worldWith(old, step);
    world.disk.crashAfter(world.disk.steps + step);
    const opening = openCourse(world).then((store) => store.put(key("new"), bytes("n"), {}));
    const ended = await Promise.race([opening, world.disk.crashed.then(() => "crash")]);
    if (ended !== "crash") break;
    crashes++;
    world.disk = world.disk.survivor();
    const files = await filesOf(world);
    const said = formatSaid(files);
    if (said.startsWith(firstLine(1)))
      assert.deepEqual([...recordsIn(files).marks], ["PH"], `${step}`);
    else assert.ok(said.startsWith(firstLine(2)), `step ${step}: ${said}`);
    const store = await openCourse(world);
    const { new: _maybe, ...rest } = values(store);
    assert.deepEqual(rest, expected, `step ${step}`);
    await store.close();
  }
  assert.ok(crashes > 20, `${crashes} crashes`);
});

void test("a damaged directory is not upgraded", async () => {
  const world = await worldWith(filesOfFormat(1));
  world.disk.corrupt(`${testDirectory}/log-0000000000000002`, fileHeaderBytes + 20, 4);
  const before = new Map(await filesOf(world));
  await assert.rejects(openCourse(world), /log-0{15}2: bad record at offset 4096/);
  // Made ready, and nothing in it: any version removes it.
  before.delete("log-0000000000000003");
  same(await filesOf(world), before);
});

const unread = `this version reads formats 1 to ${formatVersion}: use the version that wrote it`;
const says = (what: string): RegExp => new RegExp(`${what} has format 7, ${unread}$`);

void test("a newer format is told by FORMAT's first line, whatever follows it, and nothing is touched", async () => {
  for (const rest of ["id 6f1c3c0e-8d0a-4b52-9b86-0c6f6a3f9d11\n", "shards 4\n", ""]) {
    const files = withFile(filesOfFormat(formatVersion), "FORMAT", () =>
      bytes(firstLine(7) + rest),
    );
    const world = await worldWith(new Map([...files, ["half.tmp", bytes("left over")]]));
    const before = await filesOf(world);
    await assert.rejects(openCourse(world), says("/FORMAT: store"));
    await assert.rejects(checked(world), says("/FORMAT: store"));
    same(await filesOf(world), before);
  }
  const more = withFile(filesOfFormat(formatVersion), "FORMAT", (old) =>
    Buffer.concat([old, bytes("a 1\n")]),
  );
  await assert.rejects(openCourse(await worldWith(more)), /FORMAT: not a format file of a store/);
});

void test("a file of a newer format is refused by name, whatever FORMAT says, and is not taken for an empty one", async () => {
  const files = filesOfFormat(formatVersion);
  for (const kind of ["log", "checkpoint"] as const) {
    const name = newest(files, kind);
    const damaged = withFile(files, name, (content) => content.subarray(0, fileHeaderBytes));
    for (const base of [files, damaged]) {
      const newer = withHeader(base, name, (view) => view.setUint32(8, 7, true));
      const world = await worldWith(newer);
      const before = await filesOf(world);
      await assert.rejects(openCourse(world), says(`/${name}:`));
      assert.match((await checked(world)).problems.join("\n"), new RegExp(`${name}: has format 7`));
      same(await filesOf(world), before);
    }
  }
});

void test("a snapshot of a newer format says so; one of an older format is restored", async () => {
  for (const format of [1, 7]) {
    const files = filesOfFormat(Math.min(format, formatVersion));
    const name = newest(files, "checkpoint");
    const of = withHeader(files, name, (view) => view.setUint32(8, format, true));
    const world = await worldWith(new Map([[name, of.get(name) as Uint8Array]]));
    const path = `${testDirectory}/${name}`;
    const file = await world.disk.open(path, "read");
    const restoring = restoreSnapshot(world, { file, path }, "/restored");
    if (format === 7) {
      await assert.rejects(restoring, says(`/${name}:`));
      continue;
    }
    assert.equal((await restoring).revision, Number(name.split("-")[1]));
    const said = Buffer.from(world.disk.peek("/restored/FORMAT")).toString();
    assert.ok(said.startsWith(firstLine(formatVersion)));
    const report = await withDirectory(world.disk, "/restored", (disk) =>
      checkDirectory({ ...world, disk }, "/restored"),
    );
    assert.deepEqual(report.problems, []);
  }
});

void test("what an older version may ignore it ignores: a header's spare bytes, and files of other names", async () => {
  const files = filesOfFormat(formatVersion);
  let changed = files;
  for (const name of files.keys()) {
    if (name === "FORMAT") continue;
    changed = withHeader(changed, name, (view) => view.setUint32(56, 0xffff, true));
    changed = withFile(changed, name, (content) => content.fill(7, 64, fileHeaderBytes));
  }
  const world = await worldWith(new Map([...changed, ["INDEX", bytes("of a later version")]]));
  assert.deepEqual((await checked(world)).problems, []);
  const store = await openCourse(world);
  assert.deepEqual(values(store), held.at(-1)?.values);
  await store.close();
  assert.deepEqual(text((await filesOf(world)).get("INDEX") ?? bytes("")), "of a later version");
});

void test("a kind of record that is not known is damage, never skipped", async () => {
  const world = newWorld(3);
  const store = await openCourse(world);
  await store.put(key("a"), bytes("1"), {});
  await store.close();
  const name = "log-0000000000000001";
  const files = withFile(await filesOf(world), name, (content) => {
    const reader = new RecordReader(content.slice());
    let at = fileHeaderBytes;
    while (reader.plausibleSize(at) > 0) at += reader.size(at);
    const space = recordSpace(new Uint8Array(recordSize(0, 0)));
    const fields = {
      epoch: 1,
      batchOffset: 0,
      revision: 2,
      createRevision: 0,
      version: 0,
      lease: 0n,
    };
    writeRecord(space, 0, { ...fields, kind: 9 as RecordKind }, "", new Uint8Array());
    content.set(space.bytes, at);
    return content;
  });
  const words = /log-0{15}1: record of unexpected kind 9 at offset \d+; restore/;
  await assert.rejects(openCourse(await worldWith(files)), words);
  assert.match((await checked(await worldWith(files))).problems.join("\n"), words);
});
