/** Which stripe holds which slot, over stripes that are added; and what of the slots found is an unbroken run. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import type { ClusterKey } from "./cluster.ts";
import { encodePart, partEpoch } from "./parts.ts";
import * as tables from "./stripe-table.ts";

const key = "/log/stripes";

void test("slots go to the stripes in turn, and those before an added stripe stay where they are", () => {
  const one = tables.oneStripe;
  const two = tables.extendTable(one, [1], { from: 5, kept: 1 });
  const three = tables.extendTable(two, [2], { from: 10, kept: 1 });
  const slots = Array.from({ length: 16 }, (_, at) => at + 1);
  assert.deepEqual(
    slots.map((slot) => tables.stripeOf(three, slot)),
    [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 2, 0, 1, 2, 0],
  );
  assert.deepEqual(tables.stripesFrom(three, 6), [0, 1, 2]);
  assert.deepEqual(tables.stripesFrom(one, 6), [0]);
  assert.equal(tables.slotBefore(three, 12), undefined);
  assert.equal(tables.slotBefore(three, 11), 8);
  assert.equal(tables.slotBefore(three, 10), 9);
});

void test("whatever is added, a slot keeps its stripe, and the table comes back as it was written", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new FakeRandom(seed);
    let table = tables.oneStripe;
    let kept = 1;
    for (let added = 1; added < tables.stripesMax; added++) {
      const from = (table.at(-1)?.from ?? 1) + random.below(20);
      kept = Math.min(from, kept + random.below(15));
      const next = tables.extendTable(table, [added], { from, kept });
      for (let slot = kept; slot < from; slot++) {
        assert.equal(tables.stripeOf(next, slot), tables.stripeOf(table, slot), `seed ${seed}`);
      }
      table = tables.decodeTable(tables.encodeTable(next), key);
      assert.deepEqual(table, next);
    }
  }
});

void test("a table that is damaged or hostile is refused", () => {
  const hostile = [
    "",
    "{}",
    "[]",
    "[null]",
    `[{"from":0,"stripes":[0]}]`,
    `[{"from":1,"stripes":[]}]`,
    `[{"from":1,"stripes":[0,0]}]`,
    `[{"from":1,"stripes":[-1]}]`,
    `[{"from":1,"stripes":[0.5]}]`,
    `[{"from":2,"stripes":[0]},{"from":2,"stripes":[1]}]`,
    `[{"from":1,"stripes":[0,1,2,3,4,5,6,7,8]}]`,
    `[{"from":1,"stripes":"01"}]`,
    `${"[".repeat(70_000)}`,
  ];
  for (const text of hostile) {
    assert.throws(
      () => tables.decodeTable(new TextEncoder().encode(text), key),
      /is no table of stripes/,
      text.slice(0, 40),
    );
  }
});

const two = [{ from: 1, stripes: [0, 1] }];

function slot(epoch: number): ClusterKey {
  const header = { epoch, index: 0, isLast: true, lastRevision: 1 };
  return { key: "", value: encodePart(header, [new Uint8Array(8)], 0, 8) };
}

function epochsOf(stripes: readonly (readonly (readonly [number, number])[])[]): readonly number[] {
  const found = stripes.map(
    (slots) => new Map(slots.map(([number, epoch]) => [number, slot(epoch)])),
  );
  const run = tables.unbrokenRun(two, 1, new Map(found.entries()));
  return run.map(({ value }) => partEpoch(value));
}

void test("a run ends before the first slot that is missing", () => {
  const [odd, even] = [[1, 3, 5].map((at) => [at, 4] as const), [[2, 4] as const]];
  assert.deepEqual(epochsOf([odd, even]), [4, 4, 4]);
  assert.deepEqual(epochsOf([[], even]), []);
});

void test("a slot in a stripe that is not its own does not count", () => {
  assert.deepEqual(
    epochsOf([
      [
        [1, 4],
        [2, 4],
      ],
      [],
    ]),
    [4],
  );
});

void test("a leftover of an earlier holder, read before it was removed, ends the run", () => {
  // Stripe 1 was read when it held what epoch 4 had left; stripe 0 after epoch 5 had written slot 1.
  assert.deepEqual(
    epochsOf([
      [
        [1, 5],
        [3, 5],
      ],
      [[2, 4]],
    ]),
    [5],
  );
});
