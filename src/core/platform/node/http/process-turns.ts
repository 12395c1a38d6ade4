/** The turns of this process's event loop, which all its listeners share. */
import { createHook } from "node:async_hooks";
import type { TurnTimes } from "../../turn-log.ts";
import { BodyTurns } from "./body-turns.ts";
import { Http2Reading } from "./http2-reading.ts";
import { RimTurns, type TurnHost } from "./rim-turns.ts";

const now = Promise.resolve();

/** Node runs ticks requested in a microtask after the last microtask; a promise is cheaper than queueMicrotask. */
export const nodeTurnHost: TurnHost & TurnTimes = {
  nowMs: () => performance.now(),
  cpuMs: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
  nextTurn: (f) => void setImmediate(f),
  settled: (f) => now.then(() => process.nextTick(f)),
};

/** Time of requests in a turn: requests of an uninvolved client during an attack are to be answered within 20 ms. */
const turnMs = 4;

export const processTurns = new RimTurns(nodeTurnHost, { turnMs });

/** Turns of calls without a socket, by loops in a plane's process. Separate, so that neither kind waits for the other. */
export const loopTurns = new RimTurns(nodeTurnHost, { turnMs });

/** With one more piece of a connection, a turn's reading takes some 25 ms at the worst, below 50. */
const readMs = 5;

export const processReading = new Http2Reading(nodeTurnHost, { readMs });

const headBegins = createHook({
  init(_id, type) {
    if (type === "HTTP2STREAM") processReading.head();
  },
  // Otherwise each promise would cost a call.
  trackPromises: false,
});

/** Call it in a process that serves HTTP/2: only this hook notices a head that Node will reset. Idempotent. */
export function noticeHeads(): void {
  headBegins.enable();
}

/** Reading this takes some 1 ms over TLS, and as much again for the bodies that go on. */
const turnBytes = 512 * 1024;
/** A piece costs some 30 us, hence at most 64 pieces are read in a turn, however small they are. */
const pieceBytesMin = 8 * 1024;

export const processBodies = new BodyTurns(nodeTurnHost, {
  turnBytes,
  pieceBytesMin,
  atOnceMin: 8,
});
