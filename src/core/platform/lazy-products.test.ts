/** Lazily made things: one maker each, a bound for all of them, and changes of what they are made of. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LazyProducts, Makers } from "./lazy-products.ts";
import { settle } from "./testing/clock.ts";

/** Products that the test finishes by hand. */
function bench(makersMax: number) {
  const products = new LazyProducts<string>(new Makers(makersMax));
  const begun: string[] = [];
  const ends: ((value: string | Error) => void)[] = [];
  const state = { source: {} as object };
  const make = (key: string): Promise<string> =>
    new Promise((resolve, reject) => {
      begun.push(key);
      ends.push((value) => (value instanceof Error ? reject(value) : resolve(value)));
    });
  return {
    begun,
    products,
    change: () => void (state.source = {}),
    get: (key: string) =>
      products.get(key, { sources: () => [state.source], make: () => make(key) }),
    /** Ends the oldest maker at work. */
    end: async (value: string | Error): Promise<void> => {
      ends.shift()?.(value);
      await settle();
    },
  };
}

test("a thousand that ask before it is made share one maker and get the same value", async () => {
  const { get, begun, end } = bench(4);
  const answers = Array.from({ length: 1_000 }, () => get("v2"));
  await settle();
  assert.deepEqual(begun, ["v2"]);
  await end("made");
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(["made"]));
  assert.equal(await get("v2"), "made");
  assert.deepEqual(begun, ["v2"]);
});

test("makers of all keys together are bounded, and begin in the order of the questions", async () => {
  const { get, begun, end } = bench(2);
  const answers = ["a", "b", "c", "d"].map((key) => get(key));
  await settle();
  assert.deepEqual(begun, ["a", "b"]);
  await end("1");
  assert.deepEqual(begun, ["a", "b", "c"]);
  await end("2");
  await end("3");
  await end("4");
  assert.deepEqual(await Promise.all(answers), ["1", "2", "3", "4"]);
});

test("who asks after a change never gets what was made before it, and makers do not multiply", async () => {
  const { get, change, begun, end } = bench(4);
  const early = get("v2");
  await settle();
  change();
  const late = Array.from({ length: 100 }, () => get("v2"));
  await settle();
  assert.deepEqual(begun, ["v2"]);
  await end("old");
  assert.equal(await early, "old");
  assert.deepEqual(begun, ["v2", "v2"]);
  await end("new");
  assert.deepEqual(new Set(await Promise.all(late)), new Set(["new"]));
  assert.equal(await get("v2"), "new");
});

test("sources that change all the time delay an answer by two makers at most", async () => {
  const { get, change, begun, end } = bench(4);
  const early = get("v2");
  await settle();
  change();
  const late = get("v2");
  await end("first");
  change();
  await end("second");
  assert.deepEqual(await Promise.all([early, late]), ["first", "second"]);
  const next = get("v2");
  await settle();
  assert.equal(begun.length, 3, "what was made of sources that are gone is not kept");
  await end("third");
  assert.equal(await next, "third");
});

test("one that waits for a free maker is made of what is current when it begins", async () => {
  const { get, change, begun, end } = bench(1);
  const first = get("a");
  const second = get("b");
  await settle();
  change();
  const third = get("b");
  await end("a");
  await end("b");
  assert.deepEqual(await Promise.all([first, second, third]), ["a", "b", "b"]);
  assert.deepEqual(begun, ["a", "b"]);
});

test("a maker that fails fails those who wait for it, and the next question tries again", async () => {
  const { get, begun, end } = bench(1);
  const answers = Promise.allSettled([get("v2"), get("v2")]);
  await settle();
  await end(new Error("no memory"));
  assert.deepEqual(
    (await answers).map(({ status }) => status),
    ["rejected", "rejected"],
  );
  const again = get("v2");
  await settle();
  await end("made");
  assert.equal(await again, "made");
  assert.deepEqual(begun, ["v2", "v2"]);
});

test("what is forgotten, or no longer known, is made again", async () => {
  const { get, products, begun, end } = bench(1);
  const first = get("a");
  await settle();
  await end("1");
  await first;
  products.retain((key) => key === "a");
  assert.equal(await get("a"), "1");
  products.retain(() => false);
  const second = get("a");
  await settle();
  await end("2");
  await second;
  products.forget();
  const third = get("a");
  await settle();
  await end("3");
  assert.equal(await third, "3");
  assert.equal(begun.length, 3);
});
