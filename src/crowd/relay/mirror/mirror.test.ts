/** What the model found of a mirror, as examples. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { everything, TestSink } from "#watch/testing/feed.ts";
import { relayLimits } from "../limits.ts";
import { Mirror } from "./mirror.ts";
import { objectForm } from "./object-form.ts";
import { podKind } from "../testing/fake-upstream.ts";
import type { ObjectEvent } from "./upstream-event.ts";

const formed = objectForm(podKind);

function pod(name: string, revision: number): ObjectEvent {
  const metadata = { name, namespace: "ns", uid: name, resourceVersion: String(revision) };
  const bytes = new TextEncoder().encode(
    JSON.stringify({ kind: "Pod", apiVersion: "v1", metadata, spec: {} }),
  );
  return { type: "SET", object: formed(bytes, { start: 0, end: bytes.length }) };
}

async function mirrorWith(ringItemsMax: number): Promise<Mirror> {
  const memos = new MemoPool({ bytesMax: 1 << 20 });
  const limits = { ...relayLimits, flushMs: 0, ringItemsMax };
  const mirror = new Mirror({ clock: new FakeClock(), memos }, podKind, limits);
  await mirror.replace([], 1);
  return mirror;
}

function watcher(mirror: Mirror, after: number): TestSink {
  const sink = new TestSink();
  mirror.cache.watch({ predicate: everything, bookmarks: true, start: { after } }, sink);
  return sink;
}

void describe("a mirror", () => {
  void it("drops what it is told again of a revision with more changes than its ring keeps", async () => {
    const mirror = await mirrorWith(2);
    const sink = watcher(mirror, 1);
    const events = ["a", "b", "c"].map((name) => pod(name, 2));
    mirror.apply(events);
    mirror.apply(events);
    assert.equal(mirror.counts.duplicates, 3);
    assert.equal(sink.items.filter(({ type }) => type !== "BOOKMARK").length, 3);
  });

  void it("keeps who began where a list showed its state, whatever lies around, and refuses the rest", async () => {
    const mirror = await mirrorWith(1_000);
    for (const revision of [3, 5]) await mirror.verify([], revision);
    const sinks = [3, 5].map((after) => watcher(mirror, after));
    const between = watcher(mirror, 4);
    mirror.apply([{ type: "BOOKMARK", revision: 2 }]);
    await mirror.replace([pod("a", 7).object], 9);
    assert.deepEqual(
      sinks.map(({ ended }) => ended),
      [false, false],
    );
    assert.equal(between.ended, true, "something may have come and gone that its client saw");
    const refused = [2, 3, 4, 5, 6, 8, 9].filter((at) => mirror.refusal(at) !== undefined);
    assert.deepEqual(refused, [4, 6, 8]);
    assert.ok(sinks.every(({ items }) => items.some(({ object }) => object?.name === "a")));
  });
});
