/**
 * Loaded into the measured process before its program (`--import`): measures how long its main loop
 * stands still.
 *
 * How    an interval of `tickMs` notes, at each tick, what passed since the tick before: on the wall and
 *        as CPU time of the main thread. One callback that holds the loop is one gap between two ticks.
 *        The wall's figure counts what other processes took; the verdict uses the CPU's.
 * Asks   over IPC: `reset` forgets the largest gaps, `read` answers them. Both are answered after two
 *        more ticks, so that the gap that a late callback made is counted.
 */
import { isMainThread } from "node:worker_threads";
import type { HeldAnswer, HeldQuestion } from "./held.ts";

const tickMs = 2;

// A worker thread inherits the flag; its loop is not measured.
if (isMainThread && process.send !== undefined) start();

function start(): void {
  let lastWallMs = performance.now();
  let lastCpuMs = mainCpuMs();
  let heldCpuMs = 0;
  let heldWallMs = 0;
  let waiting: { readonly question: HeldQuestion; ticks: number }[] = [];
  const tick = (): void => {
    const wallMs = performance.now();
    const cpuMs = mainCpuMs();
    heldCpuMs = Math.max(heldCpuMs, cpuMs - lastCpuMs);
    heldWallMs = Math.max(heldWallMs, wallMs - lastWallMs - tickMs);
    lastWallMs = wallMs;
    lastCpuMs = cpuMs;
    if (waiting.length > 0) waiting = waiting.filter(isWaiting);
  };
  const isWaiting = (asked: (typeof waiting)[number]): boolean => {
    if (asked.ticks-- > 0) return true;
    const answer: HeldAnswer = { heldAsked: asked.question.id, heldCpuMs, heldWallMs };
    process.send?.(answer);
    if (asked.question.held === "reset") heldCpuMs = heldWallMs = 0;
    return false;
  };
  setInterval(tick, tickMs).unref();
  process.on("message", (question: HeldQuestion) => {
    if (question.held === "reset" || question.held === "read") waiting.push({ question, ticks: 2 });
  });
  // The channel alone must not keep the process.
  process.channel?.unref();
}

function mainCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
