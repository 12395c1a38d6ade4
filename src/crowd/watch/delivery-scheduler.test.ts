/** When watchers are served, by each of the three policies: the feed's window, turns, the latest state's window. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import type { Cursor } from "./cursor.ts";
import { lookupsPerTurn } from "./judged-portion.ts";
import { type DeliveryPolicy, DeliveryScheduler } from "./delivery-scheduler.ts";
import { Slice } from "./slice.ts";
import { testDelivery } from "./testing/feed.ts";

class World {
  readonly clock = new FakeClock();
  /** `dispatch@4`, `a@4`: what was served, and when. */
  readonly log: string[] = [];
  readonly scheduler: DeliveryScheduler;
  readonly #names = new Map<Slice, string>();
  /** What throws when it is served. */
  broken = "";

  constructor(policy: Partial<DeliveryPolicy>) {
    const deps = {
      clock: this.clock,
      dispatch: () => this.#note("dispatch"),
      serve: (slice: Slice, lookups: number): number => {
        this.#note(this.#names.get(slice) ?? "");
        return this.#judge(slice, lookups);
      },
    };
    this.scheduler = new DeliveryScheduler(deps, { ...testDelivery, ...policy });
  }

  /** A slice of `size` cursors that is behind. */
  slice(name: string, size: number): Slice {
    const slice = new Slice();
    for (let at = 0; at < size; at++) slice.cursors.add({} as Cursor);
    slice.behindAt = 1;
    this.#names.set(slice, name);
    return slice;
  }

  /** As a slice does: what it still has to judge is its selectors' size. */
  #judge(slice: Slice, lookups: number): number {
    const taken = Math.min(lookups, slice.selectorSize);
    slice.selectorSize -= taken;
    if (taken > 0 && slice.selectorSize === 0) slice.behindAt = undefined;
    return taken;
  }

  #note(name: string): void {
    this.log.push(`${name}@${this.clock.monotonicMs()}`);
    if (name === this.broken) throw new Error(name);
  }
}

const gather = { watchersMin: 1_000, windowMs: 4 };
const turns = { cursorsMin: 3, cursorsPerTurn: 2 };

void describe("the feed's window", () => {
  void it("does not hold up few watchers: each request dispatches before it returns", () => {
    const { scheduler, log } = new World({ gather });
    for (let at = 0; at < 3; at++) scheduler.request(999);
    assert.deepEqual(log, ["dispatch@0", "dispatch@0", "dispatch@0"]);
  });

  void it("dispatches to many at once after a quiet window, and later requests together at its end", () => {
    const { scheduler, clock, log } = new World({ gather });
    scheduler.request(1_000);
    assert.deepEqual(log, ["dispatch@0"]);
    clock.tick(1);
    scheduler.request(1_000);
    scheduler.request(1_000);
    clock.tick(100);
    assert.deepEqual(log, ["dispatch@0", "dispatch@4"]);
    scheduler.request(1_000);
    assert.equal(log.at(-1), "dispatch@101");
  });

  void it("begins anew where a dispatch did not wait for it", () => {
    const { scheduler, clock, log } = new World({ gather });
    scheduler.request(1_000);
    clock.tick(1);
    scheduler.request(1_000);
    clock.tick(1);
    scheduler.dispatchNow();
    scheduler.request(1_000);
    clock.tick(100);
    assert.deepEqual(log, ["dispatch@0", "dispatch@2", "dispatch@6"]);
  });

  void it("goes on after a dispatch that threw", () => {
    const world = new World({ gather });
    world.broken = "dispatch";
    assert.throws(() => world.scheduler.request(1_000));
    world.scheduler.request(1_000);
    assert.throws(() => world.clock.tick(4));
    world.broken = "";
    world.scheduler.request(1_000);
    world.clock.tick(100);
    assert.deepEqual(world.log, ["dispatch@0", "dispatch@4", "dispatch@8"]);
  });
});

