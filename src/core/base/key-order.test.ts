/** Orders of many strings against the host's sort. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOrder } from "./key-order.ts";
import { FakeRandom } from "#platform/testing/random.ts";

function check(keys: readonly string[], message: string): void {
  const order = keyOrder(keys);
  assert.equal(new Set(order).size, keys.length, message);
  const sorted = Array.from(order, (i) => keys[i] as string);
  assert.deepEqual(
    sorted,
    keys.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    message,
  );
}

void test("keys of any shape come out in code-unit order", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new FakeRandom(seed);
    const alphabet = random.pick(["ab", "\0a\u00ff", "abc/-", "0123456789", "a\u0100b\uffff"]);
    const prefix = random.pick(["", "/registry/pods/", "/r/\0"]);
    const lengthMax = random.pick([3, 8, 30]);
    const keys = Array.from({ length: random.below(600) }, () => {
      const length = random.below(lengthMax);
      const chars = Array.from({ length }, () => alphabet[random.below(alphabet.length)]);
      return (random.chance(0.9) ? prefix : "") + chars.join("");
    });
    check(keys, `seed ${seed}`);
  }
});

void test("equal keys, long common prefixes and no keys at all are no trouble", () => {
  check([], "none");
  check(
    Array.from({ length: 100 }, () => "same"),
    "equal",
  );
  const long = "x".repeat(60_000);
  check(
    Array.from({ length: 60 }, (_, i) => long.slice(i) + String(i)),
    "long",
  );
});

void test("of many keys too, those in order already and those with a strange one among them", () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = new FakeRandom(seed);
    const length = random.pick([2, 5, 6, 7, 14]);
    const alphabet = random.pick(["ab", "0123456789", "\0x\u00ff"]);
    const keys = Array.from({ length: 9000 + random.below(500) }, () => {
      const chars = Array.from({ length: random.below(length) + 1 }, () =>
        alphabet.charAt(random.below(alphabet.length)),
      );
      return `/registry/${chars.join("")}`;
    });
    check(keys, `seed ${seed}`);
    check(keys.toSorted(), `seed ${seed}, in order`);
    check([...keys, "/registry/a\u0100"], `seed ${seed}, with a strange one`);
  }
});
