/** Cases about leases and maintenance. */
import { AlarmAction, AlarmType, CompareTarget } from "#wire/etcd-messages.ts";
import type { SuiteCase } from "./cases-kv.ts";
import { bytes } from "./transcript.ts";

export const leaseCases: readonly SuiteCase[] = [
  {
    name: "leases are granted by id, once, with at least two seconds",
    async run(t) {
      await t.note("grant 60 as 1001", t.client.grant(60, 1001n));
      await t.note("grant again", t.client.grant(60, 1001n));
      await t.note("grant 1 second", t.client.grant(1, 1002n));
      await t.note("grant -5 seconds", t.client.grant(-5, 1003n));
      await t.note("grant too long", t.client.grant(9_000_000_001, 1004n));
      await t.note(
        "grant unnamed",
        t.client.grant(60).then(({ id, ttl }) => ({ ttl, given: id > 0n })),
      );
      await t.note("revoke 1002", t.client.revoke(1002n));
      await t.note("revoke 1003", t.client.revoke(1003n));
      await t.note("revoke missing", t.client.revoke(4242n));
    },
  },
  {
    name: "a key is on the lease of its last put",
    async run(t) {
      await t.note("grant", t.client.grant(60, 2001n));
      await t.note("grant", t.client.grant(60, 2002n));
      await t.put("lease/a", "1", { lease: 2001n });
      await t.put("lease/b", "1", { lease: 2001n });
      await t.put("lease/c", "1", { lease: 2002n });
      await t.put("lease/b", "2", { lease: 2002n });
      await t.put("lease/c", "2", { ignoreLease: true });
      await t.put("lease/a", "", { ignoreValue: true });
      const live = async (id: bigint) => {
        const { grantedTtl, keys } = await t.client.timeToLive(id, true);
        return { grantedTtl, keys: keys.toSorted() };
      };
      await t.note("lease 2001", live(2001n));
      await t.note("lease 2002", live(2002n));
      await t.note("lease 9", t.client.timeToLive(9n, true));
      const compare = [{ key: "lease/b", target: CompareTarget.lease, lease: 2002n }];
      await t.txn({
        compare,
        success: [{ put: { key: "lease/d", value: bytes("1"), lease: 2002n } }],
      });
      await t.note("lease 2002", live(2002n));
    },
  },
  {
    name: "revoking deletes all attached keys in one revision, sorted",
    async run(t) {
      const w = t.watch();
      await w.ask({ create: { key: "lease/", rangeEnd: "lease0", prevKv: true } });
      await t.note("revoke", t.client.revoke(2002n));
      await w.events(3);
      await t.range({ key: "lease/", rangeEnd: "lease0" });
      await t.note("revoke one without keys", t.client.revoke(2001n));
    },
  },
  {
    name: "keep-alive tells the full time, and zero for a lease that is not",
    async run(t) {
      await t.note("grant", t.client.grant(100, 3001n));
      const stream = t.client.keepAlive();
      stream.send({ id: 3001n });
      await t.note("keep alive", stream.next());
      stream.send({ id: 3002n });
      await t.note("keep alive", stream.next());
      stream.end();
      await t.note("keep alive, ended", stream.next());
      await t.note("revoke", t.client.revoke(3001n));
    },
  },
  {
    name: "a lease that ends takes its keys along, in one revision",
    async run(t) {
      await t.note("grant", t.client.grant(2, 4001n));
      const w = t.watch();
      await w.ask({ create: { key: "end/", rangeEnd: "end0" } });
      await t.put("end/b", "1", { lease: 4001n });
      await t.put("end/a", "1", { lease: 4001n });
      await w.events(4);
      await t.put("end/c", "1", { lease: 4001n });
      await t.note("lease", t.client.timeToLive(4001n, true));
    },
  },
  {
    name: "history hashes as etcd hashes it",
    async run(t) {
      const hash = async (revision: number) => {
        const answer = await t.client.hashKv(revision);
        const { hash: value, compactRevision: compact, hashRevision: at } = answer;
        return { hash: value, compact, ...(t.asks("the revision of a hash") ? { at } : {}) };
      };
      const now = await t.revision();
      await t.note("hash of now", hash(0));
      await t.note("hash two back", hash(now - 2));
      await t.note("hash of the future", hash(now + 1));
      await t.note("hash of the past", hash(1));
      await t.compact(now - 1);
      await t.note("hash after compaction", hash(0));
    },
  },
  {
    name: "an alarm refuses puts until it is disarmed; deletes and compaction go on",
    async run(t) {
      const { header } = await t.client.status();
      const memberId = header?.memberId ?? 0n;
      const alarm = (action: number) =>
        t.client
          .alarm({ action, memberId, alarm: AlarmType.noSpace })
          .then(({ alarms }) => alarms.map((one) => one.alarm));
      await t.put("space", "1");
      await t.note("alarms", alarm(AlarmAction.get));
      await t.note("activate", alarm(AlarmAction.activate));
      await t.note("alarms", alarm(AlarmAction.get));
      await t.put("space", "2");
      await t.txn({ success: [{ put: { key: "space" } }] });
      await t.txn({ failure: [{ put: { key: "space" } }] });
      await t.txn({ success: [{ deleteRange: { key: "no" } }, { range: { key: "space" } }] });
      await t.note("grant", t.client.grant(60, 5001n));
      await t.deleteRange({ key: "space" });
      await t.compact(await t.revision());
      await t.note(
        "errors",
        t.client.status().then(({ errors }) => errors.length),
      );
      await t.note("deactivate", alarm(AlarmAction.deactivate));
      await t.note("deactivate", alarm(AlarmAction.deactivate));
      await t.put("space", "3");
    },
  },
];
