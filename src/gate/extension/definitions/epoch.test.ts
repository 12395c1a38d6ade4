/** Epochs: what was written under one definition is never taken for another's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Epoch } from "./epoch.ts";

const crontabs = { group: "stable.example.com", resource: "crontabs" };

test("a write that was on its way when the definition changed is not taken for a write under the new one", () => {
  const old = new Epoch(crontabs, 10);
  const end = old.beginWrite(false);
  const next = new Epoch(crontabs, 20);
  old.end(next);
  assert.equal(next.isSettled(21), false, "it may be the write under way");
  end(21);
  assert.equal(next.isSettled(21), false);
  assert.equal(next.isSettled(22), true);
});

test("writes on their way are waited for over several changes", () => {
  const first = new Epoch(crontabs, 10);
  const end = first.beginWrite(true);
  const second = new Epoch(crontabs, 20);
  first.end(second);
  const endSecond = second.beginWrite(true);
  const third = new Epoch(crontabs, 30);
  second.end(third);
  end(31);
  assert.equal(third.isSettled(33), false);
  endSecond(32);
  assert.deepEqual(
    [31, 32, 33].map((revision) => third.isSettled(revision)),
    [false, false, true],
  );
});

test("a write under an ended epoch is refused, a creation already while the definition goes", () => {
  const epoch = new Epoch(crontabs, 10);
  epoch.isTerminating = true;
  assert.throws(() => epoch.beginWrite(true), /create not allowed/);
  epoch.beginWrite(false)(11);
  epoch.end(undefined);
  assert.throws(() => epoch.beginWrite(false), /changed while the request was handled/);
});
