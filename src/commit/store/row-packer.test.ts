/** Rows that stay go down into few chunks; nobody who reads can tell. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { addCopiedPut } from "./copied-put.ts";
import { Mvcc } from "./mvcc.ts";
import { RowPacker } from "./row-packer.ts";
import { Slabs } from "./slabs.ts";
import type { Key, LeaseId, Revision } from "./store.ts";
import { chunkRows } from "./versions.ts";

const everything = { start: "" as Key, end: "\u0100" as Key };

class World {
  readonly mvcc = new Mvcc(new Slabs(2 ** 20), 1);
  readonly packer = new RowPacker(this.mvcc);
  readonly values = new Map<string, string>();
  #revision = 1;

  constructor() {
    this.mvcc.rebase(1);
  }

  put(key: string): void {
    const revision = ++this.#revision;
    const value = Buffer.from(`${key} at ${revision}`);
    const fields = { createRevision: revision as Revision, version: 1, lease: 0n as LeaseId };
    const row = addCopiedPut(this.mvcc, key as Key, revision, { value, ...fields });
    this.mvcc.log.appendOne(revision, row);
    this.values.set(key, value.toString());
  }

  delete(key: string): void {
    const revision = ++this.#revision;
    this.mvcc.log.appendOne(revision, this.mvcc.addDelete(key, revision));
    this.values.delete(key);
  }

  /** Forgets all history but the last `kept` revisions. */
  compact(kept: number): void {
    this.mvcc.commit(this.#revision);
    const revision = Math.max(this.mvcc.compactRevision, this.#revision - kept);
    this.mvcc.compact(revision);
    this.mvcc.pruning.prune(revision, Infinity);
  }

  pack(): number {
    let steps = 1;
    while (!this.packer.step()) steps++;
    return steps;
  }

  check(): void {
    const found = this.mvcc.range(everything);
    assert.ok(found.kind === "ok");
    const read = found.kvs.map(({ key, value }) => [key, Buffer.from(value).toString()] as const);
    assert.deepEqual(new Map(read), this.values);
    for (let revision = this.mvcc.log.base + 1; revision <= this.#revision; revision++) {
      for (const row of this.mvcc.log.rows(revision)) {
        const event = this.mvcc.event(row);
        const text = event.kind === "put" ? Buffer.from(event.kv.value).toString() : "";
        if (event.kind === "put") assert.equal(text, `${event.key} at ${revision}`);
      }
    }
  }
}

test("one row of a hundred that stays does not hold a chunk", () => {
  const world = new World();
  const keys = Array.from({ length: 200 * chunkRows }, (_, at) => `k${at}`);
  for (const key of keys) world.put(key);
  for (const [at, key] of keys.entries()) if (at % 100 !== 0) world.delete(key);
  world.compact(0);
  const { versions } = world.mvcc;
  const before = versions.chunks;
  assert.ok(before >= 190, `${before} chunks`);
  const steps = world.pack();
  const needed = Math.ceil(versions.size / chunkRows);
  assert.ok(versions.chunks <= needed + 1, `${versions.chunks} chunks, ${needed} needed`);
  assert.ok(steps > 5, "a little at a step");
  world.check();
  assert.equal(world.pack(), 1, "nothing is left to do");
});

test("a table that is not sparse, and one whose rows are history, are left alone", () => {
  const world = new World();
  for (let at = 0; at < 200 * chunkRows; at++) world.put(`k${at}`);
  world.mvcc.commit(world.mvcc.headRevision);
  assert.equal(world.pack(), 1);
  for (let at = 0; at < 200 * chunkRows; at++) if (at % 100 !== 0) world.delete(`k${at}`);
  world.mvcc.commit(world.mvcc.headRevision);
  world.pack();
  world.check();
});

const seeds = Number(process.env["PILOTHOUSE_RUNS"] ?? 20);

test(`writes, deletions and compaction between steps: the state and its history stay (${seeds} seeds)`, () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const random = new FakeRandom(seed);
    const world = new World();
    for (let at = 0; at < 80 * chunkRows; at++) world.put(`k${at}`);
    for (let at = 0; at < 80 * chunkRows; at++) if (at % 64 !== 0) world.delete(`k${at}`);
    for (let round = 0; round < 200; round++) {
      const key = `k${random.below(80) * chunkRows}`;
      if (random.chance(0.5)) world.put(key);
      else if (world.values.has(key)) world.delete(key);
      if (random.chance(0.1)) world.compact(random.below(50));
      world.packer.step();
    }
    world.mvcc.commit(world.mvcc.headRevision);
    world.pack();
    world.check();
    world.compact(0);
    world.pack();
    world.check();
  }
});
