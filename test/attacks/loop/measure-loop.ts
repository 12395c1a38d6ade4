/**
 * Loaded into the measured process before its program (`--import`): measures how long its main loop
 * stands still.
 *
 * How    an interval of `tickMs` notes, at each tick, what passed since the tick before: on the wall and
 *        as CPU time of the main thread. One callback that holds the loop is one gap between two ticks.
 *        The wall's figure counts what other processes took; the verdict uses the CPU's.
 *        Of the largest gap it says as well what was collection, by the host's own marks: what is left is the
 *        requests' code.
 * Asks   over IPC: `reset` forgets the largest gaps, `read` answers them. Both are answered after two
 *        more ticks, so that the gap that a late callback made is counted.
 */
import { PerformanceObserver } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";
import type { HeldAnswer, HeldQuestion } from "./held.ts";

const tickMs = 2;
/** Marks kept: some minutes of scavenges. */
const collectionsMax = 4_096;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

// A worker thread inherits the flag; its loop is not measured.
if (isMainThread && process.send !== undefined) start();

function start(): void {
  let lastWallMs = performance.now();
  let lastCpuMs = mainCpuMs();
  let heldCpuMs = 0;
  let heldWallMs = 0;
  let longest = { fromMs: 0, toMs: 0 };
  let collections: Span[] = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      collections.push({ fromMs: startTime, toMs: startTime + duration });
    }
    collections = collections.slice(-collectionsMax);
  }).observe({ entryTypes: ["gc"] });
  let waiting: { readonly question: HeldQuestion; ticks: number }[] = [];
  const tick = (): void => {
    const wallMs = performance.now();
    const cpuMs = mainCpuMs();
    if (cpuMs - lastCpuMs > heldCpuMs) {
      heldCpuMs = cpuMs - lastCpuMs;
      longest = { fromMs: lastWallMs, toMs: wallMs };
    }
    heldWallMs = Math.max(heldWallMs, wallMs - lastWallMs - tickMs);
    lastWallMs = wallMs;
    lastCpuMs = cpuMs;
    if (waiting.length > 0) waiting = waiting.filter(isWaiting);
  };
  const isWaiting = (asked: (typeof waiting)[number]): boolean => {
    if (asked.ticks-- > 0) return true;
    const collectionMs = collections.reduce((sum, one) => sum + shared(one, longest), 0);
    const answer = { heldAsked: asked.question.id, heldCpuMs, heldWallMs, collectionMs };
    process.send?.(answer satisfies HeldAnswer);
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

function shared(a: Span, b: Span): number {
  return Math.max(0, Math.min(a.toMs, b.toMs) - Math.max(a.fromMs, b.fromMs));
}

function mainCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
