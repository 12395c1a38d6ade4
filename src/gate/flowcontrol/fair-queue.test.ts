/** The fair queue against models: seats, order, fairness, on random traces with virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { FairQueue } from "./fair-queue.ts";
import type { Discipline, Seating, Work } from "./fair-queue.ts";
import { dealHand, hashFlow } from "./shuffle-shard.ts";

const one = { seats: 1, finalSeats: 0, extraMs: 0, isSmall: false };

function setup(seatsMax: number, discipline: Discipline) {
  const clock = new FakeClock();
  const demands: number[] = [];
  const queue = new FairQueue(
    { clock, onDemand: (seats) => demands.push(seats) },
    { discipline, seatsMax },
  );
  return { clock, queue, demands };
}

const queued = (queues: number, handSize: number, queueLengthMax = 50): Discipline => ({
  kind: "queue",
  queues,
  handSize,
  queueLengthMax,
});

/** A hash that is dealt queue `index` of `queues` when the hand is one card. */
const toQueue = (index: number) => ({ high: 0, low: index });

function work(size: Partial<Work> = {}, onSeat = () => {}): Work {
  return { ...one, ...size, onSeat };
}

test("what fits is seated at once, what does not waits its turn", () => {
  const { queue } = setup(2, queued(4, 1));
  const seated: string[] = [];
  const submit = (name: string) =>
    queue.submit(
      work({}, () => seated.push(name)),
      toQueue(0),
    );
  const a = submit("a");
  submit("b");
  const c = submit("c");
  const d = submit("d");
  assert.deepEqual(
    [a, c, d].map((s) => s?.state),
    ["seated", "waiting", "waiting"],
  );
  queue.finish(a as Seating);
  assert.deepEqual(seated, ["c"]);
  assert.equal(queue.seatsInUse, 2);
  assert.equal(queue.waiting, 1);
});

test("a full queue rejects; where there are no queues everything that does not fit is", () => {
  const { queue } = setup(1, queued(1, 1, 2));
  const states = Array.from({ length: 4 }, () => queue.submit(work(), toQueue(0))?.state);
  assert.deepEqual(states, ["seated", "waiting", "waiting", undefined]);
  const bare = setup(1, { kind: "reject" }).queue;
  assert.equal(bare.submit(work(), toQueue(0))?.state, "seated");
  assert.equal(bare.submit(work(), toQueue(0)), undefined);
  const exempt = setup(0, { kind: "exempt" }).queue;
  for (let i = 0; i < 100; i++) assert.equal(exempt.submit(work(), toQueue(0))?.state, "seated");
});

test("who gives up leaves the queue and is not seated", () => {
  const { queue } = setup(1, queued(1, 1));
  const first = queue.submit(work(), toQueue(0)) as Seating;
  const second = queue.submit(
    work({}, () => assert.fail("seated after giving up")),
    toQueue(0),
  ) as Seating;
  const third = queue.submit(work(), toQueue(0)) as Seating;
  assert.ok(queue.cancel(second));
  assert.ok(!queue.cancel(second));
  assert.ok(!queue.cancel(first));
  queue.finish(first);
  assert.equal(third.state, "seated");
});

test("a work wider than all seats runs alone, and nobody overtakes it for ever", () => {
  const { queue } = setup(2, queued(2, 1));
  const small = queue.submit(work(), toQueue(0)) as Seating;
  const wide = queue.submit(work({ seats: 5 }), toQueue(1)) as Seating;
  assert.equal(wide.state, "waiting");
  queue.finish(small);
  assert.equal(wide.state, "seated");
  const next = queue.submit(work(), toQueue(0)) as Seating;
  assert.equal(next.state, "waiting");
  queue.finish(wide);
  assert.equal(next.state, "seated");
});

test("seats of a write linger as long as its watchers need", () => {
  const { queue, clock } = setup(3, queued(1, 1));
  const write = queue.submit(work({ finalSeats: 2, extraMs: 5 }), toQueue(0)) as Seating;
  assert.equal(queue.seatsInUse, 2);
  queue.finish(write);
  assert.equal(queue.seatsInUse, 2);
  clock.tick(5);
  assert.equal(queue.seatsInUse, 0);
});

test("more seats are used at once; fewer are waited for", () => {
  const { queue } = setup(1, queued(1, 1));
  const works = Array.from({ length: 3 }, () => queue.submit(work(), toQueue(0)) as Seating);
  queue.configure({ discipline: queued(1, 1), seatsMax: 3 });
  assert.deepEqual(
    works.map((s) => s.state),
    ["seated", "seated", "seated"],
  );
  queue.configure({ discipline: queued(1, 1), seatsMax: 1 });
  const late = queue.submit(work(), toQueue(0)) as Seating;
  queue.finish(works[0] as Seating);
  queue.finish(works[1] as Seating);
  assert.equal(late.state, "waiting");
  queue.finish(works[2] as Seating);
  assert.equal(late.state, "seated");
});

