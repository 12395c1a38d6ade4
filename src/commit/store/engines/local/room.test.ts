/** Whose look at the disk a put is refused by. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Log } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { keepingLog } from "../../testing/fixture.ts";
import { LocalRoom } from "./room.ts";

/** A disk that answers on command, with the free space at the time of the question. */
class SlowDisk {
  free = 0;
  /** Answers under way. */
  readonly looks: (() => void)[] = [];
  broken = false;

  freeBytes(): Promise<number> {
    const { free, broken } = this;
    return new Promise((resolve, reject) => {
      this.looks.push(() => (broken ? reject(new Error("EIO")) : resolve(free)));
    });
  }
}

function newRoom(): { room: LocalRoom; disk: SlowDisk; clock: FakeClock; lines: string[] } {
  const disk = new SlowDisk();
  const clock = new FakeClock();
  const lines: string[] = [];
  const log: Log = keepingLog(lines);
  const room = new LocalRoom({ disk, clock, log }, { directory: "/data", freeBytesMin: 100 });
  return { room, disk, clock, lines };
}

void test("a look is answered by what was free after it was asked for, not by one under way", async () => {
  const { room, disk } = newRoom();
  const early = room.look();
  await settle();
  disk.free = 100;
  const late = room.look();
  const shared = room.look();
  await settle();
  assert.equal(disk.looks.length, 1, "one look at a time");
  disk.looks[0]?.();
  assert.equal((await early).kind, "no-space");
  assert.equal(room.known.kind, "no-space");
  await settle();
  disk.looks[1]?.();
  assert.equal((await late).kind, "ok");
  assert.equal(await shared, await late);
  assert.equal(disk.looks.length, 2, "who asks during a look shares the next");
});

void test("what is known is looked at again once a second while somebody asks", async () => {
  const { room, disk, clock } = newRoom();
  const known = (): string => room.known.kind;
  assert.equal(known(), "ok");
  await settle();
  disk.looks[0]?.();
  await settle();
  assert.equal(known(), "no-space");
  clock.tick(999);
  assert.equal(known(), "no-space");
  await settle();
  assert.equal(disk.looks.length, 1);
  clock.tick(1);
  assert.equal(known(), "no-space");
  await settle();
  assert.equal(disk.looks.length, 2);
});

void test("a look that fails is told, and leaves what was known", async () => {
  const { room, disk, lines } = newRoom();
  disk.broken = true;
  const look = room.look();
  await settle();
  disk.looks[0]?.();
  assert.equal((await look).kind, "ok");
  assert.deepEqual(lines, ['warn cannot see how much room the disk has {"error":"Error: EIO"}']);
});

void test("what is known is looked at again after an eighth of the reserve was written", async () => {
  const { room, disk } = newRoom();
  const known = async (): Promise<string> => {
    const { kind } = room.known;
    await settle();
    disk.looks.at(-1)?.();
    await settle();
    return kind;
  };
  disk.free = 112;
  assert.equal(await known(), "ok");
  disk.free = 99;
  room.wrote(12);
  assert.equal(await known(), "ok");
  assert.equal(disk.looks.length, 1);
  room.wrote(1);
  assert.equal(await known(), "ok", "by the look before");
  assert.equal(await known(), "no-space");
  assert.equal(disk.looks.length, 2, "one look for what was written");
});
