/** Lists share blocks: what did not change is not copied again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { Pace } from "#platform/pace.ts";
import type { CachedObject } from "./cached-object.ts";
import { ListBlocks, storedForm } from "./list-body.ts";

const made = { count: 0 };
const stored = storedForm("v1", "Thing");

function object(revision: number, padding = 0): CachedObject {
  const name = `o${revision}`;
  const text = JSON.stringify({
    apiVersion: "v1",
    kind: "Thing",
    name,
    revision,
    padding: "x".repeat(padding),
  });
  return {
    revision,
    resourceVersion: String(revision),
    namespace: "",
    name,
    object: {},
    get json() {
      made.count++;
      return new TextEncoder().encode(text);
    },
    bytes: text.length,
    labels: {},
    field: () => "",
    encoded: () => new Uint8Array(0),
  };
}

const head = { apiVersion: "v1", kind: "ThingList", metadata: { resourceVersion: "9" } };

function textOf(chunks: readonly Uint8Array[]): string {
  return Buffer.concat(chunks).toString();
}

test("a list is one JSON document with its items in order", () => {
  const items = Array.from({ length: 300 }, (_, at) => object(at + 1));
  const list = JSON.parse(textOf(new ListBlocks().body(head, items, stored)));
  assert.equal(list.kind, "ThingList");
  assert.deepEqual(Object.keys(list.items[0]), ["name", "revision", "padding"]);
  assert.deepEqual(
    list.items.map((item: { revision: number }) => item.revision),
    items.map((item) => item.revision),
  );
  assert.match(textOf(new ListBlocks().body(head, [], stored)), /"items":\[\]}\n$/);
});

test("one changed object costs one block, not the list", () => {
  const blocks = new ListBlocks();
  const items = Array.from({ length: 1024 }, (_, at) => object(at + 1, 1000));
  blocks.body(head, items, stored);
  made.count = 0;
  blocks.body(head, items, stored);
  assert.equal(made.count, 0);
  const changed = items.with(500, object(5001, 1000));
  const text = textOf(blocks.body(head, changed, stored));
  assert.ok(made.count <= 64, `${made.count} objects were encoded again`);
  assert.equal(JSON.parse(text).items.length, 1024);
  made.count = 0;
  const removed = items.toSpliced(100, 1);
  assert.equal(JSON.parse(textOf(blocks.body(head, removed, stored))).items.length, 1023);
  assert.ok(made.count <= 64, `${made.count} objects were encoded again`);
});

test("a long list leaves in chunks, a short one in one", () => {
  const long = Array.from({ length: 600 }, (_, at) => object(at + 1, 2000));
  const chunks = new ListBlocks().body(head, long, stored);
  assert.ok(chunks.length > 2);
  assert.equal(new ListBlocks().body(head, long.slice(0, 10), stored).length, 1);
});

test("blocks are forgotten when no list was asked for two minutes, not before", async () => {
  const clock = new FakeClock();
  const blocks = new ListBlocks();
  const items = Array.from({ length: 100 }, (_, at) => object(at + 1));
  const encodedByList = async (): Promise<number> => {
    made.count = 0;
    await blocks.bodyInTurns(head, items, stored, new Pace(clock));
    return made.count;
  };
  assert.equal(await encodedByList(), 100);
  for (let round = 0; round < 3; round++) {
    await clock.advance(100_000);
    assert.ok((await encodedByList()) < 10, "runs of one or two are never kept");
  }
  await clock.advance(120_000);
  assert.equal(await encodedByList(), 100);
  await clock.advance(120_000);
  assert.equal(clock.timers().length, 0, "an idle list costs no timer");
});
