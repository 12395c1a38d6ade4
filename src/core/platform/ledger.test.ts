/** The ledger at its limits, and against a plain sum of what each caller was allowed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type HeldKind, type Holding, heldKinds, Ledger, uncharged } from "./ledger.ts";
import { FakeRandom } from "./testing/random.ts";

const limits = {
  callerBytesMax: 600,
  namespaceBytesMax: 500,
  totalBytesMax: 1_000,
  reservedBytes: 200,
  smallBytesMax: 10,
  sharedAnswerBytesMax: 300,
  accountsMax: 100,
};

/** Takes one byte after the other until it is refused. */
function fill(holding: Holding, kind: HeldKind = "answer"): number {
  let taken = 0;
  while (holding.take(kind, 1)) taken++;
  return taken;
}

test("one caller gets as much as it leaves free, and gives it back once", () => {
  const ledger = new Ledger(limits);
  const one = ledger.open("user:ann");
  assert.equal(fill(one), 400);
  assert.equal(one.refusal?.by, "process");
  assert.equal(ledger.held("answer"), 400);
  assert.equal(ledger.heldBy("user:ann"), 400);
  one.close();
  one.close();
  assert.equal(ledger.bytes, 0);
  assert.equal(ledger.heldBy("user:ann"), 0);
  assert.equal(ledger.mostBytes, 400);
});

test("greedy callers share the limit, and a late one with a small wish is always served", () => {
  const ledger = new Ledger(limits);
  const greedy = Array.from({ length: 9 }, (_, n) => ledger.open(`user:${n}`));
  for (const one of greedy) fill(one);
  assert.ok(ledger.isTight);
  assert.ok(ledger.bytes < limits.totalBytesMax - limits.reservedBytes + 9 * limits.smallBytesMax);
  assert.equal(ledger.open("user:late").take("body", 11), false);
  assert.ok(ledger.open("user:late").take("body", 10));
  for (const one of greedy) one.close();
  assert.equal(ledger.isTight, false);
});

test("a caller's limit is for all its requests together", () => {
  const ledger = new Ledger({ ...limits, callerBytesMax: 100 });
  const first = ledger.open("user:ann");
  assert.ok(first.take("body", 80));
  const second = ledger.open("user:ann");
  assert.equal(second.take("answer", 30), false);
  assert.deepEqual(second.refusal, { by: "caller", asked: 30, held: 80, limit: 100, most: 100 });
  assert.ok(ledger.open("user:bob").take("answer", 30));
  first.close();
  assert.ok(second.take("answer", 30));
});

test("a full namespace refuses what is large, and locks nobody out", () => {
  const ledger = new Ledger({ ...limits, namespaceBytesMax: 200 });
  const tenants = [0, 1, 2, 3].map((n) => ledger.open(`user:${n}`, "green"));
  for (const one of tenants) one.take("watch", 50);
  const operator = ledger.open("user:operator", "green");
  assert.equal(operator.take("answer", 11), false);
  assert.equal(operator.refusal?.by, "namespace");
  assert.ok(operator.take("answer", 10));
  assert.ok(ledger.open("user:operator", "blue").take("answer", 20));
});

test("what is forced is counted, and refuses what comes after it", () => {
  const ledger = new Ledger(limits);
  const one = ledger.open("user:ann");
  one.force("answer", 2_000);
  assert.equal(ledger.bytes, 2_000);
  assert.equal(ledger.open("user:bob").take("body", 1), false);
  assert.equal(ledger.refused("process"), 1);
  one.give("answer", 2_000);
  assert.ok(ledger.open("user:bob").take("body", 1));
});

test("quiet connections refuse nobody's requests", () => {
  const ledger = new Ledger(limits);
  const crowd = ledger.open("address:::1");
  crowd.force("connection", 5_000);
  assert.equal(ledger.bytes, 5_000);
  assert.ok(ledger.open("user:ann").take("body", 400));
});

test("more was given back than was taken is a bug", () => {
  const one = new Ledger(limits).open("user:ann");
  one.force("body", 5);
  assert.throws(() => one.give("body", 6), /more was given back/);
  assert.throws(() => one.give("answer", 1), /more was given back/);
});

test("callers beyond the number of accounts share one, and idle accounts make room", () => {
  const ledger = new Ledger({ ...limits, accountsMax: 10 });
  for (let n = 0; n < 1_000; n++) ledger.open(`user:${n}`).close();
  assert.equal(ledger.accounts, 10);
  const held = Array.from({ length: 12 }, (_, n) => ledger.open(`user:held-${n}`));
  for (const one of held) assert.ok(one.take("body", 20));
  assert.equal(ledger.accounts, 10);
  assert.deepEqual(ledger.largest(1), [{ name: "others", bytes: 40 }]);
  for (const one of held) one.close();
  assert.equal(ledger.bytes, 0);
  assert.deepEqual(ledger.largest(9), []);
});

test("a closed holding charges nothing any more", () => {
  const ledger = new Ledger(limits);
  const one = ledger.open("user:ann", "green");
  one.close();
  assert.ok(one.take("body", 9_999));
  one.force("body", 1);
  one.give("body", 1);
  assert.equal(ledger.bytes, 0);
  assert.ok(uncharged.take("body", 9_999));
});

test("sums agree and limits hold on any trace", () => {
  const random = new FakeRandom(Number(process.env["PILOTHOUSE_SEED"] ?? 1));
  const ledger = new Ledger(limits);
  const open: { caller: string; holding: Holding; taken: Map<HeldKind, number> }[] = [];
  const sum = (f: (entry: (typeof open)[number]) => boolean, kinds = heldKinds): number =>
    open
      .filter(f)
      .flatMap(({ taken }) => kinds.map((kind) => taken.get(kind) ?? 0))
      .reduce((all, one) => all + one, 0);
  for (let step = 0; step < 5_000; step++) {
    const entry = open[random.below(Math.max(1, open.length))];
    const kind = heldKinds[random.below(heldKinds.length - 1)] ?? "body";
    const bytes = 1 + random.below(60);
    if (entry === undefined || (random.below(5) === 0 && open.length < 30)) {
      const caller = `user:${random.below(6)}`;
      const holding = ledger.open(caller, ["", "green", "blue"][random.below(3)]);
      open.push({ caller, holding, taken: new Map() });
    } else if (random.below(6) === 0) {
      entry.holding.close();
      open.splice(open.indexOf(entry), 1);
    } else if (random.below(3) === 0) {
      const back = random.below((entry.taken.get(kind) ?? 0) + 1);
      entry.holding.give(kind, back);
      entry.taken.set(kind, (entry.taken.get(kind) ?? 0) - back);
    } else if (entry.holding.take(kind, bytes)) {
      entry.taken.set(kind, (entry.taken.get(kind) ?? 0) + bytes);
    }
    assert.equal(
      ledger.bytes,
      sum(() => true),
    );
    for (const one of heldKinds)
      assert.equal(
        ledger.held(one),
        sum(() => true, [one]),
      );
    for (let n = 0; n < 6; n++) {
      const caller = `user:${n}`;
      assert.equal(
        ledger.heldBy(caller),
        sum((given) => given.caller === caller),
      );
      assert.ok(ledger.heldBy(caller) <= limits.callerBytesMax);
    }
    assert.ok(ledger.heldBy("namespace:green") <= limits.namespaceBytesMax + 6 * 10);
    assert.ok(ledger.bytes <= limits.totalBytesMax);
  }
});