test("a level whose queues are reduced still serves those who wait in the surplus ones", () => {
  const { queue } = setup(1, queued(8, 1));
  const first = queue.submit(work(), toQueue(7)) as Seating;
  const second = queue.submit(work(), toQueue(7)) as Seating;
  queue.configure({ discipline: queued(2, 1), seatsMax: 1 });
  queue.finish(first);
  assert.equal(second.state, "seated");
  queue.finish(second);
  assert.equal(queue.submit(work(), toQueue(1))?.state, "seated");
});

/** One run of random arrivals, ends, cancellations and seat changes, checked after every step. */
function randomRun(seed: number): void {
  const random = new FakeRandom(seed);
  const { queue, clock } = setup(
    1 + random.below(12),
    queued(1 + random.below(16), 1, 1 + random.below(6)),
  );
  const live = new Set<Seating>();
  const seatedOf = (): Seating[] => [...live].filter((s) => s.state === "seated");
  for (let step = 0; step < 400; step++) {
    clock.tick(random.below(8));
    const kind = random.below(10);
    if (kind < 5) {
      const size = {
        seats: 1 + random.below(4),
        finalSeats: random.below(3),
        extraMs: random.below(2) * 5,
        isSmall: random.below(2) === 0,
      };
      const seating = queue.submit(work(size), hashFlow("s", `f${random.below(6)}`));
      if (seating !== undefined) live.add(seating);
    } else if (kind < 8) {
      const seated = seatedOf();
      const chosen = seated[random.below(Math.max(1, seated.length))];
      if (chosen !== undefined) queue.finish(chosen);
    } else if (kind < 9) {
      const waiting = [...live].filter((s) => s.state === "waiting");
      const chosen = waiting[random.below(Math.max(1, waiting.length))];
      if (chosen !== undefined) queue.cancel(chosen);
    }
    const resting = seatedOf()[random.below(4)];
    const waitsFor = random.below(2) === 0 ? "turn" : "outside";
    if (resting !== undefined && random.below(2) === 0) queue.rest(resting, waitsFor);
    else if (resting !== undefined) queue.goOn(resting);
    checkSeats(queue, live);
  }
  for (let rounds = 0; live.size > 0 && rounds < 10_000; rounds++) {
    for (const seating of seatedOf()) queue.finish(seating);
    clock.tick(5);
    checkSeats(queue, live);
  }
  assert.equal(live.size, 0, "everything that waits is served in the end");
  assert.equal(queue.seatsInUse, 0);
}

/** The model: seats in use are those of all that hold any, and at most those given. */
function checkSeats(queue: FairQueue, live: Set<Seating>): void {
  for (const seating of live) if (seating.state === "gone") live.delete(seating);
  const holding = [...live].filter((s) => s.state !== "waiting");
  const width = (s: Seating): number => Math.max(s.work.seats, s.work.finalSeats);
  const taken = holding.reduce((sum, s) => sum + width(s), 0);
  assert.equal(queue.seatsInUse, taken);
  assert.equal(queue.seated, holding.length);
  assert.equal(queue.waiting, live.size - holding.length);
  const own = holding.filter(({ isLent }) => !isLent);
  const ownTaken = own.reduce((sum, s) => sum + width(s), 0);
  if (own.length > 1) assert.ok(ownTaken <= queue.seatsMax, `${ownTaken} of ${queue.seatsMax}`);
  if (queue.waiting > 0) assert.ok(holding.length > 0, "nobody waits while all seats are free");
}

test("works that wait for their clients lend their seats on, and however many do, a small work does not wait", () => {
  const { queue } = setup(2, queued(1, 1));
  const submit = (isSmall: boolean): Seating =>
    queue.submit({ ...work(), isSmall }, toQueue(0)) as Seating;
  const slow = Array.from({ length: 20 }, () => {
    const seating = submit(true);
    queue.rest(seating, "outside");
    return seating;
  });
  assert.deepEqual([...new Set(slow.map(({ state }) => state))], ["seated"]);
  const [first, second, third, fourth] = [submit(true), submit(true), submit(true), submit(false)];
  assert.deepEqual(
    [first, second, third, fourth].map(({ state }) => state),
    ["seated", "seated", "waiting", "waiting"],
    "as many work as there are seats",
  );
  queue.rest(first, "turn");
  assert.equal(third.state, "waiting", "a lent seat is not lent on for a turn of the loop");
  for (const seating of slow) queue.goOn(seating);
  queue.rest(second, "outside");
  assert.equal(third.state, "waiting", "those that went on have the seats");
  for (const seating of slow) queue.finish(seating);
  assert.deepEqual([third.state, fourth.state], ["seated", "seated"]);
});

test("on random traces seats taken never exceed seats given, and all are served", () => {
  for (let seed = 1; seed <= 60; seed++) randomRun(seed);
});

/** Enough waiting that each queue's oldest work arrived before its turn could have come. */
const backlogLength = 300;

/**
 * Simulates flows that always have waiting works, each flow in a queue of its own. `duration` gives the length of each
 * work.
 * @returns seat-seconds served per flow.
 */
