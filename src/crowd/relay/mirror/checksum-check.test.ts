/** When a sum is believed and when not any more. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChecksumCheck, ChecksumError } from "./checksum-check.ts";

const held = { count: 2, checksum: "aa" };
const told = { count: 2, checksum: "ab" };

function suspicious(): ChecksumCheck {
  const check = new ChecksumCheck();
  check.compare(held, held, 4);
  assert.throws(() => check.compare(held, told, 5), ChecksumError);
  return check;
}

void describe("a mirror's sum beside its upstream's", () => {
  void it("is compared again after a list that mended a difference", () => {
    const check = suspicious();
    check.listed(true);
    assert.equal(check.on, true);
    assert.deepEqual(check.counts, { checked: 2, mismatched: 1 });
  });

  void it("is not asked for any more once a list found no difference where the sums did", () => {
    const check = suspicious();
    check.listed(false);
    assert.equal(check.on, false);
  });

  void it("is not doubted for a list without a difference that nobody asked for", () => {
    const check = new ChecksumCheck();
    check.listed(false);
    assert.equal(check.on, true);
  });
});
