/**
 * A herd before a server of a known capacity: how long a bystander's request waits with the budget, and without it.
 * The server takes one write after the other, each for the same time, as one queue.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { RecoveryBudget } from "./recovery-budget.ts";

const limits = { firstPerSecond: 2_000, leastPerSecond: 5, mostPerSecond: 20_000 };

interface Herd {
  readonly pods: number;
  /** Writes a second that the server takes. */
  readonly capacity: number;
  readonly isPaced: boolean;
}

interface Outcome {
  readonly worstMs: number;
  readonly p99Ms: number;
  /** Until the last pod was created. */
  readonly calmMs: number;
}

class Server {
  readonly #clock: FakeClock;
  readonly #perMs: number;
  #busyUntilMs = 0;

  constructor(clock: FakeClock, capacity: number) {
    this.#clock = clock;
    this.#perMs = 1_000 / capacity;
  }

  /** Calls back with the time that the request took. */
  send(answered: (tookMs: number) => void): void {
    const nowMs = this.#clock.monotonicMs();
    this.#busyUntilMs = Math.max(nowMs, this.#busyUntilMs) + this.#perMs;
    const tookMs = this.#busyUntilMs - nowMs;
    this.#clock.after("sim.step", tookMs, () => answered(tookMs));
  }
}

async function run({ pods, capacity, isPaced }: Herd): Promise<Outcome> {
  const clock = new FakeClock();
  const server = new Server(clock, capacity);
  const budget = new RecoveryBudget(clock, { limits });
  let created = 0;
  const create = (): void =>
    server.send((tookMs) => {
      created++;
      budget.answered("create", tookMs, false);
    });
  for (let pod = 0; pod < pods; pod++) {
    const grant = isPaced ? budget.take("create", `n${pod % 10}`) : undefined;
    if (grant === undefined) create();
    else void grant.then(create);
  }
  const bystander: number[] = [];
  let atMs = 0;
  for (; created < pods; atMs += 50) {
    server.send((tookMs) => bystander.push(tookMs));
    await clock.advance(50);
  }
  await clock.advance((pods / capacity) * 2_000);
  bystander.sort((a, b) => a - b);
  const at = (share: number): number => bystander[Math.floor((bystander.length - 1) * share)] ?? 0;
  return { worstMs: at(1), p99Ms: at(0.99), calmMs: atMs };
}

for (const capacity of [300, 1_000, 3_000]) {
  test(`before a server of ${capacity} writes a second a bystander waits less than 2 s, not for the herd`, async (t) => {
    const herd = { pods: 10_000, capacity };
    const paced = await run({ ...herd, isPaced: true });
    const free = await run({ ...herd, isPaced: false });
    t.diagnostic(
      `bystander's worst ${Math.round(free.worstMs)} ms without, ${Math.round(paced.worstMs)} with`,
    );
    t.diagnostic(`last pod after ${free.calmMs} ms without, ${paced.calmMs} with`);
    assert.ok(free.worstMs > (herd.pods / capacity) * 900, `without: ${free.worstMs} ms`);
    assert.ok(paced.worstMs < 2_000, `with: ${paced.worstMs} ms`);
    assert.ok(paced.calmMs < free.calmMs * 2, `${paced.calmMs} ms of ${free.calmMs}`);
  });
}
