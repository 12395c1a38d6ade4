/**
 * The real etcdctl against `pilothouse store`, and the same script against a real etcd where there is
 * one: exit codes and outputs are equal, but for ids, sizes and times.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { startEtcd } from "#etcd/testing/servers.ts";
import {
  etcd,
  etcdctlAt,
  etcdctlRelease,
  etcdRelease,
  noEtcd,
  noEtcdctl,
  words,
} from "./etcdctl-run.ts";
import { script } from "./etcdctl-script.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { startStore } from "./store-harness.ts";

const scratch = temporaryDirectory("etcdctl");
after(() => removeDirectory(scratch));

test("etcdctl gets the answers of a real etcd", { skip: noEtcdctl || noEtcd }, async () => {
  const theirs = await startEtcd(etcd ?? "");
  const ours = await startStore(["--memory", "--listen", "127.0.0.1:0"]);
  try {
    for (const step of script(etcdctlRelease, etcdRelease)) {
      const name = step.args.join(" ");
      assert.equal(etcdctlAt(ours.url, step), etcdctlAt(theirs.url, step), name);
    }
  } finally {
    await theirs.close();
    await ours.stop();
  }
});

test(
  "what a single store without users will not do is refused with the reason",
  {
    skip: noEtcdctl,
  },
  async () => {
    const store = await startStore(["--memory", "--listen", "127.0.0.1:0"]);
    const users = /keeps no users or roles; use client certificates$/;
    const members = /is a single member; members cannot be added, changed or removed$/;
    const lines: readonly (readonly [string, RegExp])[] = [
      ["user add me:secret", users],
      ["role add mine", users],
      ["member add other --peer-urls=http://127.0.0.1:1", members],
    ];
    for (const [line, reason] of lines) {
      const answer = etcdctlAt(store.url, words(line));
      assert.doesNotMatch(answer, /^0/, line);
      assert.match(answer, reason, line);
    }
    await store.stop();
  },
);

test(
  "a snapshot of etcd itself is no snapshot of ours, and restore says what to do",
  {
    skip: noEtcdctl || noEtcd,
  },
  async () => {
    const theirs = await startEtcd(etcd ?? "");
    const file = join(scratch, "etcd.db");
    try {
      assert.match(etcdctlAt(theirs.url, words(`snapshot save ${file}`)), /^0 /);
    } finally {
      await theirs.close();
    }
    const { code, stderr } = pilothouse(["store", "restore", file, join(scratch, "never")]);
    assert.equal(code, 1);
    assert.match(stderr, /make-mirror/);
  },
);

test("etcdctl's snapshot is a store again", { skip: noEtcdctl }, async () => {
  const data = join(scratch, "data");
  const store = await startStore(["--data-dir", data, "--listen", "127.0.0.1:0"]);
  const call = (line: string): string => etcdctlAt(store.url, words(line));
  for (let i = 0; i < 20; i++) call(`put k${i} v${i}`);
  const file = join(scratch, "snapshot.db");
  assert.match(call(`snapshot save ${file}`), /^0 .*[Ss]napshot saved/s);
  assert.match(call("member list"), /^0 ID, started, default/);
  assert.match(call("member list -w fields"), /"ClientURL" : "URL"/);
  assert.match(call("endpoint status"), /^0 URL, ID, 3\.6\.5, /);
  assert.equal(await store.stop(), 0);
  const restored = join(scratch, "restored");
  assert.equal(pilothouse(["store", "restore", file, restored]).code, 0);
  const again = await startStore(["--data-dir", restored, "--listen", "127.0.0.1:0"]);
  assert.equal(etcdctlAt(again.url, words("get k7")), "0 k7\nv7");
  assert.equal(await again.stop(), 0);
});
