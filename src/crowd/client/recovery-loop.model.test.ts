/**
 * A herd in the process of the API server, as in `up`: one turn of the loop carries all writes that are under way, and
 * a bystander waits for its end, as timers do. Answers are fast as long as few writes are under way, and show little of
 * the waiting time of others.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "#platform/clock.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { RecoveryBudget } from "./recovery-budget.ts";

const limits = { firstPerSecond: 2_000, leastPerSecond: 5, mostPerSecond: 20_000 };
const pods = 10_000;
const askedEveryMs = 50;

/** What was asked for during a turn is done in the next one; a turn takes `eachMs` for each. */
class Loop implements Clock {
  readonly #clock: FakeClock;
  readonly #eachMs: number;
  #asked: ((tookMs: number) => void)[] = [];
  /** Timers that came due during a turn. */
  #late: (() => void)[] = [];
  #isBusy = false;

  constructor(clock: FakeClock, eachMs: number) {
    this.#clock = clock;
    this.#eachMs = eachMs;
  }

  nowMs = (): number => this.#clock.nowMs();
  monotonicMs = (): number => this.#clock.monotonicMs();

  after(...[name, delayMs, f]: Parameters<Clock["after"]>): ReturnType<Clock["after"]> {
    return this.#clock.after(name, delayMs, () => {
      if (this.#isBusy) this.#late.push(f);
      else f();
    });
  }

  /** Calls back with the time from the request to the end of its turn. */
  ask(answered: (tookMs: number) => void): void {
    const sinceMs = this.monotonicMs();
    this.#asked.push(() => answered(this.monotonicMs() - sinceMs));
    if (!this.#isBusy) this.#turn();
  }

  #turn(): void {
    const turn = this.#asked;
    this.#asked = [];
    this.#isBusy = turn.length > 0;
    if (!this.#isBusy) return;
    this.#clock.after("sim.step", turn.length * this.#eachMs, () => {
      for (const done of turn) done(0);
      for (const f of this.#late.splice(0)) f();
      this.#turn();
    });
  }
}

interface Outcome {
  readonly p99Ms: number;
  readonly calmMs: number;
}

async function herd(eachMs: number, sharesLoop: boolean | undefined): Promise<Outcome> {
  const clock = new FakeClock();
  const loop = new Loop(clock, eachMs);
  const budget = new RecoveryBudget(loop, { limits, sharesLoop: sharesLoop === true });
  let created = 0;
  const create = (): void =>
    loop.ask((tookMs) => {
      created++;
      budget.answered("create", tookMs, false);
    });
  for (let pod = 0; pod < pods; pod++) {
    const grant = sharesLoop === undefined ? undefined : budget.take("create", `n${pod % 10}`);
    if (grant === undefined) create();
    else void grant.then(create);
  }
  const asked: number[] = [];
  let calmMs = 0;
  for (; created < pods; calmMs += askedEveryMs) {
    loop.ask((tookMs) => asked.push(tookMs));
    await clock.advance(askedEveryMs);
  }
  asked.sort((a, b) => a - b);
  return { p99Ms: asked[Math.floor((asked.length - 1) * 0.99)] ?? 0, calmMs };
}

for (const eachMs of [1, 2, 4]) {
  test(`with ${eachMs} ms of the loop a pod, a bystander waits less where the lag counts, and the herd is as soon through`, async (t) => {
    const free = await herd(eachMs, undefined);
    const deaf = await herd(eachMs, false);
    const paced = await herd(eachMs, true);
    const text = ({ p99Ms, calmMs }: Outcome): string =>
      `${Math.round(p99Ms)} ms, ${(calmMs / 1_000).toFixed(1)} s`;
    t.diagnostic(
      `bystander's p99, last pod: ${text(free)} without a budget; ${text(deaf)} by answers alone; ${text(paced)} with the lag`,
    );
    assert.ok(paced.p99Ms < deaf.p99Ms * 0.8, `${paced.p99Ms} ms of ${deaf.p99Ms}`);
    assert.ok(paced.calmMs < deaf.calmMs * 1.1, `${paced.calmMs} ms of ${deaf.calmMs}`);
  });
}
