/**
 * How long the heads of HTTP/2 connections are read in one turn of the loop. Node reads all connections that are
 * ready, up to 2 MiB each, before anything else runs; a byte of it may be a whole field (HPACK, RFC 7541). After
 * `readMs` of a turn nothing more is read until the next one, which begins with timers and answers. With many
 * connections it is later, by `readMsPerConnection` each.
 *
 *   head begins, is read ──(time left)──► on
 *           └──(none)──► all stop ──(next turn)──► those that gave little go on, of the others one a turn
 *
 * Holds  a turn reads for that time and one piece of one connection (64 KiB at most) that was begun before. Heads that Node
 *        resets itself, as they have more fields or bytes than its own limits, count too: each is heard of as it begins.
 * Holds  a connection that was stopped in the middle of much does not keep those waiting that were not.
 * Holds  a connection gives one head beyond the limit per turn, which is answered; at the next one it is ended.
 * Cost   where a turn is longer: 2.2 us for each connection that is open.
 */
import { constants, type ServerHttp2Session } from "node:http2";

/** Twice the cost, so that a crowd of honest clients loses a third of its time to it at most. */
const readMsPerConnection = 0.005;

/** Of two turns that were stopped: what was read between them is what a connection gave. */
const busyMs = 100;
/** Given by then: more than some requests have, less than one read of a connection. */
const muchBytes = 16 * 1024;

/** Turns in a row in which those that gave little may fill their time, before one of the others goes on. */
const stopsMax = 4;

/** Node's handle of a connection. */
interface Reading {
  readonly bytesRead: number;
  readStop(): unknown;
  readStart(): unknown;
}

interface ReadingHost {
  nowMs(): number;
  /** In the next turn of the loop. */
  nextTurn(f: () => void): void;
}

export class Http2Reading {
  readonly #host: ReadingHost;
  readonly #readMs: number;
  /** Of all that are open, with the bytes that had been read of each when all stopped last. */
  readonly #readings = new Map<ServerHttp2Session, { readonly handle: Reading; bytes: number }>();
  /** That gave much in a turn that was stopped, and are not read. */
  readonly #waiting = new Set<ServerHttp2Session>();
  #isStopped = false;
  #isArmed = false;
  /** Turns in a row that were stopped. */
  #stops = 0;
  /** When all were stopped last: what was read since a stop long ago says nothing. */
  #stoppedMs = Number.NEGATIVE_INFINITY;
  readonly #tooLarge = new WeakSet<ServerHttp2Session>();
  /** Of the turn in which a head was read; undefined: none was. */
  #startedMs: number | undefined;

  constructor(host: ReadingHost, { readMs }: { readonly readMs: number }) {
    this.#host = host;
    this.#readMs = readMs;
  }

  add(session: ServerHttp2Session): void {
    const handle = handleOf(session);
    if (handle === undefined) return;
    this.#readings.set(session, { handle, bytes: handle.bytesRead });
    session.once("close", () => {
      this.#readings.delete(session);
      this.#waiting.delete(session);
    });
  }

  /** To be called when a head begins, and when one has been read, before anything is made of it. */
  head(): void {
    const nowMs = this.#host.nowMs();
    this.#startedMs ??= nowMs;
    this.#arm();
    const mostMs = this.#readMs + readMsPerConnection * this.#readings.size;
    if (nowMs - this.#startedMs >= mostMs && !this.#isStopped) this.#stop();
  }

  /** Of a head beyond the limit: whether it is answered; else its connection has been ended. */
  mayAnswerTooLarge(session: ServerHttp2Session): boolean {
    if (session.destroyed) return false;
    if (this.#tooLarge.has(session)) {
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return false;
    }
    this.#tooLarge.add(session);
    this.#host.nextTurn(() => this.#tooLarge.delete(session));
    return true;
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#host.nextTurn(this.#turnEnds);
  }

  #stop(): void {
    this.#isStopped = true;
    for (const { handle } of this.#readings.values()) handle.readStop();
  }

  readonly #turnEnds = (): void => {
    this.#isArmed = false;
    this.#startedMs = undefined;
    if (this.#isStopped) {
      this.#goOn();
      this.#stops++;
    } else this.#stops = 0;
    // One that gives much fills a turn: the others have one of their own first.
    if (this.#stops % stopsMax === 0) this.#goOnWaiting();
    if (this.#waiting.size > 0) this.#arm();
  };

  /** Those that are closing answer with an error code. */
  #goOn(): void {
    this.#isStopped = false;
    const nowMs = this.#host.nowMs();
    const isBusy = nowMs - this.#stoppedMs < busyMs;
    this.#stoppedMs = nowMs;
    for (const [session, reading] of this.#readings) {
      const { bytesRead } = reading.handle;
      if (isBusy && bytesRead - reading.bytes >= muchBytes) this.#waiting.add(session);
      if (!this.#waiting.has(session)) reading.handle.readStart();
      reading.bytes = bytesRead;
    }
  }

  #goOnWaiting(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    this.#readings.get(first)?.handle.readStart();
  }
}

/** Node has no other way: `pause` of a session's socket throws. Undefined: it has closed already. */
function handleOf(session: ServerHttp2Session): Reading | undefined {
  if (session.destroyed) return undefined;
  const socket = session.socket as unknown as { _handle?: Reading | null } | undefined;
  return socket?._handle ?? undefined;
}
