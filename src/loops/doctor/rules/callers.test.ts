/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call } from "../evidence.ts";
import { evidenceOf } from "../testing/evidence.ts";
import { callers } from "./callers.ts";

function judge(kind: Call["kind"], count: number, seconds: number) {
  const call = { kind, count, userAgent: "shop/1", user: "bob", group: "", resource: "secrets" };
  const audit = { calls: [call], seconds, dropped: 0, uncounted: 0 };
  return callers.judge(evidenceOf({ audit }));
}

test("a client that lists whole kinds, and one that writes very much, are named", () => {
  assert.equal(judge("list-whole", 60, 3_600)[0]?.culprit, "shop/1 (bob)");
  assert.match(judge("write", 6_000, 60)[0]?.sentence ?? "", /100 times a second/);
});

test("lists in pages, a few whole lists, a short burst of writes, and no log are well", () => {
  assert.deepEqual(judge("list", 9_000, 60), []);
  assert.deepEqual(judge("list-whole", 40, 60), []);
  assert.deepEqual(judge("write", 40, 1), []);
  assert.deepEqual(judge("write", 2_000, 60), []);
  assert.deepEqual(callers.judge(evidenceOf({})), []);
});
