/** When memory is given back: after a busy time, not in it, and not again and again for nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type MemoryHost, SpareMemory, spareMemoryDefaults } from "./spare-memory.ts";
import { FakeClock } from "./testing/clock.ts";

const megabyte = 2 ** 20;
const { lookMs } = spareMemoryDefaults;

/** A process whose collections free a given amount. */
class World implements MemoryHost {
  residentMb = 100;
  heapMb = 60;
  freeMb = 100;
  busy = false;
  /** What each collection leaves; absent: nothing is garbage. */
  leavesMb: number | undefined;
  readonly collections: ("plain" | "compacting")[] = [];
  trims = 0;
  #cpuMs = 0;
  readonly #clock = new FakeClock();
  readonly spare = new SpareMemory({ clock: this.#clock, host: this }, spareMemoryDefaults);

  residentBytes(): number {
    return this.residentMb * megabyte;
  }

  freeBytes(): number {
    return this.freeMb * megabyte;
  }

  heapBytes(): number {
    return this.heapMb * megabyte;
  }

  cpuMs(): number {
    return this.#cpuMs;
  }

  collectInSteps(compact: boolean): Promise<void> {
    this.collections.push(compact ? "compacting" : "plain");
    this.residentMb = this.leavesMb ?? this.residentMb;
    return Promise.resolve();
  }

  trim(): void {
    this.trims++;
  }

  async looks(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.#cpuMs += this.busy ? lookMs : lookMs / 100;
      await this.#clock.advance(lookMs);
      assert.ok(this.#clock.armed().every((name) => name === "memory.look"));
    }
  }
}

test("a process that only becomes warm is left alone", async () => {
  const world = new World();
  await world.looks(3);
  world.residentMb = 125;
  await world.looks(20);
  assert.deepEqual(world.collections, []);
});

test("what a busy time left is collected once it is over, and compacted when that takes off nothing more", async () => {
  const world = new World();
  world.busy = true;
  world.residentMb = 400;
  await world.looks(5);
  assert.deepEqual([world.collections, world.trims], [[], 0]);
  world.busy = false;
  world.leavesMb = 220;
  await world.looks(1);
  assert.deepEqual([world.collections, world.trims], [["plain"], 1]);
  await world.looks(1);
  assert.deepEqual([world.collections, world.trims], [["plain", "plain"], 2]);
  world.leavesMb = 110;
  await world.looks(1);
  assert.deepEqual(world.collections, ["plain", "plain", "compacting"]);
  assert.equal(world.residentMb, 110);
});

test("after a busy time it is tried for a quarter of an hour, whatever the process had at its start", async () => {
  const world = new World();
  world.busy = true;
  await world.looks(1);
  world.busy = false;
  world.leavesMb = 90;
  await world.looks(2);
  assert.equal(world.residentMb, 90);
  await world.looks(200);
  const tried = world.collections.length;
  assert.ok(tried >= 4 && tried <= 14, `${tried} collections`);
  world.residentMb = 110;
  await world.looks(200);
  assert.equal(world.collections.length, tried);
});

test("a busy time ends a rest: what it leaves is collected at the first quiet look", async () => {
  const world = new World();
  world.residentMb = 400;
  await world.looks(4);
  const tried = world.collections.length;
  world.busy = true;
  await world.looks(1);
  assert.equal(world.collections.length, tried);
  world.busy = false;
  await world.looks(1);
  assert.equal(world.collections.length, tried + 1);
});

test("what is too much for one trim stays with the allocator", async () => {
  const world = new World();
  world.residentMb = 4_000;
  world.freeMb = 3_000;
  await world.looks(3);
  assert.equal(world.trims, 0);
  world.freeMb = 200;
  await world.looks(1);
  assert.equal(world.trims, 1);
});

test("a large heap is collected, but never compacted", async () => {
  const world = new World();
  world.residentMb = 1_000;
  world.heapMb = 400;
  await world.looks(30);
  assert.ok(world.collections.length >= 4, `${world.collections.length} collections`);
  assert.ok(!world.collections.includes("compacting"));
});

test("what cannot be collected is tried again now and then for a quarter of an hour, not for ever", async () => {
  const world = new World();
  world.residentMb = 400;
  await world.looks(200);
  const tried = world.collections.length;
  assert.ok(tried >= 4 && tried <= 14, `${tried} collections`);
  await world.looks(200);
  assert.equal(world.collections.length, tried);
  world.residentMb = 600;
  world.leavesMb = 400;
  await world.looks(1);
  assert.equal(world.collections.length, tried + 1);
});

test("what becomes garbage minutes after the busy time, as history does, is collected too", async () => {
  const world = new World();
  world.residentMb = 400;
  await world.looks(12);
  assert.equal(world.residentMb, 400);
  world.leavesMb = 110;
  await world.looks(8);
  assert.equal(world.residentMb, 110);
});

test("once stopped nothing is looked at", async () => {
  const world = new World();
  world.spare.stop();
  world.residentMb = 400;
  await world.looks(5);
  assert.deepEqual(world.collections, []);
});
