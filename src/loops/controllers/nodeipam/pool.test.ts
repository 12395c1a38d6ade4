/** Ranges of pod addresses: one node each, in rotation, whatever the family. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseRange, type Range } from "#api/validation/ip.ts";
import { must } from "#base/assert.ts";
import { CidrPool } from "./pool.ts";

function rangeOf(text: string): Range {
  return must(parseRange(text), text);
}

function takeAll(pool: CidrPool): readonly string[] {
  const taken: string[] = [];
  for (let range = pool.take(); range !== undefined; range = pool.take()) taken.push(range);
  return taken;
}

test("a cluster's range is divided whole, in order", () => {
  const all = takeAll(new CidrPool(rangeOf("10.244.0.0/22"), 24));
  assert.deepEqual(all, ["10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24"]);
  assert.equal(takeAll(new CidrPool(rangeOf("10.0.0.0/8"), 24)).length, 65_536);
  const six = new CidrPool(rangeOf("fd00:10:244::/56"), 64);
  assert.deepEqual([six.take(), six.take()], ["fd00:10:244::/64", "fd00:10:244:1::/64"]);
});

test("a cluster's range with bits behind its prefix is taken from its first address", () => {
  assert.equal(new CidrPool(rangeOf("10.244.3.7/16"), 24).take(), "10.244.0.0/24");
});

test("what is occupied or reserved is not given out, and what came back is given out last", () => {
  const pool = new CidrPool(rangeOf("10.0.0.0/22"), 24);
  pool.occupy(rangeOf("10.0.0.0/24"));
  pool.reserve(rangeOf("10.0.1.128/25"));
  pool.occupy(rangeOf("10.9.0.0/24"));
  pool.occupy(rangeOf("fd00::/64"));
  assert.equal(pool.take(), "10.0.2.0/24");
  pool.release(rangeOf("10.0.0.0/24"));
  pool.release(rangeOf("10.0.1.0/24"));
  assert.deepEqual(takeAll(pool), ["10.0.3.0/24", "10.0.0.0/24"]);
});

test("a reserved range around the whole cluster leaves nothing", () => {
  const pool = new CidrPool(rangeOf("10.0.0.0/22"), 24);
  pool.reserve(rangeOf("10.0.0.0/8"));
  assert.equal(pool.take(), undefined);
});

test("no range is given out twice, after any order of taking and giving back", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1, max: 7 }), { maxLength: 60 }), (steps) => {
      const pool = new CidrPool(rangeOf("192.168.0.0/29"), 32);
      const held: string[] = [];
      for (const step of steps) {
        const given = step < 0 ? undefined : held.splice(step, 1)[0];
        if (given !== undefined) pool.release(rangeOf(given));
        const taken = pool.take();
        assert.equal(taken === undefined, held.length === 8);
        if (taken === undefined) continue;
        assert.ok(!held.includes(taken));
        held.push(taken);
      }
    }),
  );
});
