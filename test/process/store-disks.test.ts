/**
 * Disks that fill up and disks that fail, under the real process: whatever was acknowledged is there after
 * the mending. Where the host lets nobody mount, they skip and say so.
 */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { headerBytes } from "#store/record.ts";
import { startStore, type RunningStore } from "./store-harness.ts";
import { pilothouse, removeDirectory, run, temporaryDirectory } from "./harness.ts";

const scratch = temporaryDirectory("disks");
after(() => removeDirectory(scratch));

test("a disk that runs full: puts are refused, deletes and compaction go on, and the store stays whole", async (t) => {
  const directory = mkdir("full");
  // Puts are refused below 256 MiB free, so that deletes and compaction still have room.
  const probe = run("mount", ["-t", "tmpfs", "-o", "size=280m", "tmpfs", directory], {});
  if (probe.code !== 0) return t.skip(`no tmpfs can be mounted here: ${probe.stderr.trim()}`);
  t.after(() => run("umount", [directory], {}));
  const data = join(directory, "data");
  const store = await startStore(["--data-dir", data, "--listen", "127.0.0.1:0"]);
  const client = new EtcdClient(store.url);
  let acknowledged = 0;
  const put = async (): Promise<void> => {
    await client.put({ key: `k${acknowledged}`, value: Buffer.alloc(100_000) });
    acknowledged++;
  };
  const filling = (async () => {
    for (;;) await put();
  })();
  await assert.rejects(filling, /mvcc: database space exceeded/);
  assert.equal(
    (await client.range({ key: "k", rangeEnd: "l", countOnly: true })).count,
    acknowledged,
  );
  const { header } = await client.deleteRange({ key: "k", rangeEnd: "l" });
  await client.compact(header?.revision ?? 0);
  client.close();
  assert.equal(await store.stop(), 0, store.output());
  const check = pilothouse(["store", "check", data]);
  assert.equal(check.code, 0, check.stdout);
});

/**
 * Puts until one is not acknowledged, and the process that served them has ended. Each record is one
 * page, on a page: Linux's loop device takes a write that its file had room for only in part for a
 * success, so what is larger than a page would be lost by the host, not by us.
 */
async function fillUntilItStops(store: RunningStore): Promise<number> {
  const client = new EtcdClient(store.url);
  const valueBytes = pageBytes - headerBytes - keyOf(0).length;
  // Makes up for the record of the opening, which is a header alone.
  const first = valueBytes - headerBytes;
  let acknowledged = 0;
  const filling = (async () => {
    for (;;) {
      const value = Buffer.alloc(acknowledged === 0 ? first : valueBytes, 1);
      await client.put({ key: keyOf(acknowledged), value });
      acknowledged++;
    }
  })();
  await assert.rejects(filling);
  assert.equal(await store.exited, 1);
  client.close();
  return acknowledged;
}

const pageBytes = 4096;
const keyOf = (i: number): string => `k${String(i).padStart(7, "0")}`;

async function holds(directory: string, acknowledged: number): Promise<void> {
  const check = pilothouse(["store", "check", directory]);
  assert.equal(check.code, 0, check.stdout);
  const store = await startStore(["--data-dir", directory, "--listen", "127.0.0.1:0"]);
  const client = new EtcdClient(store.url);
  const { kvs } = await client.range({ key: "k", rangeEnd: "l", keysOnly: true });
  const found = new Set(kvs.map(({ key }) => Buffer.from(key).toString()));
  for (let i = 0; i < acknowledged; i++) assert.ok(found.has(keyOf(i)), `${keyOf(i)} is lost`);
  // One more may have reached the disk before its writer got the answer.
  assert.ok(kvs.length <= acknowledged + 1, `${kvs.length} keys, ${acknowledged} acknowledged`);
  await client.put({ key: "on", value: Buffer.from("it goes") });
  client.close();
  assert.equal(await store.stop(), 0);
}

const stopped = /the store has stopped: cannot (write|sync) .*; nothing acknowledged is lost; mend/;

test("a disk that fails a durable write: the process stops and says so; after the mending all is there", async (t) => {
  const [outer, directory] = [mkdir("thin-outer"), mkdir("thin")];
  const image = join(outer, "image");
  // Thin provisioning: a filesystem of 1 GiB on a disk that has 12 MiB of it. It takes every write
  // into its cache, and learns when it writes back that there is no block. No journal, and no tables
  // made behind our back: their writes would be cut as well.
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ["mount", ["-t", "tmpfs", "-o", "size=12m", "tmpfs", outer]],
    ["truncate", ["-s", "1G", image]],
    ["mkfs.ext4", ["-q", "-F", "-O", "^has_journal", image]],
    ["mount", ["-o", "loop,noinit_itable", image, directory]],
  ];
  // Lazily: a failed assertion leaves a store running on it.
  t.after(() => {
    run("umount", ["-l", directory], {});
    run("umount", ["-l", outer], {});
  });
  for (const [command, args] of steps) {
    const { code, stderr } = run(command, args, {});
    if (code !== 0) return t.skip(`no thin disk can be made here: ${command}: ${stderr.trim()}`);
  }
  const data = join(directory, "data");
  const store = await startStore(["--data-dir", data, "--listen", "127.0.0.1:0"]);
  const acknowledged = await fillUntilItStops(store);
  assert.ok(acknowledged > 10, `${acknowledged} acknowledged`);
  assert.match(store.output(), stopped);
  // What was only in the host's cache goes with the filesystem.
  assert.equal(run("umount", [directory], {}).code, 0);
  assert.equal(run("mount", ["-o", "remount,size=300m", outer], {}).code, 0);
  assert.equal(run("mount", ["-o", "loop,noinit_itable", image, directory], {}).code, 0);
  await holds(data, acknowledged);
});

test("a disk that somebody else fills: no room behind a segment's length stops the process, and loses nothing", async (t) => {
  const directory = mkdir("holes");
  const probe = run("mount", ["-t", "tmpfs", "-o", "size=300m", "tmpfs", directory], {});
  if (probe.code !== 0) return t.skip(`no tmpfs can be mounted here: ${probe.stderr.trim()}`);
  t.after(() => run("umount", [directory], {}));
  const data = join(directory, "data");
  const store = await startStore(["--data-dir", data, "--listen", "127.0.0.1:0"]);
  const client = new EtcdClient(store.url);
  await client.put({ key: keyOf(0), value: Buffer.from("there was room") });
  client.close();
  // Segments are sparse here: their length is no promise of room.
  const ballast = join(directory, "ballast");
  const { bavail, bsize } = statfsSync(directory);
  assert.equal(run("fallocate", ["-l", String(bavail * bsize), ballast], {}).code, 0);
  const late = new EtcdClient(store.url);
  // The store looks for room once a second, and this comes sooner or is what makes it look.
  await assert.rejects(late.put({ key: keyOf(1), value: Buffer.alloc(1_000_000, 1) }));
  late.close();
  assert.equal(await store.exited, 1);
  assert.match(store.output(), stopped);
  assert.match(store.output(), /ENOSPC/);
  rmSync(ballast);
  await holds(data, 1);
});

function mkdir(name: string): string {
  mkdirSync(join(scratch, name));
  return join(scratch, name);
}
