/** Seats of answers on their way, at a real gate: a crowd of readers that take nothing, or a little, harms nobody for long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createGate, gateDefaults } from "#flowcontrol/gate.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { LingeringSeat } from "./lingering-seat.ts";
import { requestInfo } from "./request-info.ts";

const readers = 1_000;
/** A reader that takes nothing is cut then (`stallMs` of the rim). */
const cutMs = 30_000;
const query = new URLSearchParams();
const signal = new AbortController().signal;

/** Of a priority level beside workload-low. */
const otherLevel = "system:authenticated";
const sameLevel = "system:serviceaccounts";

interface Crowd {
  /** A part is taken with each step; else nothing is. */
  readonly moves: boolean;
  /** Each reader is a user of its own; else all are one. */
  readonly isMany: boolean;
  /** Of the quiet user; readers are of workload-low. */
  readonly quietGroup: string;
}

/** Each reader asks for a list of ten seats. */
async function crowded({ moves, isMany, quietGroup }: Crowd) {
  const clock = new FakeClock();
  const load = { objects: () => 10_000, bytesPerObject: () => 2_500 };
  const gate = createGate({ clock, load }, gateDefaults);
  const enter = (name: string, path: string, group = sameLevel) => {
    const user = { name: `system:serviceaccount:green:${name}`, groups: [group] };
    return gate.enter({ info: requestInfo("GET", path, query), user, query, signal });
  };
  const onTheWay: { seat: LingeringSeat; untilMs: number }[] = [];
  const read = async (name: string): Promise<void> => {
    const answer = await enter(name, "/api/v1/pods");
    if (answer.kind === "rejected") return;
    if (!answer.linger()) return answer.release();
    const startMs = clock.monotonicMs();
    const seat = new LingeringSeat(clock, answer, startMs + 60_000);
    onTheWay.push({ seat, untilMs: startMs + (moves ? 120_000 : cutMs) });
  };
  for (let at = 0; at < readers; at++) void read(isMany ? `slow-${at}` : "slow");
  const quiet = { longestMs: 0, served: 0, refused: 0 };
  const ask = async (): Promise<void> => {
    const startMs = clock.monotonicMs();
    const answer = await enter("quiet", "/api/v1/namespaces/green/pods/one", quietGroup);
    quiet.longestMs = Math.max(quiet.longestMs, clock.monotonicMs() - startMs);
    if (answer.kind === "rejected") quiet.refused++;
    else {
      quiet.served++;
      answer.release();
    }
  };
  const step = async (ms: number): Promise<void> => {
    if (moves) for (const { seat } of onTheWay) seat.moved();
    await clock.advance(ms);
    await settle();
    for (const { seat, untilMs } of onTheWay) if (clock.monotonicMs() >= untilMs) seat.left();
  };
  const level = () => gate.levels().find(({ name }) => name === "workload-low");
  return { clock, gate, quiet, ask, step, level };
}

const crowds: readonly (readonly [name: string, crowd: Crowd])[] = [
  [
    "one user's thousand readers that stand still do not keep a quiet user of their level waiting",
    { moves: false, isMany: false, quietGroup: sameLevel },
  ],
  ["nor do those that take a little", { moves: true, isMany: false, quietGroup: sameLevel }],
  [
    "a thousand users that stand still have nothing of another level",
    { moves: false, isMany: true, quietGroup: otherLevel },
  ],
  ["nor have those that take a little", { moves: true, isMany: true, quietGroup: otherLevel }],
];

for (const [name, crowd] of crowds) {
  test(`${name}; their level is free again when their time is over`, async () => {
    const { gate, quiet, ask, step, level } = await crowded(crowd);
    for (let elapsedMs = 0; elapsedMs < 200_000; elapsedMs += 400) {
      void ask();
      await step(400);
    }
    assert.deepEqual([quiet.served, quiet.refused], [500, 0]);
    assert.ok(quiet.longestMs <= 500, `${quiet.longestMs} ms`);
    assert.deepEqual([level()?.seatsInUse, level()?.requestsWaiting], [0, 0]);
    gate.close();
  });
}
