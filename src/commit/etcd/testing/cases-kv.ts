/** Cases about keys, ranges, transactions and compaction. Each starts with the state that the previous one left. */
import { CompareResult, CompareTarget, SortOrder, SortTarget } from "#wire/etcd-messages.ts";
import { bytes, type Transcript } from "./transcript.ts";
import type { DifferenceName } from "./versions.ts";

export interface SuiteCase {
  readonly name: string;
  /** The case runs only for releases that answer it like ours. */
  readonly needs?: DifferenceName;
  run(t: Transcript): Promise<void>;
}

const { equal, notEqual, greater, less } = CompareResult;
const all = { key: "\0", rangeEnd: "\0" };

export const kvCases: readonly SuiteCase[] = [
  {
    name: "an empty store is at revision 1, and only that can be read",
    async run(t) {
      await t.range({ key: "a" });
      await t.range(all);
      await t.range({ key: "a", revision: 1 });
      await t.range({ key: "a", revision: 2 });
      await t.note(
        "hash",
        t.client.hashKv(0).then(({ compactRevision }) => ({ compactRevision })),
      );
    },
  },
  {
    name: "puts count versions, and tell what was before",
    async run(t) {
      await t.put("a", "1");
      await t.put("a", "2", { prevKv: true });
      await t.put("b", "1", { prevKv: true });
      await t.put("b", "", {});
      await t.range({ key: "a" });
      await t.range({ key: "b" });
      await t.range({ key: "a", revision: 2 });
      await t.put("", "x");
    },
  },
  {
    name: "ignore_value and ignore_lease keep what is there, and need something there",
    async run(t) {
      await t.put("a", "", { ignoreValue: true });
      await t.put("a", "x", { ignoreValue: true });
      await t.put("missing", "", { ignoreValue: true });
      await t.put("missing", "x", { ignoreLease: true });
      await t.put("a", "3", { ignoreLease: true, prevKv: true });
      await t.put("a", "3", { ignoreLease: true, lease: 7n });
      await t.put("a", "3", { lease: 12345n });
      await t.put("a", "", { ignoreValue: true, lease: 12345n });
    },
  },
  {
    name: "ranges: prefixes, from a key on, everything, and nothing",
    async run(t) {
      for (const [key, value] of [
        ["k/a", "5"],
        ["k/b", "4"],
        ["k/c", "3"],
        ["k/d", "2"],
        ["l", "1"],
      ]) {
        await t.put(key as string, value as string);
      }
      await t.put("k/b", "44");
      await t.range({ key: "k/", rangeEnd: "k0" });
      await t.range({ key: "k/b", rangeEnd: "k/d" });
      await t.range({ key: "k/c", rangeEnd: "\0" });
      await t.range(all);
      await t.range({ key: "k/d", rangeEnd: "k/b" });
      await t.range({ key: "k/b", rangeEnd: "k/b" });
      await t.range({ key: "" });
    },
  },
  {
    name: "limit, keys only, count only",
    async run(t) {
      const k = { key: "k/", rangeEnd: "k0" };
      for (const limit of [0, 1, 3, 4, 5, -1]) await t.range({ ...k, limit });
      await t.range({ ...k, keysOnly: true, limit: 2 });
      await t.range({ ...k, countOnly: true });
      await t.range({ ...k, countOnly: true, limit: 1 });
      await t.range({ ...k, countOnly: true, revision: 8 });
      await t.range({ ...k, revision: 8, limit: 1 });
      await t.range({ ...k, serializable: true, limit: 1 });
    },
  },
  {
    name: "sorting by every target, in every order",
    async run(t) {
      const k = { key: "k/", rangeEnd: "k0", keysOnly: true };
      for (const sortTarget of Object.values(SortTarget)) {
        for (const sortOrder of Object.values(SortOrder)) {
          await t.range({ ...k, sortTarget, sortOrder });
          await t.range({ ...k, sortTarget, sortOrder, limit: 2 });
        }
      }
      if (!t.asks("unknown sorts")) return;
      await t.range({ ...k, sortOrder: 9 });
      await t.range({ ...k, sortTarget: 9 });
    },
  },
  {
    name: "filters by create and mod revision: count is of the whole range",
    async run(t) {
      const k = { key: "k/", rangeEnd: "k0", keysOnly: true };
      const at = (await t.client.range({ key: "k/c" })).kvs[0]?.modRevision ?? 0;
      await t.range({ ...k, minModRevision: at });
      await t.range({ ...k, maxModRevision: at });
      await t.range({ ...k, minCreateRevision: at });
      await t.range({ ...k, maxCreateRevision: at });
      await t.range({ ...k, minModRevision: at, maxModRevision: at, limit: 1 });
      await t.range({ ...k, minCreateRevision: at, limit: 1 });
      await t.range({ ...k, minCreateRevision: at, countOnly: true });
    },
  },
  {
    name: "deletes of ranges are one revision, deletes of nothing none",
    async run(t) {
      await t.deleteRange({ key: "nothing" });
      await t.deleteRange({ key: "k/a", prevKv: true });
      await t.deleteRange({ key: "k/", rangeEnd: "k0", prevKv: true });
      await t.deleteRange({ key: "k/", rangeEnd: "k0" });
      await t.put("k/a", "again", { prevKv: true });
      await t.range({ key: "k/a" });
      await t.deleteRange({ key: "" });
    },
  },
  {
    name: "transactions compare on every field, in every way",
    async run(t) {
      await t.put("c", "m");
      await t.put("c", "n");
      const { kvs } = await t.client.range({ key: "c" });
      const kv = kvs[0];
      const targets = [
        [CompareTarget.version, { version: 2 }, { version: 3 }],
        [CompareTarget.create, { createRevision: kv?.createRevision ?? 0 }, { createRevision: 1 }],
        [CompareTarget.mod, { modRevision: kv?.modRevision ?? 0 }, { modRevision: 1000 }],
        [CompareTarget.value, { value: bytes("n") }, { value: bytes("o") }],
        [CompareTarget.lease, { lease: 0n }, { lease: 1n }],
      ] as const;
      for (const [target, same, other] of targets) {
        for (const result of [equal, notEqual, greater, less]) {
          for (const with_ of [same, other]) {
            await t.txn({ compare: [{ key: "c", target, result, ...with_ }] });
            await t.txn({ compare: [{ key: "none", target, result, ...with_ }] });
          }
        }
      }
    },
  },
  {
    name: "comparing a range needs every key of it to agree",
    async run(t) {
      await t.put("r1", "x");
      await t.put("r2", "x");
      const range = { key: "r", rangeEnd: "s" };
      const { version, value, mod } = CompareTarget;
      await t.txn({ compare: [{ ...range, target: value, value: bytes("x") }] });
      await t.put("r2", "y");
      await t.txn({ compare: [{ ...range, target: value, value: bytes("x") }] });
      await t.txn({ compare: [{ ...range, target: version, result: greater, version: 0 }] });
      await t.txn({ compare: [{ key: "zz", rangeEnd: "zzz", target: mod, modRevision: 0 }] });
      await t.txn({ compare: [{ key: "zz", rangeEnd: "zzz", target: value, value: bytes("") }] });
      await t.txn({ compare: [{ key: "r", rangeEnd: "\0", target: version, result: greater }] });
    },
  },
  {
    name: "a transaction is one revision, and its reads see its writes",
    async run(t) {
      const range = { range: { key: "t", rangeEnd: "u" } };
      await t.txn({
        success: [
          range,
          { put: { key: "t1", value: bytes("1") } },
          range,
          { put: { key: "t2", value: bytes("2"), prevKv: true } },
          { range: { key: "t", rangeEnd: "u", limit: 1 } },
          { range: { key: "t", rangeEnd: "u", countOnly: true } },
          { deleteRange: { key: "r", rangeEnd: "s", prevKv: true } },
          { range: { key: "r", rangeEnd: "s" } },
        ],
      });
      await t.range({ key: "t", rangeEnd: "u" });
      await t.txn({ success: [range], failure: [range] });
      await t.txn({ success: [{ deleteRange: { key: "not there" } }] });
      await t.txn({});
    },
  },
  {
    name: "the shapes of the Kubernetes API server: create, guarded update, guarded delete",
    async run(t) {
      const { mod, version } = CompareTarget;
      const create = {
        compare: [{ key: "pod", target: mod, modRevision: 0 }],
        success: [{ put: { key: "pod", value: bytes("v1") } }],
      };
      await t.txn(create);
      await t.txn({ ...create, failure: [{ range: { key: "pod" } }] });
      const at = (await t.client.range({ key: "pod" })).kvs[0]?.modRevision ?? 0;
      const guard = [{ key: "pod", target: mod, modRevision: at }];
      const failure = [{ range: { key: "pod" } }];
      await t.txn({
        compare: guard,
        success: [{ put: { key: "pod", value: bytes("v2") } }],
        failure,
      });
      await t.txn({
        compare: guard,
        success: [{ put: { key: "pod", value: bytes("v3") } }],
        failure,
      });
      await t.txn({ compare: guard, success: [{ deleteRange: { key: "pod" } }], failure });
      const now = [{ key: "pod", target: mod, modRevision: at + 1 }];
      await t.txn({ compare: now, success: [{ deleteRange: { key: "pod" } }], failure });
      const rev = [{ key: "compact_rev_key", target: version, version: 0 }];
      await t.txn({
        compare: rev,
        success: [{ put: { key: "compact_rev_key", value: bytes("0") } }],
        failure: [{ range: { key: "compact_rev_key" } }],
      });
    },
  },
  {
    name: "nested transactions run in the same revision and choose before anything is written",
    async run(t) {
      const has = (key: string) => ({
        key,
        target: CompareTarget.version,
        result: greater,
        version: 0,
      });
      const inner = {
        compare: [has("n1")],
        success: [{ put: { key: "n2", value: bytes("inner saw n1") } }],
        failure: [{ put: { key: "n3", value: bytes("inner saw nothing") } }],
      };
      const outer = { success: [{ put: { key: "n1", value: bytes("1") } }, { txn: inner }] };
      await t.txn(outer);
      await t.txn(outer);
      await t.txn({
        success: [{ txn: { success: [{ txn: inner }, { range: { key: "n", rangeEnd: "o" } }] } }],
      });
      await t.txn({ success: [{ txn: { success: [{ range: { key: "n1" } }] } }] });
    },
  },
  {
    name: "a transaction that puts a key twice, or puts and deletes it, is refused",
    async run(t) {
      const put = (key: string) => ({ put: { key, value: bytes("x") } });
      const del = (key: string, rangeEnd = "") => ({ deleteRange: { key, rangeEnd } });
      await t.txn({ success: [put("d"), put("d")] });
      await t.txn({ success: [put("d")], failure: [put("d")] });
      await t.txn({ failure: [put("d"), put("d")] });
      await t.txn({ success: [put("d"), del("d")] });
      await t.txn({ success: [del("a", "e"), put("d")] });
      await t.txn({ success: [del("a", "d"), put("d")] });
      await t.txn({ success: [del("d", "\0"), put("zzz")] });
      await t.txn({ success: [del("d"), del("d", "e")] });
      await t.txn({ success: [put("d"), { txn: { success: [put("d")] } }] });
      await t.txn({ success: [put("d"), { txn: { failure: [put("d")] } }] });
      await t.txn({ success: [{ txn: { success: [put("d")], failure: [put("d")] } }] });
      await t.txn({
        success: [{ txn: { success: [put("d")] } }, { txn: { success: [put("d")] } }],
      });
      await t.txn({ success: [put("d"), { txn: { success: [del("c", "f")] } }] });
      await t.txn({
        success: [{ txn: { success: [del("c", "f")] } }, { txn: { success: [put("d")] } }],
      });
      await t.txn({ success: [{ txn: { success: [del("d")], failure: [put("d")] } }] });
    },
  },
  {
    name: "a transaction of too many operations, without a key, or of nothing, is refused",
    async run(t) {
      const many = (count: number) =>
        Array.from({ length: count }, (_, i) => ({ range: { key: `m${i}`, countOnly: true } }));
      await t.note(
        "128 ranges",
        t.client.txn({ success: many(128) }).then((a) => a.responses.length),
      );
      await t.note("129 ranges", t.client.txn({ success: many(129) }));
      await t.note("129 else", t.client.txn({ failure: many(129) }));
      const compare = Array.from({ length: 129 }, () => ({ key: "a" }));
      await t.note("129 compares", t.client.txn({ compare }));
      const deep = { success: [{ txn: { success: many(127) } }] };
      await t.note(
        "nested 127",
        t.client.txn(deep).then((a) => a.responses.length),
      );
      await t.note("nested 128", t.client.txn({ success: [{ txn: { success: many(128) } }] }));
      await t.txn({ compare: [{ key: "" }] });
      await t.txn({ success: [{ put: { key: "" } }] });
      await t.txn({ success: [{ range: { key: "" } }] });
      await t.txn({ success: [{ deleteRange: { key: "" } }] });
      await t.txn({ success: [{}] });
    },
  },
  {
    name: "a transaction that cannot be done in whole is not done in part",
    async run(t) {
      const put = { put: { key: "whole", value: bytes("x") } };
      await t.txn({ success: [put, { put: { key: "other", lease: 999n } }] });
      await t.txn({ success: [put, { put: { key: "not there", ignoreValue: true } }] });
      await t.txn({ success: [put, { range: { key: "a", revision: 100000 } }] });
      await t.txn({ success: [put, { range: { key: "a", revision: (await t.revision()) + 1 } }] });
      await t.txn({ success: [put, { txn: { success: [{ put: { key: "x", lease: 9n } }] } }] });
      await t.range({ key: "whole" });
    },
  },
  {
    name: "compaction forgets what is below it, and says so",
    async run(t) {
      await t.put("h", "1");
      const first = await t.revision();
      await t.put("h", "2");
      await t.put("h", "3");
      await t.deleteRange({ key: "h" });
      await t.put("h", "4");
      const k = { key: "h" };
      await t.compact(100000);
      await t.compact(first + 1);
      await t.compact(first + 1);
      await t.compact(first);
      await t.range({ ...k, revision: first });
      await t.range({ ...k, revision: first + 1 });
      await t.range({ ...k, revision: first + 3 });
      await t.range(k);
      await t.txn({ success: [{ range: { ...k, revision: first } }] });
      await t.txn({ success: [{ put: { key: "h" } }, { range: { ...k, revision: first } }] });
      await t.compact(await t.revision());
      await t.range({ ...k, revision: (await t.revision()) - 1 });
      await t.range({ ...k, revision: await t.revision() });
      await t.compact(0);
      await t.compact(-1);
    },
  },
  {
    name: "bytes of any kind are keys and values",
    async run(t) {
      const key = String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i));
      await t.put(key, key);
      await t.put("\xff", "high");
      await t.put("\0", "low");
      await t.range({ key: "\0", rangeEnd: "\x01" });
      await t.range({ key: "\xff", rangeEnd: "\0" });
      await t.deleteRange({ key: "\0", rangeEnd: "\x01" });
    },
  },
  {
    name: "requests over the limit are refused by name",
    async run(t) {
      await t.note(
        "put of 1.4 MiB",
        t.client.put({ key: "big", value: Buffer.alloc(1.4 * 2 ** 20) }),
      );
      await t.note(
        "put of 1.6 MiB",
        t.client.put({ key: "big", value: Buffer.alloc(1.6 * 2 ** 20) }),
      );
      const tooBig = t.client.put({ key: "big", value: Buffer.alloc(2 ** 21) });
      await t.note(
        "put of 2 MiB",
        tooBig.catch((e: Error) => e.message.replace(/\d{7} vs/, "N vs")),
      );
      await t.deleteRange({ key: "big" });
    },
  },
];
