/** Long selectors of watches: kept once, and bounded for each caller and for all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Predicate } from "./predicate.ts";
import { SelectorPool } from "./selector-pool.ts";
import { predicate } from "./testing/feed.ts";

function long(mark: string): Predicate {
  return predicate("", Array.from({ length: 100 }, (_, at) => `!${mark}${at}`).join());
}

const { bytes } = long("a");

function pool(callerSelectors: number, selectors: number): SelectorPool {
  return new SelectorPool({ callerBytesMax: callerSelectors * bytes, bytesMax: selectors * bytes });
}

test("equal selectors are kept once, whoever has them, until the last watch ends", () => {
  const selectors = pool(1, 1);
  const [first, same, other] = [
    selectors.keep("alice", long("a")),
    selectors.keep("alice", long("a")),
    selectors.keep("bob", long("a")),
  ];
  assert.ok(first && same && other);
  assert.equal(same.predicate, first.predicate);
  assert.equal(other.predicate, first.predicate);
  assert.equal(selectors.bytes, bytes);
  for (const kept of [first, same]) kept[Symbol.dispose]();
  assert.equal(selectors.bytes, bytes);
  other[Symbol.dispose]();
  other[Symbol.dispose]();
  assert.equal(selectors.bytes, 0);
});

test("a caller keeps so many bytes of them, and others are not refused for it", () => {
  const selectors = pool(2, 10);
  const kept = ["a", "b"].map((mark) => selectors.keep("alice", long(mark)));
  assert.equal(selectors.keep("alice", long("c")), undefined);
  assert.ok(selectors.keep("bob", long("c")));
  assert.ok(selectors.keep("alice", long("b")), "the same one more is no more bytes");
  kept[0]?.[Symbol.dispose]();
  assert.ok(selectors.keep("alice", long("c")));
});

test("all callers together keep so many bytes of them", () => {
  const selectors = pool(1, 2);
  assert.ok(selectors.keep("alice", long("a")));
  assert.ok(selectors.keep("bob", long("b")));
  assert.equal(selectors.keep("carol", long("c")), undefined);
  assert.ok(selectors.keep("carol", long("a")));
});

test("short selectors are neither kept nor counted", () => {
  const selectors = pool(0, 0);
  const short = predicate("a", "app in (web,db),v!=1", "spec.nodeName=n");
  assert.equal(selectors.keep("alice", short)?.predicate, short);
  assert.equal(selectors.bytes, 0);
});
