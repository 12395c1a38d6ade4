/** The host's disk, clock, log and randomness keep their contracts. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execPath, pid } from "node:process";
import { test } from "node:test";
import { DiskError } from "../disk.ts";
import { NodeClock } from "./clock.ts";
import { NodeDisk } from "./disk.ts";
import { nodeLog } from "./log.ts";
import { NodeRandom } from "./random.ts";

async function inTemporary(f: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "pilothouse-disk-"));
  try {
    await f(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

const withCode = (code: string) => (error: unknown) =>
  error instanceof DiskError && error.code === code;

void test("what is written in several buffers is read back, and reads stop at the end", () =>
  inTemporary(async (directory) => {
    const disk = new NodeDisk();
    const path = join(directory, "deep", "file");
    await disk.makeDirectory(join(directory, "deep"));
    const file = await disk.open(path, "create");
    await file.extend(10);
    const buffers = Array.from({ length: 1500 }, (_, i) => Uint8Array.of(i & 255));
    await file.write(buffers, 4);
    await file.sync();
    await file.writeDurably([Uint8Array.of(0), Uint8Array.of(1)], 4);
    const many = Array.from({ length: 1500 }, () => Uint8Array.of(9));
    assert.equal(file.writeDurablyAtOnce(many, 4), undefined);
    assert.equal((await file.read(1503, 1))[0], 9);
    await file.write(buffers, 4);
    assert.equal(file.writeDurablyAtOnce([Uint8Array.of(0), Uint8Array.of(1)], 4), undefined);
    assert.equal(await file.size(), 1504);
    assert.deepEqual([...(await file.read(2, 4))], [0, 0, 0, 1]);
    assert.deepEqual([...(await file.read(1502, 100))], [1498 & 255, 1499 & 255]);
    await file.truncate(5);
    assert.equal(await file.size(), 5);
    await file.close();
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    await disk.rename(path, `${path}2`);
    await disk.syncDirectory(join(directory, "deep"));
    assert.deepEqual(await disk.list(join(directory, "deep")), ["file2"]);
    assert.ok((await disk.freeBytes(directory)) > 0);
    await disk.remove(`${path}2`);
  }));

void test("failures are DiskErrors with the host's code and the path", () =>
  inTemporary(async (directory) => {
    const disk = new NodeDisk();
    await assert.rejects(disk.open(join(directory, "no"), "write"), withCode("ENOENT"));
    await assert.rejects(disk.open(join(directory, "no"), "read"), /cannot open .*no/);
    await (await disk.open(join(directory, "yes"), "create")).close();
    await assert.rejects(disk.open(join(directory, "yes"), "create"), withCode("EEXIST"));
    await assert.rejects(disk.list(join(directory, "no")), withCode("ENOENT"));
  }));

void test("a directory is locked against this process and others, and freed by release and by death", () =>
  inTemporary(async (directory) => {
    const disk = new NodeDisk();
    const module = new URL("./disk.ts", import.meta.url).href;
    const script = `import { NodeDisk } from ${JSON.stringify(module)};
      await new NodeDisk().lock(${JSON.stringify(directory)}).then(
        () => process.kill(process.pid, "SIGKILL"), (error) => console.log(error.message));`;
    const other = (): string => {
      const args = ["--input-type=module", "--eval", script];
      return spawnSync(execPath, args, { encoding: "utf8" }).stdout;
    };
    const lock = await disk.lock(directory);
    await assert.rejects(disk.lock(directory), withCode("ELOCKED"));
    assert.match(other(), new RegExp(`in use by process ${pid}:`));
    await lock.release();
    assert.equal(other(), "");
    await (await disk.lock(directory)).release();
  }));

void test("who reads a directory keeps others from locking it, not from reading it, and leaves it as it was", () =>
  inTemporary(async (directory) => {
    const disk = new NodeDisk();
    const unlocked = await disk.lockForReading(directory);
    assert.deepEqual(await disk.list(directory), []);
    await unlocked.release();
    const overtaken = await disk.lockForReading(directory);
    const lock = await disk.lock(directory);
    await assert.rejects(overtaken.release(), withCode("ELOCKED"));
    await assert.rejects(disk.lockForReading(directory), new RegExp(`by process ${pid}:`));
    await lock.release();
    const [one, other] = [
      await disk.lockForReading(directory),
      await disk.lockForReading(directory),
    ];
    await assert.rejects(disk.lock(directory), /in use by who reads it/);
    await one.release();
    await assert.rejects(disk.lock(directory), withCode("ELOCKED"));
    await other.release();
    await (await disk.lock(directory)).release();
  }));

void test("a timer never fires early, even after the loop was held up, and can be cancelled", async () => {
  const clock = new NodeClock();
  const startMs = clock.monotonicMs();
  while (clock.monotonicMs() < startMs + 5);
  const armedMs = clock.monotonicMs();
  const cancelled = clock.after("sim.step", 1, () => assert.fail());
  cancelled.cancel();
  // Timers are unref'd; something must keep the process alive meanwhile.
  const alive = setInterval(() => {}, 1000);
  await new Promise<void>((resolve) => void clock.after("sim.step", 10, resolve));
  clearInterval(alive);
  assert.ok(clock.monotonicMs() - armedMs >= 10);
});

void test("log lines are JSON with level, time, message and fields", () => {
  const lines: string[] = [];
  const log = nodeLog({ level: "info", destination: { write: (line) => void lines.push(line) } });
  log.child({ room: "store" }).warn("careful", { revision: 5 });
  log.debug("unseen");
  assert.equal(lines.length, 1);
  const { time, ...rest } = JSON.parse(lines[0] as string) as Record<string, unknown>;
  assert.deepEqual(rest, { level: "warn", room: "store", revision: 5, msg: "careful" });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
});

void test("randomness comes in bytes, bounded integers and UUIDs", () => {
  const random = new NodeRandom();
  assert.equal(random.bytes(7).length, 7);
  assert.equal(random.below(1), 0);
  assert.match(random.uuid(), /^[0-9a-f-]{36}$/);
});
