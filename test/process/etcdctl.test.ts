/**
 * The real etcdctl against `pilothouse store`, and the same script against a real etcd where there is
 * one: exit codes and outputs are equal, but for ids, sizes and times. PILOTHOUSE_ETCDCTL and
 * PILOTHOUSE_ETCD name them, else those on the PATH (Debian's etcd-client and etcd-server).
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { Etcd3 } from "etcd3";
import { startEtcd } from "#etcd/testing/servers.ts";
import { pilothouse, removeDirectory, run, temporaryDirectory } from "./harness.ts";
import { findPeer, startStore } from "./store-harness.ts";

const etcdctl = findPeer("PILOTHOUSE_ETCDCTL", ["etcdctl"], ["version"]);
const etcd = findPeer("PILOTHOUSE_ETCD", ["etcd"], ["--version"]);
const noEtcdctl = etcdctl === undefined ? "no etcdctl: apt-get install etcd-client" : false;
const noEtcd = etcd === undefined ? "no etcd: apt-get install etcd-server" : false;
const scratch = temporaryDirectory("etcdctl");
after(() => removeDirectory(scratch));

interface Step {
  readonly args: readonly string[];
  readonly input?: string;
}

const words = (line: string): Step => ({ args: line.split(" ") });
const script: readonly Step[] = [
  words("put a 1"),
  words("put a 2 --prev-kv"),
  words("put b 1"),
  words("get a"),
  words("get a b0 --keys-only"),
  words("get --prefix --count-only --write-out=fields a"),
  words("get --from-key a --limit=1 --order=DESCEND"),
  words("get a --rev=2 --print-value-only"),
  words("get a --rev=99"),
  words("get nothing"),
  words("put b --ignore-value"),
  words("put nothing --ignore-value"),
  words("del b --prev-kv"),
  words("del nothing"),
  { args: ["txn", "--interactive"], input: 'ver("a") = "2"\n\nput x y\nget a\n\nget b\n\n' },
  { args: ["txn", "--interactive"], input: 'val("a") = "no"\n\nput x z\n\ndel x\n\n' },
  { args: ["txn"], input: 'mod("a") > "0"\n\nput t 1\nput t 2\n\n\n' },
  words("watch --rev=2 --prefix a -- true"),
  words("lease grant 600"),
  words("lease timetolive 1234"),
  words("lease revoke 1234"),
  words("lease list"),
  words("compaction 3"),
  words("compaction 3"),
  words("get a --rev=2"),
  words("alarm list"),
  words("alarm disarm"),
  words("endpoint health"),
  words("endpoint hashkv"),
  words("lock l echo held"),
  words("get l --prefix --count-only --write-out=fields"),
  words("lease list"),
  words("user list"),
  words("role list"),
  words("user get root"),
  words("auth enable"),
  words("auth disable"),
  words("defrag"),
  words("move-leader 1"),
].filter(({ args }) => args[0] !== "watch");

function etcdctlAt(url: string, { args, input }: Step): string {
  const { code, stdout, stderr } = run(etcdctl ?? "", ["--endpoints", url, ...args], {
    env: { ...process.env, ETCDCTL_API: "3" },
    ...(input === undefined ? {} : { input }),
  });
  // The client's own log lines carry addresses and times; what it tells its user is the last line.
  const lines = stderr.trim().split("\n");
  const told = lines.findLast((line) => !line.startsWith('{"level"')) ?? "";
  return `${code} ${normal(stdout, url)} ${normal(told, url)}`.trim();
}

function normal(text: string, url: string): string {
  return text
    .replaceAll(url, "URL")
    .replaceAll(url.replace("http://", ""), "URL")
    .replace(/\d+(\.\d+)?(µs|ms|s)\b/g, "TIME")
    .replace(/\b[0-9a-f]{15,16}\b/g, "ID")
    .replace(/"(ClusterID|MemberID|RaftTerm)" : \d+/g, '"$1" : N');
}

test("etcdctl gets the answers of a real etcd", { skip: noEtcdctl || noEtcd }, async () => {
  const theirs = await startEtcd(etcd ?? "");
  const ours = await startStore(["--memory", "--listen", "127.0.0.1:0"]);
  try {
    for (const step of script) {
      const name = step.args.join(" ");
      assert.equal(etcdctlAt(ours.url, step), etcdctlAt(theirs.url, step), name);
    }
  } finally {
    await theirs.close();
    await ours.stop();
  }
});

test("etcdctl's snapshot is a store again", { skip: noEtcdctl }, async () => {
  const data = join(scratch, "data");
  const store = await startStore(["--data-dir", data, "--listen", "127.0.0.1:0"]);
  const call = (line: string): string => etcdctlAt(store.url, words(line));
  for (let i = 0; i < 20; i++) call(`put k${i} v${i}`);
  const file = join(scratch, "snapshot.db");
  assert.match(call(`snapshot save ${file}`), /^0 .*[Ss]napshot saved/s);
  assert.match(call("member list"), /^0 ID, started, default/);
  assert.match(call("endpoint status"), /^0 URL, ID, 3\.6\.5, /);
  assert.equal(await store.stop(), 0);
  const restored = join(scratch, "restored");
  assert.equal(pilothouse(["store", "restore", file, restored]).code, 0);
  const again = await startStore(["--data-dir", restored, "--listen", "127.0.0.1:0"]);
  assert.equal(etcdctlAt(again.url, words("get k7")), "0 k7\nv7");
  assert.equal(await again.stop(), 0);
});

test("npm's etcd3: keys, guards, leases, locks, and a watcher over kill -9", async () => {
  const data = join(scratch, "etcd3");
  const port = "127.0.0.1:0";
  let store = await startStore(["--data-dir", data, "--listen", port]);
  const { url } = store;
  const client = new Etcd3({ hosts: url });
  await client.put("a").value("1");
  assert.equal(await client.get("a").string(), "1");
  assert.deepEqual(await client.getAll().prefix("a").strings(), { a: "1" });
  const guarded = await client
    .if("a", "Value", "==", "1")
    .then(client.put("a").value("2"))
    .commit();
  assert.equal(guarded.succeeded, true);
  const lease = client.lease(60);
  await lease.put("leased").value("x");
  await lease.revoke();
  assert.equal(await client.get("leased").string(), null);
  const held = await client.lock("l").acquire();
  await assert.rejects(client.lock("l").acquire());
  await held.release();
  const watcher = await client.watch().prefix("w").create();
  const seen: string[] = [];
  const three = new Promise<void>((resolve) => {
    watcher.on("put", ({ value }) => {
      seen.push(value.toString());
      if (seen.length === 3) resolve();
    });
  });
  await client.put("w").value("1");
  await store.kill();
  store = await startStore(["--data-dir", data, "--listen", new URL(url).host]);
  // Its first call after the cut may still find the old connection.
  for (const value of ["2", "3"]) {
    while (
      !(await client
        .put("w")
        .value(value)
        .then(
          () => true,
          () => false,
        ))
    );
  }
  await three;
  assert.deepEqual([...new Set(seen)], ["1", "2", "3"]);
  await watcher.cancel();
  client.close();
  assert.equal(await store.stop(), 0);
});
