/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { serverBusy } from "./server-busy.ts";

function used(seconds: number, cores: number | undefined): string {
  const told = cores === undefined ? "" : `go_sched_gomaxprocs_threads ${cores}\n`;
  return `process_cpu_seconds_total ${seconds}\n${told}apiserver_response_sizes_sum{verb="LIST",group="",resource="pods"} ${seconds}\n`;
}

test("a server that uses all of its processors names what it sends the most of", () => {
  const [verdict] = serverBusy.judge(sampled(used(100, 4), used(103.9, 4)));
  assert.equal(verdict?.culprit, "LIST of pods, the most bytes sent");
});

test("a server with room, and one that does not tell its processors, are well", () => {
  assert.deepEqual(serverBusy.judge(sampled(used(100, 4), used(103, 4))), []);
  assert.deepEqual(serverBusy.judge(sampled(used(100, undefined), used(109, undefined))), []);
});

test("a server of ours whose event loop never waits is busy; one that waits is not, whatever its other threads use", () => {
  const loop = (busy: number, cpu: number): string =>
    `${used(cpu, undefined)}nodejs_eventloop_busy_seconds_total ${busy}\n`;
  const [verdict] = serverBusy.judge(sampled(loop(100, 100), loop(100.95, 101)));
  assert.match(verdict?.sentence ?? "", /event loop is busy 95 % of the time/);
  assert.deepEqual(serverBusy.judge(sampled(loop(100, 100), loop(100.5, 101.9))), []);
});
