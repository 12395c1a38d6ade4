/** The turns of this process's loop: there is one, for all its listeners. */
import { createHook } from "node:async_hooks";
import type { TurnTimes } from "../../turn-log.ts";
import { BodyTurns } from "./body-turns.ts";
import { Http2Reading } from "./http2-reading.ts";
import { RimTurns, type TurnHost } from "./rim-turns.ts";

const now = Promise.resolve();

/** Node runs ticks that a microtask asked for when no microtask is left; a promise is cheaper than its queueMicrotask. */
export const nodeTurnHost: TurnHost & TurnTimes = {
  nowMs: () => performance.now(),
  cpuMs: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
  nextTurn: (f) => void setImmediate(f),
  settled: (f) => now.then(() => process.nextTick(f)),
};

/** A bystander's requests, among those of attackers, are to be answered within 20 ms. */
const turnMs = 4;

export const processTurns = new RimTurns(nodeTurnHost, { turnMs });

/** Of the loops that run in a plane's process: calls without a socket. Apart, so that neither waits for the other's. */
export const loopTurns = new RimTurns(nodeTurnHost, { turnMs });

/** With one piece of a connection, some 25 ms at the worst, below 50. */
const readMs = 5;

export const processReading = new Http2Reading(nodeTurnHost, { readMs });

const headBegins = createHook({
  init(_id, type) {
    if (type === "HTTP2STREAM") processReading.head();
  },
  // Else each promise would cost a call.
  trackPromises: false,
});

/** For a process that serves HTTP/2: of a head that Node will reset nothing else tells. Idempotent. */
export function noticeHeads(): void {
  headBegins.enable();
}

/** Some 1 ms over TLS, and as much again for those that go on. */
const turnBytes = 512 * 1024;
/** Some 30 us, hence 64 pieces in a turn, however small they are. */
const pieceBytesMin = 8 * 1024;

export const processBodies = new BodyTurns(nodeTurnHost, {
  turnBytes,
  pieceBytesMin,
  atOnceMin: 8,
});
