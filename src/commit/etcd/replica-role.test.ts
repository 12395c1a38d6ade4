/** When a replica takes the log over, and when it does not: no sockets, a clock that stands. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import type { Replica } from "#store/replica.ts";
import type { HolderLink } from "./holder-link.ts";
import { recommendedReplicaTimes, ReplicaRole } from "./replica-role.ts";

const { askMs, silentMs, strangerMs } = recommendedReplicaTimes;

/** A follower of a holder that answers as long as `answers` is set. */
function follower() {
  const clock = new FakeClock();
  const state = {
    answers: true,
    takeovers: 0,
    connects: 0,
    gone: (_isRefused: boolean): void => undefined,
  };
  const replica: Partial<Replica> = {
    isOwner: false,
    holder: { epoch: 3, name: "http://holder" },
    listen: () => undefined,
    catchUp: () => Promise.resolve(),
    takeOver: () => {
      state.takeovers++;
      return Promise.resolve(false);
    },
  };
  const connect = (url: string, gone: () => void): HolderLink => {
    state.connects++;
    const link = {
      url,
      isGone: false,
      isRefused: false,
      heardMs: undefined as number | undefined,
      ask: () => {
        if (state.answers) link.heardMs = clock.monotonicMs();
      },
      close: () => undefined,
    };
    state.gone = (isRefused) => {
      link.isGone = true;
      link.isRefused = isRefused;
      gone();
    };
    return link as unknown as HolderLink;
  };
  const deps = { clock, log: silentLog, replica: replica as Replica, connect };
  const role = new ReplicaRole(deps, { ...recommendedReplicaTimes, name: "http://me" });
  role.start();
  return { clock, state, pass: (ms: number) => clock.advance(ms), role };
}

void test("a holder that answers is left alone; one that says nothing is deposed after a second", async () => {
  const { state, pass, role } = follower();
  await pass(10 * silentMs);
  assert.equal(state.takeovers, 0);
  state.answers = false;
  await pass(silentMs - 2 * askMs);
  assert.equal(state.takeovers, 0);
  await pass(4 * askMs);
  assert.ok(state.takeovers > 0);
  role.stop();
});

void test("a follower that was paused itself does not take its own silence for the holder's", async () => {
  const { clock, state, pass, role } = follower();
  await pass(silentMs);
  clock.pause(30_000);
  await pass(2 * silentMs);
  assert.equal(state.takeovers, 0);
  role.stop();
});

void test("a connection that breaks once is made again; twice in a row is the holder's end", async () => {
  const { state, pass, role } = follower();
  await pass(silentMs);
  assert.equal(state.connects, 1);
  state.gone(false);
  assert.deepEqual([state.connects, state.takeovers], [2, 0]);
  state.gone(false);
  await settle();
  assert.ok(state.takeovers > 0);
  role.stop();
});

void test("a holder whose address nobody listens at is deposed at once", async () => {
  const { state, role } = follower();
  state.gone(true);
  await settle();
  assert.ok(state.takeovers > 0);
  role.stop();
});

void test("a holder that refuses this follower's certificate is not deposed for it, but after five seconds", async () => {
  const { state, pass, role } = follower();
  state.answers = false;
  for (let at = 0; at < strangerMs - 2 * askMs; at += askMs) {
    state.gone(false);
    await pass(askMs);
  }
  assert.equal(state.takeovers, 0);
  assert.ok(state.connects > 5);
  await pass(4 * askMs);
  assert.ok(state.takeovers > 0);
  role.stop();
});
