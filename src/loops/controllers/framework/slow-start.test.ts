/** Batches double, and one failure ends them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { slowStart } from "./slow-start.ts";

test("each element is called once, in batches of 1, 2, 4 ...; after a failed batch none", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(60), fc.option(fc.nat(60)), async (count, failing) => {
      const called: number[] = [];
      const refusal = new Error("refused");
      const { succeeded, error } = await slowStart([...Array(count).keys()], async (index) => {
        called.push(index);
        if (index === failing) throw refusal;
      });
      assert.deepEqual(called, [...called.keys()]);
      if (failing === null || failing >= count) {
        assert.deepEqual([succeeded, error, called.length], [count, undefined, count]);
        return;
      }
      // The batch of index i ends before 2^k - 1, for the smallest such above i.
      const end = 2 ** Math.ceil(Math.log2(failing + 2)) - 1;
      assert.equal(called.length, Math.min(end, count));
      assert.deepEqual([succeeded, error], [called.length - 1, refusal]);
    }),
  );
});
