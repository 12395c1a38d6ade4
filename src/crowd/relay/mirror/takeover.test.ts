/** A list of a large collection is taken in turns of the loop, and readers see all of it or nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { everything, TestSink } from "#watch/testing/feed.ts";
import { relayLimits } from "../limits.ts";
import { podKind } from "../testing/fake-upstream.ts";
import { Mirror } from "./mirror.ts";
import type { FormedObject } from "./object-form.ts";

const encoder = new TextEncoder();

function formed(at: number, revision: number): FormedObject {
  const name = `p${String(at).padStart(5, "0")}`;
  const metadata = { name, namespace: "ns", uid: name };
  const value = encoder.encode(JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata }));
  return { key: `ns/${name}`, value, revision };
}

const many = 5_000;
const list = Array.from({ length: many }, (_, at) => formed(at, at + 1));

function makeMirror(): { clock: FakeClock; mirror: Mirror } {
  const clock = new FakeClock();
  const memos = new MemoPool({ bytesMax: 1 << 20 });
  const mirror = new Mirror({ clock, memos }, podKind, { ...relayLimits, flushMs: 0 });
  return { clock, mirror };
}

/** Turns of the loop that are taken until `take` is done; `look` is called in between. */
async function turns(
  clock: FakeClock,
  take: () => Promise<unknown>,
  look: () => void,
): Promise<number> {
  let isDone = false;
  const before = clock.turns;
  const ended = take().then(() => (isDone = true));
  let looked = before;
  while (!isDone) {
    if (clock.turns > looked) {
      looked = clock.turns;
      look();
    }
    await Promise.resolve();
  }
  await ended;
  return clock.turns - before;
}

async function holding(): Promise<{ clock: FakeClock; mirror: Mirror; sink: TestSink }> {
  const { clock, mirror } = makeMirror();
  const count = await turns(
    clock,
    () => mirror.replace(list, many),
    () => {
      assert.equal(mirror.ready, false);
    },
  );
  assert.ok(count >= 2, `a first list takes ${count} turns`);
  const sink = new TestSink();
  mirror.cache.watch({ predicate: everything, bookmarks: false, start: { after: many } }, sink);
  return { clock, mirror, sink };
}

test("a list that changes every other object, and lacks some, is seen whole or not at all", async () => {
  const { clock, mirror, sink } = await holding();
  const changed = list
    .filter((_, at) => at % 5 !== 0)
    .map((object, at) => (at % 2 === 0 ? object : { ...object, revision: many + 1 + at }));
  const before = mirror.cache.state.snapshot();
  const count = await turns(
    clock,
    () => mirror.replace(changed, 3 * many),
    () => {
      assert.equal(mirror.revision, many);
      assert.equal(mirror.cache.state.size, many);
      assert.equal(sink.items.length, 0);
      assert.notEqual(mirror.free, undefined, "events wait meanwhile");
    },
  );
  assert.ok(count >= 4, `${count} turns`);
  assert.equal(mirror.free, undefined);
  assert.equal(mirror.revision, 3 * many);
  const held = [...mirror.cache.state.snapshot().objects];
  assert.deepEqual(
    held.map(({ key, revision }) => [key, revision]),
    changed.map(({ key, revision }) => [key, revision]),
  );
  const kept = held.filter((object) => before.objects.get(object.key) === object).length;
  assert.equal(kept, changed.length / 2, "what did not change stays the object that was held");
  const revisions = sink.items.map(({ resourceVersion }) => Number(resourceVersion));
  assert.equal(revisions.length, many / 5 + changed.length / 2);
  assert.deepEqual(
    revisions,
    revisions.toSorted((a, b) => a - b),
  );
});

test("a list in any order is the same list", async () => {
  const { clock, mirror } = await holding();
  const shuffled = list.toSorted(
    (a, b) => ((a.revision * 7919) % many) - ((b.revision * 7919) % many),
  );
  await turns(
    clock,
    () => mirror.verify(shuffled, many + 7),
    () => {},
  );
  assert.deepEqual([mirror.proven, mirror.counts.reconciled], [many + 7, 0]);
});

test("lists are taken one after the other, an older one beside the stream not at all", async () => {
  const { clock, mirror, sink } = await holding();
  const newer = () => mirror.verify(list.slice(1), many + 20);
  const older = () => mirror.verify([], many + 10);
  await turns(
    clock,
    () => Promise.all([newer(), older()]),
    () => {},
  );
  assert.equal(mirror.cache.state.size, many - 1);
  assert.deepEqual(
    sink.items.map(({ type, resourceVersion }) => `${type} ${resourceVersion}`),
    [`DELETED ${many + 20}`],
  );
});

test("a mirror that closes, or is withdrawn, while a list is taken takes it as it is then", async () => {
  for (const end of ["close", "withdraw"] as const) {
    const { clock, mirror, sink } = await holding();
    const taking = () => mirror.replace(list.slice(1), many + 20);
    let looks = 0;
    await turns(clock, taking, () => {
      if (looks++ === 1) mirror[end]();
    });
    assert.equal(sink.ended, true);
    assert.equal(mirror.serving, end === "withdraw", "listed again");
    assert.equal(mirror.cache.state.size, end === "withdraw" ? many - 1 : many);
    // Nothing before the list counts any more.
    if (end === "withdraw") assert.notEqual(mirror.refusal(many), undefined);
  }
});

test("more events than a call takes arguments reach a watcher", async () => {
  const { clock, mirror, sink } = await holding();
  const more = Array.from({ length: 150_000 }, (_, at) => formed(at + many, at + many + 1));
  await turns(
    clock,
    () => mirror.replace([...list, ...more], 1_000_000),
    () => {},
  );
  assert.equal(sink.items.length, 150_000);
});
