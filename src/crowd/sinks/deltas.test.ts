/** A consumer that applies every message has what was shown, whatever the objects and however little is kept. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { Deltas } from "./deltas.ts";
import { DeltaConsumer, isMap } from "./testing/delta-consumer.ts";

const names = ["a", "b", "metadata", "__proto__", "constructor", "", "é"];
const shownValues = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  object: fc
    .array(fc.tuple(fc.constantFrom(...names), tie("value")), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries) as JsonObject),
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>("", "text", "x".repeat(60), 0, 1.5, 2 ** 53, true, null, []),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
})).object;

test("messages applied in order give what was shown, exactly", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom("x", "y", "z"), shownValues), { maxLength: 20 }),
      fc.constantFrom(0, 200, 1_000_000),
      (changes, bytesMax) => {
        const deltas = new Deltas(bytesMax);
        const consumer = new DeltaConsumer();
        for (const [at, [key, shown]] of changes.entries()) {
          const given = consumer.take(key, String(at), deltas.encode(key, String(at), shown));
          assert.equal(canonical(given), canonical(shown));
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

/** Fields in one order. */
function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((one: JsonValue) => canonical(one)).join()}]`;
  if (!isMap(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}:${canonical(one as JsonValue)}`,
  );
  return `{${fields.toSorted().join()}}`;
}

const pod = (phase: string, more: JsonObject = {}): JsonObject => ({
  metadata: { name: "a", labels: { app: "web" } },
  spec: { containers: [{ name: "main", image: "nginx", args: ["x".repeat(200)] }] },
  status: { phase },
  ...more,
});
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

test("the first message is whole, the next says what changed and since when", () => {
  const deltas = new Deltas();
  assert.match(text(deltas.encode("a", "5", pod("Pending"))), /^\{"object":\{"metadata"/);
  assert.equal(
    text(deltas.encode("a", "9", pod("Running"))),
    '{"base":"5","patch":{"status":{"phase":"Running"}}}',
  );
  assert.equal(text(deltas.encode("a", "10", pod("Running"))), '{"base":"9","patch":{}}');
});

test("what no patch can say comes whole, and so does what is not kept", () => {
  const deltas = new Deltas();
  const next = (more: JsonObject): string => text(deltas.encode("a", "1", pod("Running", more)));
  next({});
  for (const more of [{ field: null }, { field: [{ deep: null }] }, { field: 2 ** 60 }]) {
    assert.match(next(more), /^\{"object"/, JSON.stringify(more));
  }
  let deep: JsonObject = {};
  for (let level = 0; level < 5_000; level++) deep = { deep };
  assert.match(next(deep), /^\{"object"/);
  const little = new Deltas(100);
  little.encode("a", "1", pod("Pending"));
  assert.match(text(little.encode("a", "2", pod("Running"))), /^\{"object"/);
});

test("a deleted object that comes again comes whole", () => {
  const deltas = new Deltas();
  deltas.encode("a", "1", pod("Running"));
  deltas.forget("a");
  assert.match(text(deltas.encode("a", "3", pod("Running"))), /^\{"object"/);
});
