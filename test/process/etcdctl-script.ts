/** What is asked of etcdctl, command by command, each on what the ones before left: two servers answer alike. */
import { isAtLeast, type EtcdRelease } from "#etcd/testing/servers.ts";
import { words, type Step } from "./etcdctl-run.ts";

const kv: readonly Step[] = [
  words("put a 1"),
  words("put a 2 --prev-kv"),
  words("put b 1"),
  words("put piped", "from stdin"),
  words("get a"),
  words("get a b0 --keys-only"),
  words("get --prefix --count-only --write-out=fields a"),
  words("get --from-key a --limit=1 --order=DESCEND"),
  words("get a --rev=2 --print-value-only"),
  words("get a --rev=99"),
  words("get nothing"),
  words("get a --hex"),
  words("get a --consistency=s"),
  words("get a -w json"),
  words("get a -w fields"),
  words('get "" --prefix --sort-by=MODIFY --order=DESCEND'),
  words('get "" --prefix --sort-by=VERSION'),
  words('get "" --prefix --sort-by=VALUE --order=ASCEND --limit=2'),
  words('get "" --from-key --sort-by=CREATE --order=DESCEND --keys-only'),
  words("get a --sort-by=NOTHING"),
  words("get --prefix --from-key a"),
  words("put b --ignore-value"),
  words("put b --ignore-lease --prev-kv 2"),
  words("put nothing --ignore-value"),
  words("put leased 1 --lease=77"),
  words("del b --prev-kv"),
  words("del nothing"),
  words("put d/1 x"),
  words("put d/2 y"),
  words("put e z"),
  words("put f z"),
  words("del d/ --prefix --prev-kv"),
  words("del e f --prev-kv"),
  words("del e --from-key --prev-kv -w json"),
];

const txn: readonly Step[] = [
  words("txn --interactive", 'ver("a") = "2"\n\nput x y\nget a\n\nget b\n\n'),
  words("txn --interactive", 'val("a") = "no"\n\nput x z\n\ndel x\n\n'),
  words("txn --interactive", 'create("a") < "99"\nlease("a") = "0"\n\nget a\ndel none\n\n\n'),
  words("txn --interactive", 'mod("a") = "wrong"\n\n\n\n'),
  words("txn", 'mod("a") > "0"\n\nput t 1\nput t 2\n\n\n'),
  words("txn", 'mod("a") > "0"\n\nput t 1\nput u 2\nget t u0\n\n\n'),
  words("txn -w json", "\nput t 3 --prev-kv\n\n\n"),
  words("txn", "\n\n\n"),
];

const leases: readonly Step[] = [
  words("lease grant 600"),
  words("lease grant 0"),
  words("lease grant 9000000001"),
  words("lease timetolive 1234"),
  words("lease timetolive 1234 --keys"),
  words("lease keep-alive 1234"),
  words("lease keep-alive --once 1234"),
  words("lease revoke 1234"),
];

const maintenance: readonly Step[] = [
  words("compaction 3"),
  words("compaction 3"),
  words("compaction 4 --physical"),
  words("compaction 9999"),
  words("get a --rev=2"),
  words("watch --rev=2 a"),
  words("alarm list"),
  words("alarm disarm"),
  words("endpoint health"),
  words("defrag"),
  words("move-leader 1"),
  words("member remove 1"),
  words("member promote 1"),
];

const concurrency: readonly Step[] = [
  words("lock l echo held"),
  words("lock l false"),
  words("get l --prefix --count-only --write-out=fields"),
];

const users: readonly Step[] = [
  words("user list"),
  words("role list"),
  words("user get root"),
  words("user delete root"),
  words("user grant-role root root"),
  words("user revoke-role root root"),
  words("role get root"),
  words("role delete root"),
  words("role grant-permission root read a"),
  words("role revoke-permission root a"),
  words("auth enable"),
  words("auth disable"),
];

/** Since 3.5 and 3.6. */
const newer: readonly Step[] = [
  words('get "" --prefix --min-mod-rev=3 --max-mod-rev=9 --keys-only'),
  words('get "" --prefix --min-create-rev=3 --keys-only'),
  words('get "" --prefix --max-create-rev=3 --count-only'),
  words("del t v --range --prev-kv"),
  words("endpoint hashkv"),
  words("endpoint hashkv --rev=3"),
  words("endpoint hashkv --rev=9999"),
  words("auth status"),
  words("downgrade validate 9.9"),
];

/** Says of what release the server is: ours is a 3.6. */
const release: readonly Step[] = [words("downgrade cancel")];

export function script(client: EtcdRelease, server: EtcdRelease): readonly Step[] {
  const since36 = isAtLeast(client, "3.6") && isAtLeast(server, "3.6");
  const newest = [since36 ? newer : [], since36 && server === "3.6" ? release : []];
  return [kv, txn, leases, ...newest, maintenance, concurrency, users].flat(2);
}
