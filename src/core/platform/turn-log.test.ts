/** A long turn is blamed on the request and the stage that took most of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type LongTurn, TurnLog } from "./turn-log.ts";

function logged(): {
  readonly reports: LongTurn<string>[];
  readonly turns: TurnLog<string>;
  readonly pass: (ms: number, cpuMs?: number) => void;
  readonly settle: () => void;
} {
  let ms = 0;
  let cpuMs = 0;
  let settled: (() => void)[] = [];
  const pass = (more: number, cpuMore = more): void => {
    ms += more;
    cpuMs += cpuMore;
  };
  const reports: LongTurn<string>[] = [];
  const times = {
    nowMs: () => ms,
    cpuMs: () => cpuMs,
    settled: (f: () => void) => void settled.push(f),
  };
  const settle = (): void => {
    const due = settled;
    settled = [];
    for (const f of due) f();
  };
  const turns = new TurnLog<string>(times, (turn) => reports.push(turn));
  return { reports, turns, pass, settle };
}

test("the longest span of a long run is reported, with the time of the whole run", () => {
  const { reports, turns, pass, settle } = logged();
  turns.mark("alice", "authentication");
  pass(5);
  turns.mark("alice", "handler");
  pass(18);
  turns.mark("bob", "authentication");
  pass(2);
  settle();
  assert.deepEqual(reports, [{ request: "alice", stage: "handler", ms: 25 }]);
});

test("a short run is none, nor is the time between two of them", () => {
  const { reports, turns, pass, settle } = logged();
  turns.mark("alice", "handler");
  pass(20);
  settle();
  pass(1_000);
  turns.mark("alice", "answer");
  pass(1);
  settle();
  assert.deepEqual(reports, []);
});

test("the stage that is still open when all is settled counts", () => {
  const { reports, turns, pass, settle } = logged();
  turns.mark("alice", "authentication");
  turns.mark("alice", "answer");
  pass(30);
  settle();
  assert.equal(reports[0]?.stage, "answer");
});

test("time in which others had the processor is no time of a request", () => {
  const { reports, turns, pass, settle } = logged();
  turns.mark("alice", "handler");
  pass(500, 19);
  settle();
  turns.mark("alice", "handler");
  pass(500, 21);
  settle();
  assert.deepEqual(reports, [{ request: "alice", stage: "handler", ms: 21 }]);
});

test("many short spans of one run are nobody's alone", () => {
  const { reports, turns, pass, settle } = logged();
  for (let index = 0; index < 30; index++) {
    turns.mark(`caller${index}`, "answer");
    pass(1);
  }
  settle();
  assert.deepEqual(reports, [{ request: undefined, stage: "many", ms: 30 }]);
});
