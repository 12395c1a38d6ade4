/** What a soak tells of itself: percentiles, and when memory counts as growing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ages, judgeMemory, type MemorySample } from "./soak-report.ts";

const hour = (mb: (minute: number) => number): MemorySample[] =>
  Array.from({ length: 61 }, (_, minute) => ({ minute, bytes: mb(minute) * 1e6 }));

test("a percentile of ages is of what was added since the last", () => {
  const ages = new Ages();
  assert.equal(ages.take(0.99), undefined);
  for (let ms = 1; ms <= 100; ms++) ages.add(ms);
  assert.equal(ages.take(0.99), 99);
  ages.add(-3);
  assert.equal(ages.take(0.99), 0);
  ages.add(1e9);
  assert.equal(ages.take(0.5), Ages.msMax);
});

test("memory that fills up and stays is bounded, memory that goes on growing is not", () => {
  assert.equal(
    judgeMemory(
      hour((at) => Math.min(400, 100 + at * 20)),
      60,
    ).kind,
    "bounded",
  );
  assert.equal(
    judgeMemory(
      hour((at) => 300 + (at % 7) * 20),
      60,
    ).kind,
    "bounded",
  );
  assert.equal(
    judgeMemory(
      hour((at) => 200 + at * 10),
      60,
    ).kind,
    "growing",
  );
});

test("a run too short to tell is not judged, and one without samples neither", () => {
  assert.equal(
    judgeMemory(
      hour(() => 100),
      10,
    ).kind,
    "not-judged",
  );
  assert.equal(judgeMemory([], 60).kind, "not-judged");
});
