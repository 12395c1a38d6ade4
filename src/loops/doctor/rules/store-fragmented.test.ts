/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceOf, sampled } from "../testing/evidence.ts";
import { storeFragmented } from "./store-fragmented.ts";

function judge(megabytes: number, used: number) {
  const etcd = sampled(
    "",
    `etcd_mvcc_db_total_size_in_bytes ${megabytes * 2 ** 20}
etcd_mvcc_db_total_size_in_use_in_bytes ${used * 2 ** 20}\n`,
  );
  return storeFragmented.judge(evidenceOf({ programs: { etcd } }));
}

test("a large file that is mostly free room is found", () => {
  assert.match(judge(1_000, 200)[0]?.sentence ?? "", /1000 MiB, of which 20 %/);
});

test("a full file, and a small one, are well", () => {
  assert.deepEqual([...judge(1_000, 600), ...judge(90, 1)], []);
  assert.deepEqual(storeFragmented.judge(evidenceOf({})), []);
});