function backlog(
  flows: number,
  seatsMax: number,
  durationMs: (flow: number, random: FakeRandom) => number,
  totalMs: number,
  seats: (flow: number) => number = () => 1,
): readonly number[] {
  const random = new FakeRandom(7);
  const { queue, clock } = setup(seatsMax, queued(flows, 1, backlogLength));
  const served = Array.from({ length: flows }, () => 0);
  const submit = (flow: number): void => {
    const run = (seating: Seating): void => {
      const ms = durationMs(flow, random);
      clock.after("flowcontrol.wait", ms, () => {
        served[flow] = (served[flow] ?? 0) + (ms / 1000) * seats(flow);
        queue.finish(seating);
        submit(flow);
      });
    };
    const seating: Seating | undefined = queue.submit(
      work({ seats: seats(flow) }, () => seating !== undefined && run(seating)),
      toQueue(flow),
    );
    assert.ok(seating !== undefined);
    if (seating.state === "seated") run(seating);
  };
  for (let i = 0; i < backlogLength; i++) for (let flow = 0; flow < flows; flow++) submit(flow);
  clock.tick(totalMs);
  return served;
}

/** The bound of the header: seats given, times the longest work, in seat-seconds. */
function assertFair(
  served: readonly number[],
  seatsMax: number,
  longestMs: number,
  width = 1,
): void {
  const spread = Math.max(...served) - Math.min(...served);
  const bound = (seatsMax * longestMs * width) / 1000 + longestMs / 1000;
  assert.ok(spread <= bound, `spread ${spread} seat-seconds, bound ${bound}`);
}

test("flows that always wait get equal shares, whatever their works cost", () => {
  for (const totalMs of [5_000, 20_000, 80_000]) {
    const served = backlog(4, 10, (flow) => 5 + 20 * flow, totalMs);
    assertFair(served, 10, 65);
    const share = (totalMs / 1000) * (10 / 4);
    for (const seconds of served)
      assert.ok(Math.abs(seconds - share) < 1, `${seconds} of ${share}`);
  }
});

test("random durations stay within the bound", () => {
  for (const seatsMax of [1, 3, 16]) {
    const served = backlog(5, seatsMax, (_flow, random) => 1 + random.below(50), 20_000);
    assertFair(served, seatsMax, 50);
  }
});

test("wide works pay for their width", () => {
  const served = backlog(
    3,
    12,
    () => 20,
    20_000,
    (flow) => flow + 1,
  );
  assertFair(served, 12, 20, 3);
});

test("a flow that floods does not slow down one that asks little", () => {
  const { queue, clock } = setup(4, queued(64, 6, 50));
  const flood = hashFlow("s", "flood");
  const quiet = hashFlow("s", "quiet");
  const run = (seating: Seating | undefined): void => {
    if (seating === undefined) return;
    clock.after("flowcontrol.wait", 10, () => {
      queue.finish(seating);
      submitFlood();
    });
  };
  const submitFlood = (): void => {
    const seating: Seating | undefined = queue.submit(
      work({}, () => run(seating)),
      flood,
    );
    if (seating?.state === "seated") run(seating);
  };
  for (let i = 0; i < 280; i++) submitFlood();
  clock.tick(200);
  for (let i = 0; i < 20; i++) {
    let waitedMs = -1;
    const start = clock.monotonicMs();
    const seating: Seating | undefined = queue.submit(
      work({}, () => {
        waitedMs = clock.monotonicMs() - start;
      }),
      quiet,
    );
    if (seating?.state === "seated") waitedMs = 0;
    clock.tick(50);
    assert.ok(waitedMs >= 0 && waitedMs <= 30, `waited ${waitedMs} ms`);
    if (seating?.state === "seated") queue.finish(seating);
  }
});

test("a hand is distinct queues, spread evenly over flows", () => {
  const counts = Array.from({ length: 64 }, () => 0);
  for (let flow = 0; flow < 2000; flow++) {
    const hand = dealHand(hashFlow("schema", `user-${flow}`), 64, 6);
    assert.equal(new Set(hand).size, 6);
    for (const card of hand) counts[card] = (counts[card] ?? 0) + 1;
  }
  // 12,000 cards over 64 queues are 187 each; five standard deviations are 68.
  for (const count of counts) assert.ok(Math.abs(count - 187) < 68, `${count}`);
});

test("the deal is upstream's: remainders of a shrinking deck, shifted past the cards dealt before", () => {
  // 64-bit value 1_000_000_007 * 2^20 + 12345, dealt by hand: see the arithmetic in BigInt below.
  const value = 1_000_000_007n * 2n ** 20n + 12_345n;
  const hash = { high: Number(value >> 32n), low: Number(value & 0xffff_ffffn) };
  const remainders: number[] = [];
  let rest = value;
  for (let i = 0; i < 6; i++) {
    remainders.push(Number(rest % BigInt(128 - i)));
    rest /= BigInt(128 - i);
  }
  const left = Array.from({ length: 128 }, (_, index) => index);
  const expected = remainders.map((remainder) => left.splice(remainder, 1)[0]);
  assert.deepEqual(dealHand(hash, 128, 6), expected);
});
