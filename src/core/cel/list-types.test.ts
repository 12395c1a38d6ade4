/** What lists of type set and map do is effort, so that a fold of them cannot hold the loop (effort.ts). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EffortExceeded, withEffort } from "./effort.ts";
import { ListValue } from "./libraries/values.ts";
import { KeyedList, SetList } from "./list-types.ts";

const size = 1_000;
const items = Array.from({ length: size }, (_, at) => BigInt(at));
const keys = items.map(String);

function lists(): readonly (SetList | KeyedList)[] {
  const plain = new ListValue(items);
  return [new SetList(plain, () => keys), new KeyedList(plain, () => keys, String)];
}

test("comparing and joining cost their elements", () => {
  for (const list of lists()) {
    const calls = [
      () => void list.equals(new ListValue(items), (a, b) => a === b),
      () => void list.join(new ListValue(items)),
    ];
    for (const call of calls) {
      assert.throws(() => withEffort(size - 1, call), EffortExceeded);
      assert.ok(withEffort(4 * size, call).effort >= size);
    }
  }
});
