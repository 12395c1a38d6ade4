/** RangeStream (since 3.7): a separate suite on its own store. */
import { SortOrder, SortTarget } from "#wire/etcd-messages.ts";
import type { SuiteCase } from "./cases-kv.ts";

const all = { key: "k", rangeEnd: "l" };

export const rangeStreamCases: readonly SuiteCase[] = [
  {
    name: "streamed ranges are ranges: limits, revisions, keys only, counts, odd ends",
    needs: "RangeStream",
    async run(t) {
      await t.rangeStream(all);
      for (let i = 0; i < 30; i++) await t.put(`k${i % 25}`, `value ${i}`);
      await t.compact(5);
      for (const options of [
        {},
        { limit: 7 },
        { limit: -1 },
        { keysOnly: true },
        { keysOnly: true, limit: 3 },
        { countOnly: true },
        { countOnly: true, limit: 2 },
        { serializable: true, limit: 2 },
        { revision: 9 },
        { revision: 5, keysOnly: true },
        { revision: 4 },
        { revision: -1, keysOnly: true },
        { revision: 1000 },
        { key: "none" },
        { key: "k7", rangeEnd: "" },
        { key: "k", rangeEnd: "\0", limit: 2 },
        { key: "\0", rangeEnd: "\0", countOnly: true },
        { key: "l", rangeEnd: "k" },
        { key: "", rangeEnd: "" },
      ]) {
        await t.rangeStream({ ...all, ...options });
      }
    },
  },
  {
    name: "streamed ranges are not sorted or filtered",
    needs: "RangeStream",
    async run(t) {
      const byVersion = { sortTarget: SortTarget.version };
      for (const options of [
        { sortOrder: SortOrder.ascend, limit: 1 },
        { sortOrder: SortOrder.descend },
        { sortOrder: SortOrder.ascend, ...byVersion },
        { ...byVersion, limit: 1 },
        { sortOrder: 9 },
        { sortTarget: 9 },
        { minModRevision: 12 },
        { maxModRevision: 12 },
        { minCreateRevision: 12 },
        { maxCreateRevision: 12 },
        { sortOrder: SortOrder.descend, minModRevision: 12 },
        { sortOrder: SortOrder.descend, revision: 1000 },
        { key: "", sortOrder: SortOrder.descend },
        { maxModRevision: 12, revision: 2 },
      ]) {
        await t.rangeStream({ ...all, ...options });
      }
    },
  },
  {
    name: "a streamed range of few keys with a target but no order is sorted by it",
    needs: "RangeStream",
    async run(t) {
      const values = ["3", "1", "4", "5", "0"];
      for (const [i, value] of values.entries()) await t.put(`few/${i}`, value);
      await t.put("few/2", "2");
      const few = { key: "few/", rangeEnd: "few0" };
      for (const sortTarget of [
        SortTarget.version,
        SortTarget.create,
        SortTarget.mod,
        SortTarget.value,
      ]) {
        await t.rangeStream({ ...few, sortTarget });
        await t.rangeStream({ ...few, sortTarget, limit: 5 });
        await t.rangeStream({ ...few, sortTarget, keysOnly: true, limit: 12 });
        await t.rangeStream({ ...few, sortTarget, countOnly: true });
        await t.rangeStream({ ...few, sortTarget, revision: 1_000_000 });
        await t.rangeStream({ ...few, sortTarget, minModRevision: 3 });
      }
      await t.rangeStream({ ...few, rangeEnd: "few/0", sortTarget: SortTarget.value });
    },
  },
  {
    name: "a large value and many keys come whole",
    needs: "RangeStream",
    async run(t) {
      await t.put("kbig/a", "a".repeat(1_200_000));
      await t.put("kbig/b", "b".repeat(1_200_000));
      for (let i = 0; i < 200; i++) await t.client.put({ key: `kmany/${1000 + i}` });
      await t.rangeStream({ key: "kbig/", rangeEnd: "kbig0" });
      await t.rangeStream({ key: "kmany/", rangeEnd: "kmany0", keysOnly: true });
      await t.rangeStream({ key: "kbig/", rangeEnd: "kmany0", limit: 3 });
    },
  },
];
