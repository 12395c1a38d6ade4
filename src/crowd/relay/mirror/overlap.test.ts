/** Examples of frames before an end, and where the next watch starts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { Overlap } from "./overlap.ts";

const limits = { overlapFrames: 3, overlapMs: 1_000 };

void describe("where a resumed watch starts", () => {
  void it("is before the frames heard shortly before the end, and not before older ones", async () => {
    const clock = new FakeClock();
    const overlap = new Overlap(clock, limits);
    overlap.heard(10);
    await clock.advance(1_001);
    overlap.heard(20);
    overlap.heard(30);
    overlap.ended();
    assert.equal(overlap.start, 20);
  });

  void it("is before as many frames as are noted, however many came", () => {
    const overlap = new Overlap(new FakeClock(), limits);
    for (const before of [1, 2, 3, 4, 5]) overlap.heard(before);
    overlap.ended();
    assert.equal(overlap.start, 3);
  });

  void it("stays where it was through watches that end without a frame", async () => {
    const clock = new FakeClock();
    const overlap = new Overlap(clock, limits);
    overlap.heard(7);
    overlap.ended();
    await clock.advance(60_000);
    overlap.ended();
    assert.equal(overlap.start, 7);
  });

  void it("is nowhere after a quiet end, and after a list", async () => {
    const clock = new FakeClock();
    const overlap = new Overlap(clock, limits);
    overlap.heard(7);
    await clock.advance(1_001);
    overlap.ended();
    assert.equal(overlap.start, undefined);
    overlap.heard(8);
    overlap.clear();
    overlap.ended();
    assert.equal(overlap.start, undefined);
  });
});
