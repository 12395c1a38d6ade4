/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { storeSize } from "./store-size.ts";

const size = (gigabytes: number): string =>
  `apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} ${gigabytes * 2 ** 30}\n`;

test("a store near the default quota is warned of, one near the largest pages", () => {
  assert.equal(storeSize.judge(sampled("", size(1.8)))[0]?.severity, "warn");
  assert.equal(storeSize.judge(sampled("", size(7.2)))[0]?.severity, "warn");
  assert.equal(storeSize.judge(sampled("", size(7.8)))[0]?.severity, "page");
});

test("of a quota that etcd tells, 95 % page", () => {
  const told = (gigabytes: number) =>
    storeSize.judge(
      sampled("", `${size(gigabytes)}etcd_server_quota_backend_bytes ${4 * 2 ** 30}\n`),
    );
  assert.equal(told(3.9)[0]?.severity, "page");
  assert.deepEqual(told(2), []);
});

test("a small store, and a large one with a large quota, are well", () => {
  assert.deepEqual(storeSize.judge(sampled("", size(1))), []);
  assert.deepEqual(storeSize.judge(sampled("", size(4))), []);
});

test("a store in the API server is judged by the quotas that it tells", () => {
  const inside = (keys: number, bytes: number) =>
    storeSize.judge(
      sampled(
        "",
        `pilothouse_store_state_keys ${keys}
pilothouse_store_quota_keys 1000
pilothouse_store_state_bytes ${bytes}
pilothouse_store_quota_bytes 5000\n`,
      ),
    );
  assert.deepEqual(inside(850, 4_000), []);
  assert.equal(inside(860, 0)[0]?.severity, "warn");
  assert.equal(inside(1_000, 0)[0]?.severity, "page");
  assert.match(
    inside(0, 4_990)[0]?.sentence ?? "",
    /holds 4990 of 5000 bytes; at its quota nothing/,
  );
});
