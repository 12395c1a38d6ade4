/** What a connection's peer holds, counted beside what all of them hold; and what its end gives back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { type H2Limits, recommendedH2Limits } from "./h2-limits.ts";
import { PeerAccount } from "./peer-account.ts";
import { ServerLoad } from "./server-load.ts";

function world(options: Partial<H2Limits>) {
  const limits = { ...recommendedH2Limits, ...options };
  const clock = new FakeClock();
  const load = new ServerLoad(clock, limits);
  const open = () => {
    const connection = {
      unsentBytes: 0,
      takenBytes: 0,
      ended: 0,
      runningChanged: () => undefined,
      endUnread: () => void connection.ended++,
    };
    return { connection, account: new PeerAccount({ clock, load, connection }, limits) };
  };
  return { clock, load, open };
}

test("requests beyond the total make those busy that run some, and no others", () => {
  const { open } = world({ runningTotalBytesMax: 10 });
  const [greedy, modest] = [open().account, open().account];
  greedy.run(11);
  assert.deepEqual([greedy.isServerBusy, modest.isServerBusy], [true, false]);
  modest.run(1);
  assert.equal(modest.isServerBusy, true);
  greedy.rest(11);
  assert.deepEqual([greedy.isServerBusy, modest.isServerBusy], [false, false]);
});

test("a connection that ends runs the calls it had put off, and gives back what it reported", async () => {
  const { clock, load, open } = world({ unreadBytesMax: 10, unreadTotalBytesMax: 10 });
  const { account, connection } = open();
  account.waiting(11, false, true);
  assert.deepEqual([account.isUnreadFull, load.isUnreadFull], [true, true]);
  let run = 0;
  account.postpone(() => run++);
  assert.equal(clock.timers().length, 1, "a peer that takes nothing is waited for");
  account.close();
  account.close();
  assert.deepEqual([run, load.isUnreadFull], [1, false]);
  await clock.advance(1_000_000);
  assert.deepEqual([connection.ended, clock.timers().length], [0, 0]);
});

test("each connection has its few streams whatever the others have open", () => {
  const { open } = world({ streamsMax: 3, streamsReserved: 1, streamsPerConnectionMax: 4 });
  const [greedy, modest] = [open().account, open().account];
  for (; greedy.hasStream;) greedy.streamOpened();
  assert.equal(modest.hasStream, true);
  modest.streamOpened();
  assert.equal(modest.hasStream, false);
  greedy.streamGone();
  greedy.streamGone();
  assert.equal(modest.hasStream, true);
});
