/** Requests that come together begin in rotation, some milliseconds of them per turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RimTurns, type TurnHost } from "./rim-turns.ts";

/** A loop whose time passes when a request works. */
class Loop implements TurnHost {
  ms = 0;
  /** Names of those that began, by turn. */
  readonly turns: string[][] = [[]];
  #next: (() => void)[] = [];
  #settled: (() => void)[] = [];

  nowMs(): number {
    return this.ms;
  }

  nextTurn(f: () => void): void {
    this.#next.push(f);
  }

  settled(f: () => void): void {
    this.#settled.push(f);
  }

  async run(): Promise<void> {
    for (;;) {
      await this.#settle();
      const due = this.#next;
      if (due.length === 0) return;
      this.#next = [];
      this.turns.push([]);
      for (const f of due) f();
    }
  }

  async #settle(): Promise<void> {
    for (;;) {
      for (let hops = 0; hops < 5; hops++) await Promise.resolve();
      const due = this.#settled.shift();
      if (due === undefined) return;
      due();
    }
  }
}

function rim(turnMs: number): {
  readonly loop: Loop;
  readonly turns: RimTurns;
  readonly come: (connection: object, name: string, ms: number, caller?: string) => void;
} {
  const loop = new Loop();
  const turns = new RimTurns(loop, { turnMs });
  const begin = (name: string, ms: number): void => {
    loop.turns.at(-1)?.push(name);
    loop.ms += ms;
  };
  return {
    loop,
    turns,
    come(connection, name, ms, caller = "one") {
      const wait = turns.enter(connection, caller);
      if (wait === undefined) begin(name, ms);
      else void wait.then(() => begin(name, ms));
    },
  };
}

test("a request alone begins at once", () => {
  const { loop, come } = rim(4);
  come({}, "a", 1);
  assert.deepEqual(loop.turns, [["a"]]);
});

test("those of one read begin in order, until the turn's time is used, then in later turns", async () => {
  const { loop, come } = rim(4);
  const connection = {};
  for (let index = 0; index < 7; index++) come(connection, `a${index}`, 2);
  await loop.run();
  assert.deepEqual(
    loop.turns.filter((turn) => turn.length > 0),
    [["a0", "a1"], ["a2", "a3"], ["a4", "a5"], ["a6"]],
  );
});

test("a connection with one request does not wait for another with hundreds", async () => {
  const { loop, come } = rim(4);
  const greedy = {};
  for (let index = 0; index < 300; index++) come(greedy, `g${index}`, 1);
  come({}, "quiet", 1);
  await loop.run();
  assert.deepEqual(loop.turns[0], ["g0", "g1", "quiet", "g2"]);
  assert.equal(loop.turns.flat().length, 301);
});

test("a caller who was quiet goes before those who have used the loop, of however many connections", async () => {
  const { loop, come } = rim(4);
  for (let index = 0; index < 400; index++) come({}, `g${index}`, 3, "greedy");
  const connection = {};
  loop.nextTurn(() => come(connection, "q0", 1, "quiet"));
  loop.nextTurn(() => loop.nextTurn(() => come(connection, "q1", 1, "quiet")));
  await loop.run();
  const order = loop.turns.flat();
  assert.ok(order.indexOf("q0") <= 4, order.slice(0, 10).join());
  assert.ok(order.indexOf("q1") <= 8, order.slice(0, 10).join());
  assert.equal(order.length, 402);
});

test("a turn is longer than its time by one request at most", async () => {
  const { loop, come } = rim(4);
  for (let index = 0; index < 100; index++) come({}, `c${index}`, 3);
  await loop.run();
  assert.ok(loop.turns.every((turn) => turn.length <= 2));
  assert.equal(loop.turns.flat().length, 100);
});

test("what comes after the turn's time, from another read of it, waits as well", async () => {
  const { loop, come } = rim(4);
  come({}, "slow", 10);
  await Promise.resolve();
  come({}, "later", 1);
  assert.deepEqual(loop.turns, [["slow"]]);
  await loop.run();
  assert.deepEqual(loop.turns.flat(), ["slow", "later"]);
  assert.ok(!loop.turns[0]?.includes("later"));
});

test("what is done once for the requests of a turn waits for the last one that begins in it", async () => {
  const { loop, turns, come } = rim(4);
  const done = (name: string) => (): void => void loop.turns.at(-1)?.push(name);
  turns.whenBegun(done("nobody runs"));
  const connection = {};
  come(connection, "a", 1);
  turns.whenBegun(done("commit"));
  come(connection, "b", 1);
  come(connection, "c", 3);
  come(connection, "d", 1);
  assert.deepEqual(loop.turns, [["nobody runs", "a"]]);
  await loop.run();
  assert.deepEqual(
    loop.turns.filter((turn) => turn.length > 0),
    [["nobody runs", "a", "b", "c", "commit"], ["d"]],
  );
});
