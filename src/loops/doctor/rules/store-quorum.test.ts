/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { observed, sampled } from "../testing/evidence.ts";
import { storeQuorum } from "./store-quorum.ts";

const state = (leader: number, changes: number, failed: number): string =>
  `etcd_server_has_leader ${leader}
etcd_server_leader_changes_seen_total ${changes}
etcd_server_proposals_failed_total ${failed}\n`;
const peer = "etcd_network_peer_round_trip_time_seconds";

test("a store without a leader pages, and one that changes its leader warns", () => {
  assert.equal(storeQuorum.judge(sampled(state(1, 1, 0), state(0, 1, 0)))[0]?.severity, "page");
  const [verdict] = storeQuorum.judge(sampled(state(1, 1, 0), state(1, 2, 0)));
  assert.match(verdict?.sentence ?? "", /changed its leader 1 times/);
  assert.equal(storeQuorum.judge(sampled(state(1, 1, 0), state(1, 1, 9))).length, 1);
});

test("a slow peer is named", () => {
  const [verdict] = storeQuorum.judge(
    sampled("", observed(peer, 0.3, 9, 'To="far"') + observed(peer, 0.001, 9, 'To="near"')),
  );
  assert.equal(verdict?.culprit, "etcd member far");
});

test("an election before the look, a few lost proposals, near peers, and no metrics are well", () => {
  assert.deepEqual(storeQuorum.judge(sampled(state(1, 9, 0), state(1, 9, 3))), []);
  assert.deepEqual(storeQuorum.judge(sampled("", observed(peer, 0.1, 9, 'To="near"'))), []);
  assert.deepEqual(storeQuorum.judge(sampled("", "")), []);
});
