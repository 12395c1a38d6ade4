/** Gaps, proofs and the end of memory, position by position. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CacheState } from "#watch/cache-state.ts";
import { KnownPositions } from "./known-positions.ts";

function stateAt(revision: number): CacheState {
  const options = { ringItemsMax: 10, ringBytesMax: 1_000, pinnedMax: 1 };
  return new CacheState({ objects: [], revision }, options);
}

function refused(positions: KnownPositions, upTo: number): number[] {
  const all = Array.from({ length: upTo + 1 }, (_, position) => position);
  return all.filter((position) => positions.refusal(position) !== undefined);
}

void describe("positions to go on from", () => {
  void it("are none strictly within a gap, nor below the ring", () => {
    const positions = new KnownPositions(stateAt(2), { gapsMax: 4 });
    positions.remember(positions.gap(3, 7));
    assert.deepEqual(refused(positions, 9), [0, 1, 4, 5, 6]);
    assert.match(String(positions.refusal(5)), /too old resource version: 5 \(2\)/u);
  });

  void it("are those at which a list showed the state that is held, within a gap too", () => {
    const state = stateAt(2);
    const positions = new KnownPositions(state, { gapsMax: 4 });
    for (const revision of [4, 6]) positions.prove(revision);
    assert.deepEqual(positions.proofs, [4, 6]);
    positions.remember(positions.gap(2, 9));
    state.advance(9);
    assert.deepEqual(positions.proofs, []);
    assert.deepEqual(refused(positions, 9), [0, 1, 3, 5, 7, 8]);
  });

  void it("are none below the newest gap that is remembered no more", () => {
    const positions = new KnownPositions(stateAt(1), { gapsMax: 1 });
    positions.remember(positions.gap(2, 5));
    positions.remember(positions.gap(6, 9));
    assert.deepEqual(refused(positions, 10), [0, 1, 2, 3, 4, 7, 8]);
  });

  void it("are of one past only", () => {
    const positions = new KnownPositions(stateAt(0), { gapsMax: 1 });
    positions.prove(3);
    for (const above of [2, 6]) positions.remember(positions.gap(above, above + 3));
    positions.clear();
    assert.deepEqual(refused(positions, 10), []);
    assert.deepEqual(positions.proofs, []);
  });
});
