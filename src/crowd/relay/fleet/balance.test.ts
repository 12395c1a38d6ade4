/** A relay with too many streams ends a few of them, late and slowly, and never below the mean. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Balance, balanceLimits } from "./balance.ts";

void describe("the balance between relays", () => {
  /** Looks every second; @returns the streams left after `seconds`. */
  function run(
    balance: Balance,
    own: number,
    peers: () => readonly number[],
    seconds: number,
  ): number {
    let left = own;
    for (let second = 1; second <= seconds; second++) {
      left -= balance.look(second * 1_000, left, peers());
    }
    return left;
  }

  void it("moves nobody while the excess is small, young, or the relay alone", () => {
    assert.equal(
      run(new Balance(balanceLimits), 1_100, () => [1_000, 1_000], 600),
      1_100,
    );
    assert.equal(
      run(new Balance(balanceLimits), 3_000, () => [0, 0], 60),
      3_000,
    );
    assert.equal(
      run(new Balance(balanceLimits), 3_000, () => [], 600),
      3_000,
    );
    assert.equal(
      run(new Balance(balanceLimits), 90, () => [0, 0], 600),
      90,
    );
  });

  void it("lets at most a hundredth go per second", () => {
    const balance = new Balance(balanceLimits);
    run(balance, 3_000, () => [0, 0], 60);
    assert.equal(balance.look(61_000, 3_000, [0, 0]), 30);
  });

  void it("stops at the excess it tolerates", () => {
    let moved = 0;
    const total = 3_000;
    const balance = new Balance(balanceLimits);
    const left = run(balance, total, () => [moved / 2, moved / 2], 0);
    assert.equal(left, total);
    let own = total;
    for (let second = 1; second <= 600; second++) {
      const gone = balance.look(second * 1_000, own, [moved / 2, moved / 2]);
      own -= gone;
      moved += gone;
    }
    assert.ok(own >= 1_000 && own <= 1_200, String(own));
  });

  void it("begins to count anew when the excess was gone in between", () => {
    const balance = new Balance(balanceLimits);
    run(balance, 3_000, () => [0, 0], 59);
    assert.equal(balance.look(60_000, 1_000, [1_000, 1_000]), 0);
    assert.equal(balance.look(70_000, 3_000, [0, 0]), 0);
  });
});
