/** What a ring keeps of a past that the store has forgotten. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CacheEvent } from "./cache-event.ts";
import { EventRing } from "./event-ring.ts";
import { ValuePacker } from "./value-packer.ts";
import { SharedObject } from "#forms/shared-object.ts";
import { testObject, testSource } from "./testing/feed.ts";

function ringOf(events: number, valueBytes: number): EventRing {
  const ring = new EventRing(0, { itemsMax: 10_000, bytesMax: 2 ** 30 });
  for (let revision = 1; revision <= events; revision++) {
    const object = testObject("ns/a", { labels: { pad: "x".repeat(valueBytes) } }, revision);
    ring.push([new CacheEvent(revision, "ns/a", object, undefined)]);
  }
  return ring;
}

test("of the forgotten past the newest hundred events are left, and all that came after it", () => {
  const ring = ringOf(500, 10);
  ring.forget(400);
  assert.equal(ring.length, 200);
  assert.equal(ring.floor, 300);
  ring.forget(400);
  assert.equal(ring.length, 200);
});

test("large objects are left in fewer events: a ring each for all resources must not add up", () => {
  const ring = ringOf(200, 10_000);
  ring.forget(200);
  assert.ok(ring.length > 1 && ring.length < 5, `${ring.length} events of 10 KB`);
});

test("a ring that holds no more than that goes on to serve who resumes there", () => {
  const ring = ringOf(60, 10);
  ring.forget(60);
  assert.deepEqual([ring.length, ring.floor], [60, 0]);
});

test("a deleted object that watchers were sent leaves the store's block with its event", () => {
  const block = new Uint8Array(2 ** 20);
  const stored = testObject("ns/a", {}, 1);
  block.set(stored.value, 1000);
  const value = block.subarray(1000, 1000 + stored.value.length);
  const event = new CacheEvent(
    2,
    "ns/a",
    undefined,
    new SharedObject(testSource, "ns/a", value, 1),
  );
  const sent = event.plainItem()?.object as SharedObject;
  assert.equal(sent.value.buffer, block.buffer);
  const packer = new ValuePacker();
  event.rehome(2, { isCurrent: () => false, copy: ({ value }) => packer.copy(value) });
  assert.notEqual(sent.value.buffer, block.buffer);
  assert.deepEqual(sent.value, stored.value);
});
