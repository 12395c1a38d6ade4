/** When the next batch starts: gathering, going beside, and learning that it does not pay. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BatchPace } from "./batch-pace.ts";
import { oneAtATime } from "./engines/engine.ts";

const gatherMs = 2;
const shared = { appendsMax: 2, besideMs: 5, gatherMs };

void test("one at a time: the next batch never waits", () => {
  const pace = new BatchPace(oneAtATime);
  pace.started(0, 100);
  pace.ended(60, 100, 1);
  assert.equal(pace.waitMs(60, 1, 0), 0);
});

void test("callers that were answered together are waited for, until most of them came or time is up", () => {
  const pace = new BatchPace(shared);
  pace.started(0, 100);
  pace.ended(10, 100, 20);
  assert.equal(pace.waitMs(10, 20, 0), gatherMs);
  assert.equal(pace.waitMs(11, 109, 0), 1);
  assert.equal(pace.waitMs(11, 110, 0), 0);
  assert.equal(pace.waitMs(12, 20, 0), 0);
});

void test("a few callers are not waited for", () => {
  const pace = new BatchPace(shared);
  pace.ended(10, 7, 0);
  assert.equal(pace.waitMs(10, 1, 0), 0);
});

void test("waits in which too few came are left out for a while, ever longer, and tried again", () => {
  const pace = new BatchPace(shared);
  const waits: boolean[] = [];
  for (let batch = 0; batch < 200; batch++) {
    pace.ended(batch, 100, 0);
    waits.push(pace.waitMs(batch, 1, 0) > 0);
    pace.started(batch, 1);
  }
  const waited = waits.flatMap((isWait, at) => (isWait ? [at] : []));
  assert.deepEqual(waited, [0, 5, 14, 31, 64, 129, 194]);
});

void test("a slow medium: the next batch goes beside the last one after a while", () => {
  const pace = new BatchPace(shared);
  pace.started(100, 3);
  assert.equal(pace.waitMs(102, 3, 1), 3);
  assert.equal(pace.waitMs(105, 3, 1), 0);
});
