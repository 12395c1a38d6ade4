/** The fair queue against a max-min fair division, on a simulated clock: every flow gets what an oracle gives it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "#platform/testing/clock.ts";
import { FairQueue, type Seating } from "./fair-queue.ts";
import { maxMin } from "./testing/max-min.ts";
import { oneSeat } from "./work-size.ts";

interface Flow {
  /** Seat-seconds that it asks for in a second. */
  readonly rate: number;
  readonly workMs: number;
}

const runMs = 60_000;

/** Works come at even times, each flow to a queue of its own. @returns seat-seconds that each flow got. */
function simulate(flows: readonly Flow[], seatsMax: number): readonly number[] {
  const clock = new FakeClock();
  const queueLengthMax = Number.MAX_SAFE_INTEGER;
  const discipline = { kind: "queue", queues: flows.length, handSize: 1, queueLengthMax } as const;
  const queue = new FairQueue({ clock, onDemand: () => {} }, { discipline, seatsMax });
  const got = flows.map(() => 0);
  const ends: { atMs: number; seating: Seating; flow: number }[] = [];
  const nextMs = flows.map(({ rate, workMs }) => workMs / rate);
  let nowMs = 0;
  const start = (seating: Seating, flow: number): void => {
    ends.push({ atMs: nowMs + (flows[flow]?.workMs ?? 0), seating, flow });
  };
  const arrive = (flow: number): void => {
    const work = { ...oneSeat, onSeat: () => made !== undefined && start(made, flow) };
    const made: Seating | undefined = queue.submit(work, { high: 0, low: flow });
    assert.ok(made !== undefined);
    if (made.state === "seated") start(made, flow);
  };
  for (;;) {
    const arrival = nextMs.indexOf(Math.min(...nextMs));
    const arrivalMs = nextMs[arrival] ?? 0;
    ends.sort((a, b) => b.atMs - a.atMs);
    const end = ends.at(-1);
    const atMs = Math.min(arrivalMs, end?.atMs ?? arrivalMs);
    if (atMs > runMs) break;
    clock.tick(atMs - nowMs);
    nowMs = atMs;
    if (end !== undefined && end.atMs <= arrivalMs) {
      ends.pop();
      got[end.flow] = (got[end.flow] ?? 0) + (flows[end.flow]?.workMs ?? 0) / 1_000;
      queue.finish(end.seating);
    } else {
      const { rate, workMs } = flows[arrival] ?? { rate: 1, workMs: 1 };
      nextMs[arrival] = arrivalMs + workMs / rate;
      arrive(arrival);
    }
  }
  return got;
}

const flow = fc.record({
  rate: fc.integer({ min: 1, max: 60 }).map((tenths) => tenths / 10),
  workMs: fc.integer({ min: 80, max: 500 }),
});

test("the oracle gives the poor all they ask for, and the rest equal shares", () => {
  assert.deepEqual(maxMin([1, 5, 9], 9), [1, 4, 4]);
  assert.deepEqual(maxMin([1, 1], 9), [1, 1]);
  assert.deepEqual(maxMin([4, 0.5], 2), [1.5, 0.5]);
});

test("flows of any demand and any length of work get their max-min shares", () => {
  fc.assert(
    fc.property(
      fc.array(flow, { minLength: 2, maxLength: 7 }),
      fc.integer({ min: 1, max: 6 }),
      (flows, seats) => {
        const got = simulate(flows, seats);
        const shares = maxMin(
          flows.map(({ rate }) => rate),
          seats,
        );
        // What may be under way or wait at the end, and the bound of fair-queue.ts: works of the longest kind.
        const longestSeconds = Math.max(...flows.map(({ workMs }) => workMs)) / 1_000;
        const bound = (2 * seats + flows.length) * longestSeconds;
        for (const [at, share] of shares.entries()) {
          const fair = (share * runMs) / 1_000;
          const difference = Math.abs((got[at] ?? 0) - fair);
          assert.ok(difference <= bound, `flow ${at} got ${got[at]} of ${fair}, bound ${bound}`);
        }
      },
    ),
    { numRuns: 60 },
  );
});
