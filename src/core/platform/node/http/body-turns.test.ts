/** Bodies are read on for some bytes a turn, by caller. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyTurns } from "./body-turns.ts";

class Loop {
  #next: (() => void)[] = [];
  nextTurn(f: () => void): void {
    this.#next.push(f);
  }
  get isIdle(): boolean {
    return this.#next.length === 0;
  }
  async turn(): Promise<void> {
    const due = this.#next;
    this.#next = [];
    for (const f of due) f();
    await Promise.resolve();
  }
}

function setUp() {
  const loop = new Loop();
  const turns = new BodyTurns(loop, { turnBytes: 100, pieceBytesMin: 10, atOnceMin: 2 });
  const gone: string[] = [];
  const give = (name: string, caller: string, bytes: number): boolean => {
    const turn = turns.piece({}, caller, bytes);
    void turn?.then(() => gone.push(name));
    return turn === undefined;
  };
  const of = (count: number, caller: string, bytes: number): void => {
    for (let at = 0; at < count; at++) give(`${caller}${at}`, caller, bytes);
  };
  const wentOn = (): readonly string[] => gone.splice(0);
  return { loop, give, of, wentOn };
}

test("what fits into a turn is read on", async () => {
  const { loop, give } = setUp();
  assert.ok(give("a", "ann", 60));
  assert.ok(!give("b", "ann", 40));
  await loop.turn();
  assert.ok(give("a", "ann", 60));
  await loop.turn();
  assert.ok(loop.isIdle);
});

test("those that wait go on a few a turn while they fill it, and twice as many while they do not", async () => {
  const { loop, of, give, wentOn } = setUp();
  of(40, "ann", 100);
  await loop.turn();
  assert.equal(wentOn().length, 2);
  give("more", "ann", 100);
  await loop.turn();
  assert.equal(wentOn().length, 2);
  for (const count of [4, 8, 16]) {
    give("little", "ann", 10);
    await loop.turn();
    assert.equal(wentOn().length, count);
  }
  await loop.turn();
  assert.equal(wentOn().length, 9);
  assert.ok(loop.isIdle, "nothing turns when nothing waits");
});

test("a caller with one body does not wait for one with hundreds", async () => {
  const { loop, of, wentOn } = setUp();
  of(100, "greedy", 100);
  await loop.turn();
  wentOn();
  of(1, "quiet", 100);
  await loop.turn();
  assert.ok(wentOn().includes("quiet0"));
});

test("pieces of a byte fill a turn by their number", async () => {
  const { loop, give, of, wentOn } = setUp();
  of(9, "ann", 1);
  assert.ok(!give("tenth", "ann", 1));
  of(40, "ann", 1);
  await loop.turn();
  assert.equal(wentOn().length, 2);
});
