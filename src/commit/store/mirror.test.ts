/** The copy of another store: its revisions, leaps, loads, and what watches see of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { Mirror, type MirroredChange } from "./mirror.ts";
import type { Commit, KeyValue, LeaseId, Revision } from "./store.ts";
import { bytes, key } from "./testing/fixture.ts";

const options = { slabBytes: 4_096, watchBatchCommitsMax: 4 };
const all = { start: key(""), end: key("\xff") };

function kv(name: string, value: string, modRevision: number): KeyValue {
  const revision = modRevision as Revision;
  const numbers = { createRevision: revision, modRevision: revision, version: 1 };
  return { key: key(name), value: bytes(value), ...numbers, lease: 0n as LeaseId };
}

function put(name: string, value: string, revision: number): MirroredChange {
  return { key: key(name), kv: kv(name, value, revision) };
}

function mirror() {
  const clock = new FakeClock();
  const made = new Mirror({ clock, log: silentLog }, options);
  const seen: string[] = [];
  const progress: number[] = [];
  const follow = (after: number): void => {
    made.watch(all, after as Revision, {
      deliver: (commits: readonly Commit[]) => {
        for (const { revision, events } of commits) {
          seen.push(`${revision}:${events.map((one) => `${one.kind} ${one.key}`).join(",")}`);
        }
        return true;
      },
      progressed: (revision) => progress.push(revision),
      compacted: () => seen.push("compacted"),
    });
  };
  return { clock, made, seen, progress, follow };
}

function stateOf(made: Mirror): readonly string[] {
  const found = made.range(all);
  if (found.kind !== "ok") return [found.kind];
  const text = (one: KeyValue): string => Buffer.from(one.value).toString();
  return found.kvs.map((one) => `${one.key}=${text(one)}@${one.modRevision}`);
}

test("revisions of others are leaps: reads and watches see whole revisions at their numbers", async () => {
  const { made, seen, progress, follow } = mirror();
  made.load(100, [kv("a", "1", 40), kv("b", "1", 99)]);
  assert.deepEqual(stateOf(made), ["a=1@40", "b=1@99"]);
  follow(100);
  await settle();
  made.apply(105, [put("c", "1", 105), { key: key("a"), kv: undefined }]);
  made.apply(50_000, [put("b", "2", 50_000)]);
  made.advance(50_010);
  assert.equal(made.commitRevision, 50_010);
  assert.deepEqual(stateOf(made), ["b=2@50000", "c=1@105"]);
  assert.deepEqual(seen, ["105:put c,delete a", "50000:put b"]);
  assert.deepEqual(progress, [50_010]);
  const old = made.range({ ...all, at: 200 as Revision });
  assert.equal(old.kind === "ok" && old.kvs.length, 2);
});

test("a deletion of what is not there changes nothing", () => {
  const { made } = mirror();
  made.load(10, []);
  made.apply(11, [{ key: key("x"), kv: undefined }]);
  assert.equal(made.commitRevision, 11);
  assert.deepEqual(stateOf(made), []);
});

test("a new load ends watches that stand before it, and one from there goes on", async () => {
  const { made, seen, follow } = mirror();
  made.load(10, [kv("a", "1", 5)]);
  follow(10);
  await settle();
  made.load(20, [kv("z", "1", 15)]);
  assert.deepEqual(seen, ["compacted"]);
  assert.deepEqual(stateOf(made), ["z=1@15"]);
  follow(20);
  await settle();
  made.apply(21, [put("y", "1", 21)]);
  assert.deepEqual(seen, ["compacted", "21:put y"]);
});

test("compaction forgets history, keeps the state, and gives the memory back", async () => {
  const { clock, made } = mirror();
  made.load(1, []);
  const value = "x".repeat(500);
  for (let at = 2; at < 2_000; at++) made.apply(at, [put("a", value, at)]);
  const before = made.stats();
  made.compact(1_999);
  for (let turn = 0; turn < 50; turn++) await clock.advance(1_000);
  const after = made.stats();
  assert.ok(after.versions <= 2, `${after.versions} of ${before.versions} versions`);
  assert.ok(after.slabHeldBytes < before.slabHeldBytes / 10);
  assert.equal(made.range({ ...all, at: 5 as Revision }).kind, "compacted");
});