void describe("turns", () => {
  void it("serve slices in the order in which they began to wait, about `cursorsPerTurn` cursors each", () => {
    const world = new World({ turns });
    const { scheduler, clock, log } = world;
    const [a, b, c, d] = [1, 2, 1, 1].map((size, at) => world.slice("abcd"[at] ?? "", size));
    for (const slice of [a, b, c, d, a]) if (slice !== undefined) scheduler.waitForTurn(slice);
    assert.deepEqual(log, []);
    scheduler.startTurns();
    assert.deepEqual(log, ["a@0", "b@0"]);
    scheduler.startTurns();
    assert.deepEqual(log, ["a@0", "b@0"], "the next turn is scheduled already");
    clock.tick(0);
    assert.deepEqual(log, ["a@0", "b@0", "c@0", "d@0"]);
    assert.equal(scheduler.isCrowd(2, 0), false);
    assert.equal(scheduler.isCrowd(3, 0), true);
    assert.equal(scheduler.isCrowd(1, lookupsPerTurn), false);
    assert.equal(scheduler.isCrowd(1, lookupsPerTurn + 1), true);
  });

  void it("take so many look-ups for selectors, and a slice that needs more is last again", () => {
    const world = new World({ turns: { cursorsMin: 1, cursorsPerTurn: 100 } });
    const { scheduler, clock, log } = world;
    const sizes = { a: 2.5, b: 0.25, c: 0.5 };
    for (const [name, turnsNeeded] of Object.entries(sizes)) {
      const slice = world.slice(name, 1);
      slice.selectorSize = turnsNeeded * lookupsPerTurn;
      scheduler.waitForTurn(slice);
    }
    scheduler.startTurns();
    assert.deepEqual(log, ["a@0"]);
    for (let turn = 0; turn < 3; turn++) clock.tick(0);
    assert.deepEqual(log.join(), "a@0,b@0,c@0,a@0,a@0,a@0");
  });

  void it("go on after a slice that threw", () => {
    const world = new World({ turns });
    for (const name of ["a", "b", "c"]) world.scheduler.waitForTurn(world.slice(name, 2));
    world.scheduler.startTurns();
    world.broken = "b";
    assert.throws(() => world.clock.tick(0));
    world.clock.tick(0);
    assert.deepEqual(world.log, ["a@0", "b@0", "c@0"]);
  });

  void it("take no slice without a position", () => {
    const { scheduler } = new World({ turns, latest: { windowMs: 100 } });
    assert.throws(() => scheduler.waitForTurn(new Slice()), /without a position/);
    assert.throws(() => scheduler.waitForWindow(new Slice()), /without a position/);
  });
});

void describe("the window of watchers of the latest state", () => {
  void it("serves a slice at most once per window, never before the call returns", () => {
    const world = new World({ turns, latest: { windowMs: 100 } });
    const { scheduler, clock, log } = world;
    const slice = world.slice("a", 1);
    scheduler.waitForWindow(slice);
    scheduler.waitForWindow(slice);
    assert.deepEqual(log, []);
    clock.tick(1);
    assert.deepEqual(log, ["a@0"]);
    scheduler.waitForWindow(slice);
    clock.tick(100);
    assert.deepEqual(log, ["a@0", "a@100"]);
  });

  void it("does not add a slice that still waits for its turn: in overload it gets fewer batches", () => {
    const world = new World({ turns, latest: { windowMs: 100 } });
    const { scheduler, log } = world;
    const slow = world.slice("slow", 1);
    scheduler.waitForTurn(slow);
    scheduler.waitForWindow(slow);
    scheduler.startTurns();
    world.clock.tick(1_000);
    assert.deepEqual(log, ["slow@0"]);
  });
});

void it("a closed scheduler serves nothing by a timer", () => {
  const world = new World({ gather, turns, latest: { windowMs: 100 } });
  const { scheduler, clock, log } = world;
  scheduler.request(1_000);
  scheduler.request(1_000);
  for (const name of ["a", "b"]) scheduler.waitForTurn(world.slice(name, 2));
  scheduler.startTurns();
  scheduler.close();
  clock.tick(1_000);
  assert.deepEqual(log, ["dispatch@0", "a@0"]);
  const other = new World({ turns, latest: { windowMs: 100 } });
  other.scheduler.waitForWindow(other.slice("c", 1));
  other.scheduler.close();
  other.clock.tick(1_000);
  assert.deepEqual(other.log, []);
});
