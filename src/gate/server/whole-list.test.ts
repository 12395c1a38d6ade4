/** A list that is encoded in turns is, byte for byte, the list encoded at once. */
import { bodyOf, yamlOptions } from "#forms/body.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { stringify } from "yaml";
import type { Clock } from "#platform/clock.ts";
import { uncharged } from "#platform/ledger.ts";
import { Pace } from "#platform/pace.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { roomyLedger } from "#platform/testing/roomy-ledger.ts";
import type { Negotiated } from "#forms/negotiate.ts";
import { wholeList } from "./whole-list.ts";

const forms: readonly Negotiated[] = [
  { mediaType: "application/json", isPretty: false },
  { mediaType: "application/json", isPretty: true },
  { mediaType: "application/yaml", isPretty: false },
];

const objectAt = (at: number): object => ({
  metadata: { name: `o${at}`, labels: { a: "yes", "b/c": "1" }, empty: {} },
  data: { text: 'line\n  "two"\n', list: [1, [2, {}], []], z: null },
});

/** Single objects that are large are YAML in flow style; lists are always in block style. */
function encodeWhole(list: object, form: Negotiated): string {
  if (form.mediaType === "application/yaml") return stringify(list, yamlOptions);
  return Buffer.from(bodyOf(list, form)).toString();
}

for (const form of forms) {
  test(`${form.mediaType}${form.isPretty ? ", indented" : ""}: the same bytes as at once`, async () => {
    for (const count of [0, 1, 3, 600]) {
      const items = Array.from({ length: count }, (_, at) => objectAt(at));
      const head = {
        kind: "List",
        apiVersion: "v1",
        metadata: { resourceVersion: "7" },
        items: [],
      };
      const clock = new FakeClock();
      const entries = { count, isLong: false, entry: objectAt };
      const body = await wholeList(head, "items", entries, form, new Pace(clock), uncharged);
      const whole = encodeWhole({ ...head, items }, form);
      assert.equal(Buffer.concat(body).toString(), whole);
      assert.ok(count < 600 || clock.turns > 1, `${clock.turns} turns`);
    }
  });
}

test("an indented list of kept bytes is, byte for byte, the one of objects", async () => {
  const form: Negotiated = { mediaType: "application/json", isPretty: true };
  for (const count of [1, 3, 600]) {
    const json = (at: number): Uint8Array => Buffer.from(JSON.stringify(objectAt(at)));
    const entry = (): object => assert.fail("no object is made");
    const entries = { count, isLong: false, entry, json };
    const head = { kind: "List", apiVersion: "v1", items: [] };
    const clock = new FakeClock();
    const body = await wholeList(head, "items", entries, form, new Pace(clock), uncharged);
    const items = Array.from({ length: count }, (_, at) => objectAt(at));
    assert.equal(Buffer.concat(body).toString(), encodeWhole({ ...head, items }, form));
    assert.ok(count < 600 || clock.turns > 1, `${clock.turns} turns`);
  }
});

test("a list ends in the making when its caller may hold no more, having made no more than that", async () => {
  const ledger = roomyLedger({ callerBytesMax: 100_000, smallBytesMax: 0 });
  const holding = ledger.open("user:ann");
  const clock = new FakeClock();
  let made = 0;
  const entry = (): object => ({ text: "x".repeat(1_000), at: made++ });
  const entries = { count: 10_000, isLong: true, entry };
  const form: Negotiated = { mediaType: "application/json", isPretty: false };
  const head = { kind: "List", items: [] };
  const list = wholeList(head, "items", entries, form, new Pace(clock), holding);
  const refusal = assert.rejects(list, /the limit of 98 KiB of one caller is reached/);
  await clock.advance(100);
  await refusal;
  assert.ok(made < 600, String(made));
  holding.close();
  assert.equal(ledger.bytes, 0);
});

test("entries that take long are made a few per turn", async () => {
  const fake = new FakeClock();
  let passedMs = 0;
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => passedMs,
    after: (name, delayMs, f) => fake.after(name, delayMs, f),
  };
  const entry = (at: number): object => {
    passedMs += 3;
    return objectAt(at);
  };
  const [form] = forms;
  assert.ok(form);
  const entries = { count: 40, isLong: false, entry };
  await wholeList({ items: [] }, "items", entries, form, new Pace(clock), uncharged);
  assert.equal(fake.turns, 19);
});

test("large entries end their turn, and lists of them take turns", async () => {
  const clock = new FakeClock();
  const made: number[] = [];
  const form: Negotiated = { mediaType: "application/json", isPretty: true };
  const list = (at: number): Promise<readonly Uint8Array[]> => {
    const entry = (): object => {
      made.push(at);
      return { text: "x".repeat(200_000) };
    };
    const head = { kind: "List", items: [] };
    const entries = { count: 3, isLong: true, entry };
    return wholeList(head, "items", entries, form, new Pace(clock), uncharged);
  };
  const lists = [list(0), list(1)];
  assert.deepEqual(made, []);
  await clock.advance(10);
  assert.deepEqual(made, [0, 1, 0, 1, 0, 1]);
  const [one, other] = await Promise.all(lists);
  assert.deepEqual(one, other);
});
