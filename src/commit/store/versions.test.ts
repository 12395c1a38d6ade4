/** The version table: rows keep what they say, and empty chunks take no memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { noRow, type Row, Versions } from "./versions.ts";

const chunkRows = 256;

function add(versions: Versions, at: number): Row {
  const fields = { key: `k${at}`, revision: at, createRevision: at - 1, version: at % 7 };
  const place = { slab: at % 11, offset: at % 1000, valueLength: at % 500 };
  return versions.add({ ...fields, ...place, lease: BigInt(at % 3) }, noRow);
}

function assertRow(versions: Versions, row: Row, at: number): void {
  assert.ok(versions.inUse(row));
  assert.deepEqual(
    [versions.key(row), versions.revision(row), versions.createRevision(row)],
    [`k${at}`, at, at - 1],
  );
  assert.deepEqual(
    [versions.version(row), versions.slab(row), versions.offset(row), versions.valueLength(row)],
    [at % 7, at % 11, at % 1000, at % 500],
  );
  assert.equal(versions.lease(row), BigInt(at % 3));
}

test("what a busy time took is given back by the chunk, and what stays is as it was", () => {
  const versions = new Versions();
  const rows = new Map<number, Row>();
  for (let at = 1; at <= 20 * chunkRows; at++) rows.set(at, add(versions, at));
  assert.equal(versions.chunks, 21);
  for (const [at, row] of rows) {
    if (at % (5 * chunkRows) === 1) continue;
    versions.remove(row);
    rows.delete(at);
  }
  assert.equal(rows.size, 4);
  assert.equal(versions.size, 4);
  assert.equal(versions.chunks, 4);
  for (const [at, row] of rows) assertRow(versions, row, at);
  for (let row = 1; row < versions.end; row++) {
    assert.equal(versions.inUse(row), [...rows.values()].includes(row));
  }
  for (let at = 1e6; at < 1e6 + 3 * chunkRows; at++) rows.set(at, add(versions, at));
  for (const [at, row] of rows) assertRow(versions, row, at);
  assert.equal(new Set(rows.values()).size, rows.size);
});

test("after a busy time, rows that are written anew gather in few chunks", () => {
  const versions = new Versions();
  const rows: Row[] = [];
  for (let at = 1; at <= 20 * chunkRows; at++) rows.push(add(versions, at));
  // One row of a hundred stays, spread over all chunks; then each of these is written anew.
  const kept = rows.filter((_, at) => at % 100 === 0);
  for (const [at, row] of rows.entries()) if (at % 100 !== 0) versions.remove(row);
  assert.ok(versions.chunks >= 20);
  for (const [at, row] of kept.entries()) {
    add(versions, at + 1);
    versions.remove(row);
  }
  assert.equal(versions.size, kept.length);
  assert.equal(versions.chunks, 1);
});

test("rows taken and given back at random never meet", () => {
  const random = new FakeRandom(Number(process.env["PILOTHOUSE_SEED"] ?? 1));
  const versions = new Versions();
  const rows = new Map<Row, number>();
  for (let at = 1; at < 60_000; at++) {
    const growing = at % 20_000 < 12_000;
    if (random.below(10) < (growing ? 8 : 2) || rows.size === 0) {
      const row = add(versions, at);
      assert.ok(!rows.has(row), `row ${row} is in use`);
      rows.set(row, at);
    } else {
      const [row = noRow] = rows.keys();
      assertRow(versions, row, rows.get(row) ?? 0);
      versions.remove(row);
      rows.delete(row);
      assert.ok(!versions.inUse(row));
    }
  }
  assert.equal(versions.size, rows.size);
  for (const [row, at] of rows) assertRow(versions, row, at);
});
