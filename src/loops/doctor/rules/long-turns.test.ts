/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { longTurns } from "./long-turns.ts";

function held(user: string, turns: number, seconds: number): string {
  const of = `{user="${user}",verb="get",group="x.y",resource="widgets",stage="handler"}`;
  return `pilothouse_long_turns_total${of} ${turns}\npilothouse_long_turn_seconds_total${of} ${seconds}\n`;
}

test("a user whose requests hold the loop again and again is named, with verb and resource", () => {
  const [verdict] = longTurns.judge(sampled("", held("alice", 20, 4)));
  assert.equal(verdict?.culprit, "get of widgets.x.y by alice");
  assert.match(verdict?.sentence ?? "", /for 200 ms at a time/);
});

test("a few long turns, several short ones, and those of many requests together are well", () => {
  assert.deepEqual(longTurns.judge(sampled("", held("alice", 4, 4))), []);
  assert.deepEqual(longTurns.judge(sampled("", held("alice", 5, 0.09))), []);
  assert.deepEqual(longTurns.judge(sampled("", held("", 90, 9))), []);
});
