/** Cases about watches, including bugs that etcd had; the numbers are etcd's issues. */
import { FilterType } from "#wire/etcd-messages.ts";
import type { SuiteCase } from "./cases-kv.ts";
import { bytes } from "./transcript.ts";

const prefix = (name: string) => ({ key: `${name}/`, rangeEnd: `${name}0` });

/** Cases before the first compaction. */
export const freshWatchCases: readonly SuiteCase[] = [
  {
    name: "a watch from below everything, where nothing was compacted yet",
    needs: "a negative start",
    async run(t) {
      for (const startRevision of [-1, -2]) {
        const w = t.watch();
        await w.ask({ create: { key: "fresh", startRevision } });
        if (startRevision < -1) await w.control();
      }
    },
  },
];

export const watchCases: readonly SuiteCase[] = [
  {
    name: "a watch gets what comes after it, with previous values when asked",
    async run(t) {
      const w = t.watch();
      await w.ask({ create: { ...prefix("w"), prevKv: true } });
      await w.ask({ create: { ...prefix("w") } });
      await t.put("w/a", "1");
      await t.put("outside", "1");
      await t.put("w/a", "2");
      await t.deleteRange({ key: "w/a" });
      const both: string[] = [];
      while (both.length < 6) {
        const response = await w.stream.next();
        for (const { type, kv, prevKv } of response?.events ?? []) {
          const before = prevKv === undefined ? "" : ` before ${String(prevKv.version)}`;
          both.push(`${response?.watchId} ${type} ${kv?.key}@${kv?.modRevision}${before}`);
        }
      }
      for (const line of both.toSorted()) t.say(line);
    },
  },
  {
    name: "a watch of one key, of a range from a key on, of everything",
    async run(t) {
      for (const range of [{ key: "v" }, { key: "v", rangeEnd: "\0" }, { rangeEnd: "\0" }]) {
        const w = t.watch();
        await w.ask({ create: range });
        await t.put("u", "1");
        await t.put("v", "1");
        await t.put("v1", "1");
        await t.put("v", "2");
        await w.events(range.key === undefined ? 4 : range.rangeEnd === undefined ? 2 : 3);
        w.close();
      }
    },
  },
  {
    name: "history first, then live, without a gap or a repetition",
    async run(t) {
      const first = (await t.revision()) + 1;
      for (let i = 0; i < 5; i++) await t.put("y/k", String(i));
      const w = t.watch();
      await w.ask({ create: { ...prefix("y"), startRevision: first + 1, prevKv: true } });
      await t.put("y/k", "live");
      await w.events(5);
    },
  },
  {
    name: "all events of one revision come together, in the order they were made",
    async run(t) {
      const first = (await t.revision()) + 1;
      const w = t.watch();
      await w.ask({ create: { ...prefix("z"), prevKv: true } });
      const put = (key: string) => ({ put: { key, value: bytes("1") } });
      await t.txn({ success: [put("z/c"), put("z/a"), put("elsewhere"), put("z/b")] });
      await t.deleteRange(prefix("z"));
      await w.events(6);
      const again = t.watch();
      await again.ask({ create: { ...prefix("z"), startRevision: first, prevKv: true } });
      await again.events(6);
    },
  },
  {
    name: "filters leave out puts or deletes",
    async run(t) {
      const w = t.watch();
      await w.ask({ create: { ...prefix("f"), filters: [FilterType.noPut] } });
      await t.put("f/a", "1");
      await t.deleteRange({ key: "f/a" });
      await w.events(1);
      const x = t.watch();
      await x.ask({ create: { ...prefix("f"), filters: [FilterType.noDelete] } });
      await t.put("f/b", "1");
      await t.deleteRange({ key: "f/b" });
      await t.put("f/b", "2");
      await x.events(2);
    },
  },
  {
    name: "ids are given in order, taken when asked for, and refused when in use",
    async run(t) {
      const w = t.watch();
      await w.ask({ create: { key: "i" } });
      await w.ask({ create: { key: "i" } });
      await w.ask({ create: { key: "i", watchId: 7 } });
      await w.ask({ create: { key: "i", watchId: 2 } });
      await w.ask({ create: { key: "i" } });
      await w.ask({ create: { key: "i", watchId: 7 } });
      await w.ask({ cancel: { watchId: 7 } });
      await w.ask({ create: { key: "i", watchId: 7 } });
      w.send({ cancel: { watchId: 99 } });
      await w.ask({ cancel: { watchId: 1 } });
      await w.ask({ create: { key: "i", rangeEnd: "h" } });
      await w.ask({ create: { key: "i", rangeEnd: "i" } });
    },
  },
  {
    name: "a canceled watch is silent",
    async run(t) {
      const w = t.watch();
      await w.ask({ create: { key: "q" } });
      await w.ask({ create: { key: "q" } });
      await w.ask({ cancel: { watchId: 0 } });
      await t.put("q", "2");
      await w.events(1);
      await w.ask({ cancel: { watchId: 1 } });
    },
  },
  {
    name: "a watch from forgotten history is canceled with the true compact revision",
    async run(t) {
      const first = (await t.revision()) + 1;
      for (let i = 0; i < 4; i++) await t.put("o", String(i));
      await t.compact(first + 2);
      const w = t.watch();
      await w.ask({ create: { key: "o", startRevision: first } });
      await w.control();
      await w.ask({ create: { key: "o", startRevision: first + 1 } });
      await w.control();
      await w.ask({ create: { key: "o", startRevision: first + 3 } });
      await w.events(1);
    },
  },
  {
    name: "a watch may begin at the compacted revision itself (etcd 19179: its delete was lost)",
    needs: "a watch from the compacted revision",
    async run(t) {
      await t.put("tomb", "1");
      await t.deleteRange({ key: "tomb" });
      const at = await t.revision();
      await t.put("after", "1");
      await t.compact(at);
      const w = t.watch();
      await w.ask({ create: { key: "tomb", startRevision: at, prevKv: true } });
      await w.events(1);
      await t.put("kept", "1");
      await t.put("kept", "2");
      const put = await t.revision();
      await t.compact(put);
      const x = t.watch();
      await x.ask({ create: { key: "kept", startRevision: put, prevKv: true } });
      await x.events(1);
    },
  },
  {
    name: "a watch from a future revision hears nothing before it (etcd 20221)",
    async run(t) {
      const w = t.watch();
      const start = (await t.revision()) + 3;
      await w.ask({ create: { key: "fut", startRevision: start } });
      for (let i = 0; i < 4; i++) await t.put("fut", String(i));
      await w.events(2);
    },
  },
  {
    name: "progress is told when asked, after every event it covers (etcd 15220, 17507)",
    needs: "progress on request",
    async run(t) {
      const w = t.watch();
      await w.ask({ create: { ...prefix("p") } });
      for (let i = 0; i < 3; i++) await t.put("p/a", String(i));
      await w.events(3);
      await w.ask({ progress: {} });
      await t.put("elsewhere", "2");
      await w.ask({ progress: {} });
      const none = t.watch();
      none.send({ progress: {} });
      await none.ask({ create: { key: "p" } });
    },
  },
  {
    name: "progress for a watch of the future is not told before it begins",
    needs: "progress on request",
    async run(t) {
      const w = t.watch();
      const start = (await t.revision()) + 2;
      await w.ask({ create: { key: "pf", startRevision: start } });
      w.send({ progress: {} });
      await t.put("pf", "1");
      await t.put("pf", "2");
      await w.events(1);
      await w.ask({ progress: {} });
    },
  },
  {
    name: "a large revision is cut into fragments when asked for, and only then",
    async run(t) {
      const w = t.watch();
      await w.ask({ create: { ...prefix("g"), fragment: true } });
      const value = Buffer.alloc(700_000, 65);
      const big = (key: string) => ({ put: { key, value } });
      await t.note("two big puts", t.client.txn({ success: [big("g/1"), big("g/2")] }));
      await w.events(2);
      await t.note("delete", t.client.deleteRange({ key: "g/", rangeEnd: "g0" }));
      await w.events(2);
    },
  },
];
