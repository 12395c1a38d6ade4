/** The store's door: one behaviour suite, run over every engine. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { given } from "#base/given.ts";
import { settle } from "#platform/testing/clock.ts";
import {
  bytes,
  key,
  newWorld,
  openTestStore,
  plain,
  rev,
  TestSink,
  text,
} from "./testing/fixture.ts";
import type { EngineName, World } from "./testing/fixture.ts";
import type { OpenedStore } from "./full-store.ts";
import type { Key, LeaseId } from "./store.ts";

const engines: readonly EngineName[] = ["memory", "local"];
const everything = { start: key(""), end: key("\uffff") };

interface Opened {
  readonly world: World;
  readonly store: OpenedStore;
}

async function opened(
  engine: EngineName,
  options: Parameters<typeof openTestStore>[2] = {},
): Promise<Opened> {
  const world = newWorld(1);
  return { world, store: await openTestStore(world, engine, options) };
}

async function put(
  store: OpenedStore,
  name: string,
  value: string,
  lease?: LeaseId,
): Promise<number> {
  const result = await store.put(key(name), bytes(value), given({ lease }));
  assert.equal(result.kind, "committed");
  return (result as { revision: number }).revision;
}

function read(store: OpenedStore, name: string, at?: number): string | undefined {
  const result = store.get(key(name), at === undefined ? undefined : rev(at));
  return result.kind === "found" ? text(result.kv.value) : undefined;
}

for (const engine of engines) {
  void describe(`store over the ${engine} engine`, () => {
    void test("an empty store is at revision 1, and each change takes the next one", async () => {
      const { store } = await opened(engine);
      assert.deepEqual([store.commitRevision, store.compactRevision], [1, 1]);
      assert.equal(await put(store, "a", "1"), 2);
      assert.equal(await put(store, "a", "2"), 3);
      const gone = await store.delete(key("a"), {});
      assert.equal(gone.kind === "committed" && gone.revision, 4);
      assert.equal((await store.delete(key("a"), {})).kind, "missing");
      assert.equal(store.commitRevision, 4);
    });

    void test("a key carries its creation, its version and its lease, and starts anew after a delete", async () => {
      const { store } = await opened(engine);
      const lease = await store.grantLease(60);
      await put(store, "a", "1");
      await put(store, "a", "2", lease);
      const found = store.get(key("a"));
      assert.ok(found.kind === "found");
      assert.deepEqual(plain(found.kv), {
        key: "a",
        value: "2",
        createRevision: 2,
        modRevision: 3,
        version: 2,
        lease,
      });
      await store.delete(key("a"), {});
      await put(store, "a", "3");
      const again = store.get(key("a"));
      assert.ok(again.kind === "found");
      assert.deepEqual([again.kv.createRevision, again.kv.version, again.kv.lease], [5, 1, 0n]);
    });

    void test("a guard holds or tells what is there; a refused write takes no revision", async () => {
      const { store } = await opened(engine);
      const create = (): ReturnType<typeof store.put> =>
        store.put(key("a"), bytes("1"), { guard: { modRevision: 0 } });
      // Both are sequenced before either is durable: only one can win.
      const [first, second] = await Promise.all([create(), create()]);
      assert.equal(first.kind, "committed");
      assert.ok(second.kind === "conflict" && second.actual !== undefined);
      assert.equal(second.actual.modRevision, 2);
      const stale = await store.delete(key("a"), { guard: { modRevision: rev(1) } });
      assert.equal(stale.kind, "conflict");
      const none = await store.put(key("b"), bytes("1"), { guard: { modRevision: rev(2) } });
      assert.ok(none.kind === "conflict" && none.actual === undefined);
      assert.equal(
        (await store.delete(key("a"), { guard: { modRevision: rev(2) } })).kind,
        "committed",
      );
      assert.equal(store.commitRevision, 3);
    });

    void test("nothing is seen before it is durable, and then by watchers before the writer", async () => {
      const { store } = await opened(engine);
      const order: string[] = [];
      store.watch(everything, store.commitRevision, {
        deliver: (commits) => {
          order.push(
            `watch ${commits.map((commit) => commit.revision).join()} at ${store.commitRevision}`,
          );
          return true;
        },
        compacted: () => assert.fail(),
      });
      await settle();
      const written = store.put(key("a"), bytes("1"), {}).then(() => order.push("writer"));
      assert.equal(store.get(key("a")).kind, "missing");
      assert.equal(store.commitRevision, 1);
      await written;
      assert.deepEqual(order, ["watch 2 at 2", "writer"]);
    });

    void test("old revisions stay readable down to the compacted one", async () => {
      const { store } = await opened(engine);
      for (const value of ["1", "2", "3"]) await put(store, "a", value);
      await store.delete(key("a"), {});
      await put(store, "b", "1");
      assert.deepEqual(
        [1, 2, 3, 4, 5, 6].map((at) => read(store, "a", at)),
        [undefined, "1", "2", "3", undefined, undefined],
      );
      assert.deepEqual(store.get(key("a"), rev(7)), { kind: "future", commitRevision: 6 });
      assert.deepEqual(await store.compact(rev(7)), { kind: "future", commitRevision: 6 });
      assert.deepEqual(await store.compact(rev(3)), { kind: "ok" });
      assert.deepEqual(store.get(key("a"), rev(2)), { kind: "compacted", compactRevision: 3 });
      assert.deepEqual(await store.compact(rev(3)), { kind: "compacted", compactRevision: 3 });
      assert.deepEqual(
        [3, 4, 5].map((at) => read(store, "a", at)),
        ["2", "3", undefined],
      );
      assert.deepEqual(await store.compact(rev(6)), { kind: "ok" });
      assert.equal(read(store, "b"), "1");
      assert.deepEqual([store.stats().keys, store.stats().versions], [1, 1]);
    });

    void test("a range is cut by limit, counts all, and sees one revision", async () => {
      const { store } = await opened(engine);
      for (let i = 0; i < 10; i++) await put(store, `k${i}`, "1");
      await store.delete(key("k3"), {});
      await put(store, "k5", "2");
      const range = (more: object): unknown => {
        const result = store.range({ start: key("k2"), end: key("k8"), ...more });
        if (result.kind !== "ok") return result;
        return [
          result.kvs.map((kv) => kv.key + text(kv.value)).join(),
          result.count,
          result.more,
          result.revision,
        ];
      };
      assert.deepEqual(range({}), ["k21,k41,k52,k61,k71", 5, false, 13]);
      assert.deepEqual(range({ limit: 2 }), ["k21,k41", 5, true, 13]);
      assert.deepEqual(range({ limit: 0 }), ["", 5, true, 13]);
      assert.deepEqual(range({ at: rev(11), limit: 3 }), ["k21,k31,k41", 6, true, 11]);
      assert.deepEqual(range({ at: rev(99) }), { kind: "future", commitRevision: 13 });
    });

    void test("a watch gets history, then what is new, only of its range, with previous values", async () => {
      const { store } = await opened(engine);
      await put(store, "a", "1");
      await put(store, "b", "1");
      await put(store, "a", "2");
      const sink = new TestSink();
      const watch = store.watch({ start: key("a"), end: key("b") }, rev(2), sink);
      assert.deepEqual(sink.lines(), []);
      await settle();
      await store.delete(key("a"), {});
      await put(store, "c", "1");
      assert.deepEqual(sink.lines(), ["4 a=2", "5 -a"]);
      assert.deepEqual(
        sink.commits.map(({ events }) => text(events[0]?.previous?.value ?? bytes("none"))),
        ["1", "2"],
      );
      assert.equal(watch.position, 6);
      watch.close();
      await put(store, "a", "3");
      assert.equal(sink.commits.length, 2);
    });

    void test("a full sink misses nothing, repeats nothing, and goes on when it resumes", async () => {
      const { store, world } = await opened(engine);
      const sink = new TestSink(2);
      const watch = store.watch(everything, rev(1), sink);
      await settle();
      for (let i = 0; i < 40; i++) await put(store, `k${i}`, String(i));
      assert.equal(sink.commits.length, 2);
      assert.equal(watch.position, 3);
      sink.room = 1_000_000;
      watch.resume();
      // History is delivered in bounded batches, one per turn.
      assert.equal(sink.commits.length, 10);
      await world.clock.advance(0);
      assert.deepEqual(
        sink.commits.map((commit) => commit.revision),
        Array.from({ length: 40 }, (_, i) => i + 2),
      );
    });

    void test("a watch that needs forgotten history is told so once, and is over", async () => {
      const { store } = await opened(engine);
      for (let i = 0; i < 5; i++) await put(store, "a", String(i));
      const slow = new TestSink(0);
      const watch = store.watch(everything, rev(2), slow);
      await settle();
      await store.compact(rev(4));
      assert.equal(slow.compactedAt, 4);
      slow.room = 100;
      watch.resume();
      const late = new TestSink();
      store.watch(everything, rev(3), late);
      const fine = new TestSink();
      store.watch(everything, rev(4), fine);
      await settle();
      assert.deepEqual([late.compactedAt, fine.compactedAt], [4, undefined]);
      assert.deepEqual([slow.lines(), late.lines(), fine.lines()], [[], [], ["5 a=3", "6 a=4"]]);
    });

    void test("a watch from a revision yet to come starts there", async () => {
      const { store } = await opened(engine);
      const sink = new TestSink();
      store.watch(everything, rev(3), sink);
      await settle();
      for (let i = 0; i < 4; i++) await put(store, "a", String(i));
      assert.deepEqual(sink.lines(), ["4 a=2", "5 a=3"]);
    });

    void test("a sink may write, watch and close from within a delivery", async () => {
      const { store } = await opened(engine);
      const inner = new TestSink();
      const outer = new TestSink();
      const watch = store.watch(everything, rev(1), {
        deliver: (commits) => {
          outer.deliver(commits);
          watch.close();
          store.watch(everything, rev(1), inner);
          void store.put(key("b"), bytes("2"), {});
          return true;
        },
        compacted: () => assert.fail(),
      });
      await settle();
      await put(store, "a", "1");
      await settle();
      await put(store, "c", "3");
      assert.deepEqual(outer.lines(), ["2 a=1"]);
      assert.deepEqual(inner.lines(), ["2 a=1", "3 b=2", "4 c=3"]);
    });

    void test("a lease ends not before its time, and takes all its keys in one revision, sorted", async () => {
      const { store, world } = await opened(engine);
      const sink = new TestSink();
      store.watch(everything, rev(1), sink);
      const lease = await store.grantLease(10);
      const other = await store.grantLease(5);
      assert.notEqual(lease, other);
      for (const name of ["c", "a", "b"]) await put(store, name, "1", lease);
      await put(store, "d", "1", other);
      await put(store, "d", "2");
      await put(store, "b", "2", other);
      await put(store, "b", "3", lease);
      await world.clock.advance(9_999);
      assert.equal(store.commitRevision, 8);
      assert.equal(store.stats().leases, 1);
      await world.clock.advance(1);
      assert.equal(store.commitRevision, 9);
      assert.deepEqual(sink.lines().slice(-3), ["9 -a", "9 -b", "9 -c"]);
      assert.equal(sink.commits.at(-1)?.events.length, 3);
      assert.equal(read(store, "d"), "2");
      const late = await store.put(key("x"), bytes("1"), { lease });
      assert.equal(late.kind, "lease-not-found");
      assert.equal(store.stats().leases, 0);
    });

    void test("the wall clock does not end leases, and too many are refused", async () => {
      const { store, world } = await opened(engine, { leasesMax: 2 });
      const lease = await store.grantLease(10);
      await put(store, "a", "1", lease);
      world.clock.jumpWall(3_600_000);
      await world.clock.advance(1_000);
      assert.equal(read(store, "a"), "1");
      await store.grantLease(10);
      await assert.rejects(store.grantLease(10), /too many leases: 2 alive, at most 2/);
    });

    void test("values and keys over their limits are refused, at their limits taken", async () => {
      const { store } = await opened(engine);
      const fits = await store.put(key("a"), new Uint8Array(4096), {});
      assert.equal(fits.kind, "committed");
      const large = await store.put(key("a"), new Uint8Array(4097), {});
      assert.deepEqual(large, {
        kind: "too-large",
        message: "value of 4097 bytes is over the limit of 4096",
      });
      const long = await store.put(key("k".repeat(65_536)), bytes(""), {});
      assert.equal(long.kind, "too-large");
      assert.equal((await store.put(key("k".repeat(65_535)), bytes("1"), {})).kind, "committed");
      assert.equal(read(store, "k".repeat(65_535)), "1");
    });

    void test("over its quota the store refuses puts, and takes deletes and compaction", async () => {
      const { store } = await opened(engine, { quotaBytes: 20_000 });
      const kinds: string[] = [];
      for (let i = 0; i < 6; i++) {
        kinds.push((await store.put(key(`k${i}`), new Uint8Array(4000), {})).kind);
      }
      assert.deepEqual(kinds, [
        ...Array.from({ length: 4 }, () => "committed"),
        "no-space",
        "no-space",
      ]);
      assert.equal((await store.delete(key("k0"), {})).kind, "committed");
      assert.equal((await store.put(key("k9"), new Uint8Array(4000), {})).kind, "no-space");
      await store.compact(store.commitRevision);
      assert.equal((await store.put(key("k9"), new Uint8Array(4000), {})).kind, "committed");
    });

    void test("many writes at once keep their order and come out dense", async () => {
      const { store } = await opened(engine);
      const results = await Promise.all(
        Array.from({ length: 500 }, (_, i) => store.put(key(`k${i % 7}`), bytes(String(i)), {})),
      );
      assert.deepEqual(
        results.map((result) => result.kind === "committed" && result.revision),
        Array.from({ length: 500 }, (_, i) => i + 2),
      );
      assert.ok(store.stats().commits.batches < 100);
      assert.equal(store.stats().commits.waiting, 0);
    });

    void test("keys are bytes: all 256 of them, in byte order", async () => {
      const { store } = await opened(engine);
      for (let i = 255; i >= 0; i--) await put(store, `x${String.fromCharCode(i)}`, String(i));
      const result = store.range({ start: key("x"), end: key("y") });
      assert.ok(result.kind === "ok");
      assert.deepEqual(
        result.kvs.map((kv) => text(kv.value)),
        Array.from({ length: 256 }, (_, i) => String(i)),
      );
    });

    void test("after close every write says so, and what was accepted before is settled", async () => {
      const { store } = await opened(engine);
      const accepted = store.put(key("a"), bytes("1"), {});
      const closed = store.close();
      assert.equal((await store.put(key("b"), bytes("1"), {})).kind, "stopped");
      assert.equal((await accepted).kind, "committed");
      await closed;
      await store.close();
      assert.equal((await store.delete(key("a"), {})).kind, "stopped");
      await assert.rejects(store.grantLease(1), /the store has stopped: the store is closed/);
      assert.equal(read(store, "a"), "1");
    });

    void test("memory follows what is live: compaction gives back slabs, half-empty ones are joined", async () => {
      const { store, world } = await opened(engine, {
        quotaBytes: 2 ** 30,
        slabBytes: 2 ** 20,
        batchItemsMax: 4096,
        batchBytesMax: 2 ** 20,
      });
      const value = new Uint8Array(4000).fill(7);
      const write = (name: string): Promise<unknown> => store.put(key(name), value, {});
      // One key that stays among nine that do not, all over 40 MB.
      await Promise.all(
        Array.from({ length: 10_000 }, (_, i) => write(i % 10 === 0 ? `stay${i}` : `go${i % 10}`)),
      );
      assert.ok(store.stats().slabHeldBytes > 40e6);
      await store.compact(store.commitRevision);
      await world.clock.advance(0);
      const { slabHeldBytes, slabLiveBytes, keys, versions } = store.stats();
      assert.deepEqual([keys, versions], [1009, 1009]);
      assert.ok(
        slabLiveBytes > 4e6 && slabHeldBytes < slabLiveBytes * 1.15 + 10 * 2 ** 20,
        String(slabHeldBytes),
      );
      const range = store.range({ start: key("stay"), end: key("stay~") });
      assert.ok(
        range.kind === "ok" &&
          range.kvs.every((kv: { value: Uint8Array; key: Key }) =>
            kv.value.every((byte) => byte === 7),
          ),
      );
    });
  });
}
