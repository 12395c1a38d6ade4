/** Selecting in turns of the loop: the same objects as in one pass, whatever is written meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { onNextTurn, Pace } from "#platform/pace.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { selectObjects } from "./select.ts";
import { predicate, TestFeed } from "./testing/feed.ts";

const many = 3_000;
const filler = "x".repeat(500);

function filled(): TestFeed {
  const feed = new TestFeed();
  for (let at = 0; at < many; at++) {
    const key = `a/${String(at).padStart(4, "0")}`;
    feed.write({ key, labels: { app: at % 2 === 0 ? "web" : "db", filler } });
  }
  return feed;
}

test("a selector over many objects gives way, and sees the snapshot it began with", async () => {
  const feed = filled();
  const clock = new FakeClock();
  const { objects } = feed.cache.state.snapshot();
  const half = predicate("", "app=web");
  const selecting = selectObjects(objects, half, { from: half.from, limit: 0 }, new Pace(clock));
  feed.write({ key: "a/2999x", labels: { app: "web" } });
  feed.write({ key: "a/2998" });
  const { items, more, last } = await selecting;
  assert.ok(clock.turns >= 3, `${clock.turns} turns`);
  assert.deepEqual([items.length, more, last], [many / 2, false, "a/2999"]);
  assert.equal(items.at(-1)?.key, "a/2998");
});

test("a limit ends it with the last key looked at, turns or not", async () => {
  const { objects } = filled().cache.state.snapshot();
  const half = predicate("", "app=web");
  const clock = new FakeClock();
  for (const pace of [undefined, new Pace(clock)]) {
    const asked = { from: "a/0003", limit: 1_000 };
    const { items, more, last } = await selectObjects(objects, half, asked, pace);
    assert.deepEqual([items.length, more], [1_000, true]);
    assert.deepEqual([items[0]?.key, items.at(-1)?.key, last], ["a/0004", "a/2002", "a/2002"]);
  }
});

test("of all who wait for a turn of the loop one goes on per turn, in order", async () => {
  const clock = new FakeClock();
  const done: number[] = [];
  const turnsThen: number[] = [];
  for (const at of [0, 1, 2]) {
    onNextTurn(clock, () => {
      done.push(at);
      turnsThen.push(clock.turns);
    });
  }
  await settle();
  assert.deepEqual(done, [0, 1, 2]);
  assert.deepEqual(turnsThen, [2, 3, 3], "the next turn is asked for before one goes on");
});
