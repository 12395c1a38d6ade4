/** Directories that earlier formats wrote open, go on, and then say that they are the newest. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { NodeDisk } from "#platform/node/disk.ts";
import { checkDirectory } from "../check.ts";
import type { FullStore } from "../embedded.ts";
import { openStore } from "../open.ts";
import { withDirectory } from "../read-only.ts";
import { bytes, key, newWorld, smallOptions, text } from "../testing/fixture.ts";

const testdata = join(import.meta.dirname, "../testdata");

function values(store: FullStore): Record<string, string> {
  const all = store.range({ start: key(""), end: key("\u00ff") });
  assert.equal(all.kind, "ok");
  const kvs = all.kind === "ok" ? all.kvs : [];
  return Object.fromEntries(kvs.map((kv) => [kv.key, text(kv.value).split(" x")[0] as string]));
}

const inFormat1 = {
  both: "1",
  k0: "2",
  k2: "value 34",
  k4: "value 36",
  k5: "value 37",
  k6: "value 38",
  k7: "value 39",
  last: "end",
  leased: "l",
};

void test("a directory of format 1 opens, takes writes beside the old records, and is of format 2 then", async () => {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-format-"));
  const world = { ...newWorld(1), disk: new NodeDisk() };
  const options = { ...smallOptions, engine: "local", directory, checkpointLogBytes: 1 } as const;
  try {
    cpSync(join(testdata, "format-1"), directory, { recursive: true });
    const store = await openStore(world, options);
    assert.deepEqual(values(store), inFormat1);
    assert.deepEqual([store.commitRevision, store.compactRevision], [45, 42]);
    await store.put(key("new"), bytes("xxh"), {});
    await store.close();
    assert.match(readFileSync(join(directory, "FORMAT"), "latin1"), /^pilothouse-store format 2\n/);
    const report = await withDirectory(world.disk, directory, (disk) =>
      checkDirectory({ ...world, disk }, directory),
    );
    assert.deepEqual([report.problems, report.safeRevision], [[], 46]);
    const again = await openStore(world, options);
    assert.deepEqual(values(again), { ...inFormat1, new: "xxh" });
    await again.close();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

void test("a flipped bit in a record of format 1 is found", async () => {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-format-"));
  const world = { ...newWorld(1), disk: new NodeDisk() };
  try {
    cpSync(join(testdata, "format-1"), directory, { recursive: true });
    const file = await world.disk.open(join(directory, "log-0000000000000001"), "write");
    const [byte] = await file.read(4096 + 200, 1);
    await file.write([Uint8Array.of((byte as number) ^ 4)], 4096 + 200);
    await file.close();
    const report = await withDirectory(world.disk, directory, (disk) =>
      checkDirectory({ ...world, disk }, directory),
    );
    assert.match(report.problems.join("\n"), /log-0{15}1: bad record at offset 4\d\d\d/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
