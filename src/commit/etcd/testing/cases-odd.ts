/** Malformed or senseless calls: the server must answer them like etcd. */
import {
  CompareResult,
  CompareTarget,
  FilterType,
  SortOrder,
  SortTarget,
} from "#wire/etcd-messages.ts";
import type { Message } from "#wire/etcd-codec.ts";
import * as m from "#wire/etcd-messages.ts";
import type { SuiteCase } from "./cases-kv.ts";
import { bytes, type Transcript } from "./transcript.ts";

const o = { key: "o/", rangeEnd: "o0" };

async function fill(t: Transcript): Promise<number> {
  for (const [i, key] of ["o/a", "o/b", "o/c", "o/b", "o/d"].entries()) await t.put(key, String(i));
  return t.revision();
}

export const oddCases: readonly SuiteCase[] = [
  {
    name: "odd ranges: empty ends, ends before starts, limits below zero and with everything else",
    async run(t) {
      const now = await fill(t);
      await t.range({ key: "", rangeEnd: "\0" });
      await t.range({ key: "", rangeEnd: "z" });
      await t.range({ key: "o/c", rangeEnd: "o/a" });
      await t.range({ key: "\0", rangeEnd: "o/b", keysOnly: true, limit: 2 });
      await t.range({ ...o, countOnly: true, limit: 2, keysOnly: true });
      await t.range({ ...o, limit: -5, keysOnly: true });
      await t.range({ ...o, countOnly: true, minModRevision: now });
      await t.range({ ...o, minModRevision: now - 1, limit: 1 });
      await t.range({ ...o, maxModRevision: now - 2, keysOnly: true });
      await t.range({
        ...o,
        minCreateRevision: now - 3,
        maxCreateRevision: now - 1,
        keysOnly: true,
      });
      await t.range({ ...o, minModRevision: now + 5 });
      await t.range({ ...o, minModRevision: -1, keysOnly: true });
      const descend = { sortOrder: SortOrder.descend, sortTarget: SortTarget.mod };
      await t.range({ ...o, ...descend, limit: 2, keysOnly: true });
      await t.range({ ...o, ...descend, limit: 2, maxModRevision: now - 1 });
      await t.range({ ...o, ...descend, countOnly: true });
      if (t.asks("unknown sorts")) {
        await t.range({ ...o, sortOrder: 7 });
        await t.range({ ...o, sortTarget: 9 });
        await t.range({ ...o, sortOrder: -1 });
      }
      await t.range({ ...o, revision: -1, keysOnly: true });
      await t.range({ ...o, revision: now + 1 });
      await t.range({ key: "o/c", rangeEnd: "o/a", revision: now + 1 });
      await t.range({ ...o, revision: now - 3, keysOnly: true });
    },
  },
  {
    name: "odd revisions: at, below and above what is compacted",
    async run(t) {
      const now = await fill(t);
      await t.compact(now - 1);
      await t.range({ ...o, revision: now - 1, keysOnly: true });
      await t.range({ ...o, revision: now - 2 });
      await t.range({ ...o, revision: 1 });
      await t.range({ ...o, revision: now - 2, countOnly: true });
      await t.txn({ success: [{ range: { ...o, revision: now - 2 } }] });
      await t.txn({ success: [{ range: { ...o, revision: now + 1 } }] });
      await t.txn({ success: [{ range: { ...o, revision: now - 1, keysOnly: true } }] });
      for (const revision of [now - 1, now - 2, 0, -1, now + 1, now, now])
        await t.compact(revision);
      if (t.asks("a hash at the compacted revision")) {
        await t.note(
          "hash at the compacted revision",
          t.client.hashKv(now).then(({ hash, hashRevision }) => ({ hash, hashRevision })),
        );
      }
      // Below `now - 1`, because etcd keeps and serves the hashes of its last compactions.
      await t.note("hash below it", t.client.hashKv(now - 2));
      // Compacts two revisions in one step, so that the revision just below was never compacted itself.
      await t.put("o/a", "5");
      await t.put("o/a", "6");
      await t.compact(now + 2);
      await t.note("hash just below it", t.client.hashKv(now + 1));
    },
  },
  {
    name: "odd puts: flags that exclude each other, leases that are not",
    async run(t) {
      await t.put("", "");
      await t.put("", "", { ignoreValue: true });
      await t.put("odd", "1");
      await t.put("odd", "x", { ignoreValue: true, ignoreLease: true });
      await t.put("odd", "", { ignoreValue: true, ignoreLease: true, lease: 3n });
      await t.put("odd", "", { ignoreValue: true, ignoreLease: true, prevKv: true });
      await t.put("odd", "2", { lease: -1n });
      await t.put("odd", "2", { lease: 999n, prevKv: true });
      await t.put("none", "", { ignoreLease: true, lease: 999n });
      await t.put("none", "", { ignoreValue: true, lease: 999n });
      await t.deleteRange({ key: "" });
      await t.deleteRange({ key: "", rangeEnd: "\0" });
      await t.deleteRange({ key: "odd", rangeEnd: "odd" });
      await t.deleteRange({ key: "p", rangeEnd: "o" });
      await t.deleteRange({ key: "nothing", prevKv: true });
    },
  },
  {
    name: "odd transactions: the same key twice, also across nested ones, and empty ones",
    async run(t) {
      const put = (key: string, value = "1") => ({ put: { key, value: bytes(value) } });
      const del = (key: string, rangeEnd = "") => ({ deleteRange: { key, rangeEnd } });
      const nest = (success: m.RequestOp[] | object[], failure: object[] = []) => ({
        txn: { success, failure },
      });
      const txns: object[][] = [
        [put("t/a"), put("t/a")],
        [put("t/a"), nest([put("t/a")])],
        [put("t/a"), nest([], [put("t/a")])],
        [nest([put("t/a")]), nest([put("t/a")])],
        [nest([put("t/a")], [put("t/a")])],
        [nest([nest([put("t/a")])]), put("t/a")],
        [put("t/a"), del("t/a")],
        [del("t/a"), put("t/a")],
        [del("t/", "t0"), put("t/b")],
        [del("t/", "\0"), put("t/b")],
        [del("t/", "t0"), nest([put("t/b")])],
        [nest([del("t/", "t0")]), put("t/b")],
        [nest([put("t/b")]), nest([del("t/", "t0")])],
        [nest([del("t/", "t0")]), nest([put("t/c")])],
        [del("t/", "t0"), del("t/", "t0")],
        [put("")],
        [del("")],
        [{ range: { key: "" } }],
        [{}],
        [],
        [nest([])],
        [
          put("t/z"),
          { range: { key: "t/z" } },
          del("t/y"),
          { range: { key: "t/", rangeEnd: "t0" } },
        ],
        ...(t.asks("unknown sorts") ? [[{ range: { key: "t/z", sortOrder: 9 } }]] : []),
        [{ put: { key: "t/z", value: bytes("v"), ignoreValue: true } }],
        [{ put: { key: "t/none", ignoreValue: true } }, put("t/z", "never")],
        [put("t/z", "never"), { put: { key: "t/none", ignoreLease: true } }],
        [put("t/z", "never"), { put: { key: "t/q", lease: 77n } }],
      ];
      for (const success of txns) {
        await t.txn({ success });
        await t.txn({
          compare: [{ key: "t/", target: CompareTarget.version, version: 9 }],
          failure: success,
        });
      }
      await t.range({ key: "t/", rangeEnd: "t0" });
    },
  },
  {
    name: "odd compares: no key, unknown targets and results, values of nothing, whole ranges",
    async run(t) {
      await t.put("c/a", "1");
      await t.put("c/b", "2");
      const compares = [
        { key: "" },
        { key: "c/a", target: 9 },
        { key: "c/a", result: 9, target: CompareTarget.version, version: 1 },
        { key: "c/none", target: CompareTarget.value, value: bytes("") },
        {
          key: "c/none",
          target: CompareTarget.value,
          result: CompareResult.notEqual,
          value: bytes("x"),
        },
        { key: "c/none", target: CompareTarget.lease, lease: 0n },
        { key: "c/none", target: CompareTarget.create, createRevision: 0 },
        { key: "c/", rangeEnd: "c0", target: CompareTarget.version, version: 1 },
        { key: "c/", rangeEnd: "c0", target: CompareTarget.value, value: bytes("1") },
        { key: "c/", rangeEnd: "\0", target: CompareTarget.mod, result: CompareResult.greater },
        { key: "c/z", rangeEnd: "c/y", target: CompareTarget.version, version: 0 },
        { key: "c/a", target: CompareTarget.version, result: CompareResult.less, version: -1 },
      ];
      for (const compare of compares) await t.txn({ compare: [compare] });
    },
  },
  {
    name: "odd leases: ids taken or negative, no time or too much, leases that are not",
    async run(t) {
      const grant = (ttl: number, id: bigint) =>
        t.note(`grant ${ttl} as ${id}`, t.client.grant(ttl, id));
      await grant(60, -7n);
      await grant(60, -7n);
      await grant(0, 701n);
      await grant(9_000_000_000, 702n);
      await grant(9_000_000_001, 703n);
      await t.put("leased", "1", { lease: -7n });
      await t.range({ key: "leased" });
      for (const id of [-7n, 701n, 702n, 703n, 0n]) {
        await t.note(
          `time of ${id}`,
          t.client.timeToLive(id, true).then(({ ttl, ...rest }) => ({ ...rest, alive: ttl >= 0 })),
        );
      }
      for (const id of [0n, -7n, -7n, 701n, 702n])
        await t.note(`revoke ${id}`, t.client.revoke(id));
      await t.range({ key: "leased" });
      const stream = t.client.keepAlive();
      for (const id of [0n, -7n]) {
        stream.send({ id });
        await t.note(`keep ${id}`, stream.next());
      }
      stream.close();
    },
  },
  {
    name: "odd watches: own ids, ids in use, unknown ids, both filters, no key, negative starts",
    async run(t) {
      const w = t.watch();
      await w.ask({ create: { key: "x", watchId: 5 } });
      await w.ask({ create: { key: "x", watchId: 5 } });
      await w.ask({ create: { key: "x", watchId: -3 } });
      await w.ask({ create: { key: "x" } });
      w.send({ cancel: { watchId: 77 } });
      w.send({ cancel: { watchId: -1 } });
      await w.ask({ cancel: { watchId: 5 } });
      w.send({ cancel: { watchId: 5 } });
      await w.ask({ create: { key: "x", watchId: 5 } });
      const x = t.watch();
      await x.ask({ create: { key: "y", filters: [FilterType.noPut, FilterType.noDelete] } });
      await x.ask({ create: { key: "y", filters: [FilterType.noPut, FilterType.noPut, 9] } });
      await x.ask({ create: { key: "y", rangeEnd: "a" } });
      await x.ask({ create: { key: "", rangeEnd: "" } });
      if (t.asks("a negative start")) {
        const below = t.watch();
        await below.ask({ create: { key: "y", startRevision: -4 } });
        await below.control();
      }
      await x.ask({ create: { key: "y" } });
      await t.put("y", "1");
      await x.events(1);
      await t.deleteRange({ key: "y" });
      const told: string[] = [];
      while (told.length < 2) {
        const response = await x.stream.next();
        if (response === undefined) break;
        for (const { type } of response?.events ?? []) told.push(`${response?.watchId} ${type}`);
      }
      for (const line of told.toSorted()) t.say(line);
      const none = t.watch();
      if (t.asks("progress on request")) none.send({ progress: {} });
      none.send({});
      await none.ask({ create: { key: "z" } });
    },
  },
  {
    name: "downgrades: to what, how written, and what is no action",
    needs: "downgrades",
    async run(t) {
      const path = "/etcdserverpb.Maintenance/Downgrade";
      for (const [action, version] of [
        [1, "9.9"],
        [2, ""],
        [0, ""],
        [0, "x"],
        [0, "3"],
        [0, "3.4"],
        [0, "3.4.1"],
        [1, "3.4"],
        [1, "3.x"],
        [7, "3.5"],
        [-1, "3.5"],
      ] as const) {
        const answer = t.client.call(path, m.downgradeRequest, m.downgradeResponse, {
          action,
          version,
        });
        const told = t.asks("the release a canceled downgrade tells");
        await t.note(
          `downgrade ${action} ${version}`,
          answer.then((value) => (told ? value.version : "well")),
        );
      }
    },
  },
  {
    name: "odd maintenance: who leads, members that are not, hashes",
    async run(t) {
      const call = <Q, A>(name: string, request: Message<Q>, response: Message<A>, value: object) =>
        t.note(
          name,
          t.client
            .call(`/etcdserverpb.${name}`, request, response, value as never)
            .then(() => "well"),
        );
      const { header } = await t.client.status();
      await call("Maintenance/MoveLeader", m.moveLeaderRequest, m.headerResponse, { targetId: 5n });
      await call("Maintenance/MoveLeader", m.moveLeaderRequest, m.headerResponse, {
        targetId: header?.memberId,
      });
      await call("Maintenance/Defragment", m.empty, m.headerResponse, {});
      await call("Maintenance/Hash", m.empty, m.hashResponse, {});
      await call("Cluster/MemberRemove", m.memberIdRequest, m.headerResponse, { id: 5n });
      await call("Cluster/MemberPromote", m.memberIdRequest, m.headerResponse, { id: 5n });
      for (const method of ["Status", "Enable", "Disable"]) {
        if (method === "Status" && !t.asks("the state of authentication")) continue;
        await call(`Auth/Auth${method}`, m.empty, m.empty, {});
      }
      await call("Auth/UserGet", m.empty, m.empty, {});
      await call("Auth/UserList", m.empty, m.empty, {});
      await call("Auth/RoleGet", m.empty, m.empty, {});
      const alarm = (action: number, memberId: bigint, kind: number) =>
        t.note(
          `alarm ${action} of ${memberId} ${kind}`,
          t.client
            .alarm({ action, memberId, alarm: kind })
            .then(({ alarms }) => alarms.map((one) => `${one.memberId} ${one.alarm}`)),
        );
      for (const [action, member, kind] of [
        [1, 42n, 1],
        [1, 42n, 1],
        [1, 42n, 0],
        [0, 0n, 0],
        [0, 0n, 2],
        [2, 41n, 1],
        [2, 42n, 1],
        [2, 42n, 1],
      ] as const) {
        if (action === 1 && kind === 0 && !t.asks("an alarm of no kind")) continue;
        await alarm(action, member, kind);
      }
      await t.put("space", "again");
    },
  },
];
