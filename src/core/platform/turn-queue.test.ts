/** Callers that wait begin in the order of what they have used; against a model, with random callers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "./testing/random.ts";
import { Oldest, Rotation, TurnQueue } from "./turn-queue.ts";

/** Runs one begin of `ms`, and @returns its name. */
function runOne(queue: TurnQueue<object>, ran: string[], ms = 1): string | undefined {
  const before = ran.length;
  queue.next()?.();
  queue.used(ms);
  return ran[before];
}

test("callers share the time, whatever one request of theirs takes", () => {
  const queue = new TurnQueue(() => new Rotation());
  const ran: string[] = [];
  for (let at = 0; at < 40; at++) {
    queue.add("long", {}, () => ran.push("long"));
    queue.add("short", {}, () => ran.push("short"));
  }
  for (let at = 0; at < 25; at++) {
    const isLong = queue.next()?.() !== undefined && ran.at(-1) === "long";
    queue.used(isLong ? 4 : 1);
  }
  assert.deepEqual([count(ran, "long"), count(ran, "short")], [5, 20]);
});

test("a pause gives no credit: who comes back does not make up for it", () => {
  const queue = new TurnQueue(() => new Rotation());
  const ran: string[] = [];
  for (let at = 0; at < 30; at++) queue.add("busy", {}, () => ran.push("busy"));
  for (let at = 0; at < 10; at++) runOne(queue, ran);
  for (let at = 0; at < 30; at++) queue.add("late", {}, () => ran.push("late"));
  for (let at = 0; at < 20; at++) runOne(queue, ran);
  assert.deepEqual([count(ran, "busy"), count(ran, "late")], [20, 10]);
});

test("connections of one caller have one begin each in rotation", () => {
  const queue = new TurnQueue(() => new Rotation());
  const ran: string[] = [];
  const [a, b] = [{}, {}];
  for (const name of ["a0", "a1", "a2"]) queue.add("one", a, () => ran.push(name));
  queue.add("one", b, () => ran.push("b0"));
  while (!queue.isEmpty) runOne(queue, ran);
  assert.deepEqual(ran, ["a0", "b0", "a1", "a2"]);
});

test("of requests with an age the oldest goes on until it ends", () => {
  const queue = new TurnQueue(() => new Oldest());
  const ran: string[] = [];
  queue.add("one", 2, () => ran.push("2"));
  queue.add("one", 1, () => ran.push("1"));
  queue.next()?.();
  queue.used(1);
  queue.add("one", 1, () => ran.push("1 again"));
  while (!queue.isEmpty) {
    queue.next()?.();
    queue.used(1);
  }
  assert.deepEqual(ran, ["1", "1 again", "2"]);
});

test("all that is added begins once, and callers that wait no more are forgotten", () => {
  const random = new FakeRandom(Number(process.env["PILOTHOUSE_SEED"] ?? 1));
  const queue = new TurnQueue(() => new Rotation());
  const ran: string[] = [];
  let added = 0;
  for (let step = 0; step < 5_000; step++) {
    const name = `caller-${random.below(3) === 0 ? step : random.below(5)}`;
    const id = `${name} ${added++}`;
    queue.add(name, {}, () => ran.push(id));
    if (random.below(5) > 0) runOne(queue, ran, random.below(4));
  }
  while (!queue.isEmpty) runOne(queue, ran, random.below(4));
  assert.equal(new Set(ran).size, added);
  assert.equal(ran.length, added);
  assert.equal(queue.callers, 0);
});

function count(all: readonly string[], name: string): number {
  return all.filter((one) => one === name).length;
}
