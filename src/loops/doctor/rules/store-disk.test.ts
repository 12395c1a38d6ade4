/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceOf, observed, sampled } from "../testing/evidence.ts";
import { storeDisk } from "./store-disk.ts";

const sync = "etcd_disk_wal_fsync_duration_seconds";
const commit = "etcd_disk_backend_commit_duration_seconds";

test("slow syncs warn, and those of more than half a second page", () => {
  const severity = (seconds: number) =>
    storeDisk.judge(sampled("", observed(sync, seconds, 9)))[0]?.severity;
  assert.deepEqual([0.02, 0.1, 1].map(severity), ["warn", "warn", "page"]);
});

test("etcd's own metrics are read when a flag says where they are", () => {
  const etcd = sampled("", observed(commit, 0.3, 9));
  const [verdict] = storeDisk.judge(evidenceOf({ programs: { etcd } }));
  assert.match(verdict?.sentence ?? "", /commit of its backend/);
});

test("quick syncs, slow ones before the look, and too few to judge are well", () => {
  assert.deepEqual(storeDisk.judge(sampled("", observed(sync, 0.005, 900))), []);
  const old = observed(sync, 1, 50);
  assert.deepEqual(storeDisk.judge(sampled(old, old)), []);
  assert.deepEqual(storeDisk.judge(sampled("", observed(sync, 1, 3))), []);
  assert.deepEqual(storeDisk.judge(sampled("", observed(commit, 0.03, 50))), []);
});
