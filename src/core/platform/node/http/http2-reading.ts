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

/** Twice the cost of stopping, so that with many honest clients at most a third of the time is lost to it. */
const readMsPerConnection = 0.005;

/** Maximum time between two stopped turns: bytes read between them measure how much a connection sends. */
const busyMs = 100;
/** Bytes in that time from which on a connection counts as heavy: more than some requests, less than one read. */
const muchBytes = 16 * 1024;

/** Number of turns in a row that light connections may fill before one of the heavy ones goes on. */
const stopsMax = 4;

/** Node's handle of a connection, which can stop reading. */
interface Reading {
  readonly bytesRead: number;
  readStop(): unknown;
  readStart(): unknown;
}

interface ReadingHost {
  nowMs(): number;
  /** Calls `f` in the next turn of the loop. */
  nextTurn(f: () => void): void;
}

export class Http2Reading {
  readonly #host: ReadingHost;
  readonly #readMs: number;
  /** All open connections, with the number of bytes read from each at the last stop. */
  readonly #readings = new Map<ServerHttp2Session, { readonly handle: Reading; bytes: number }>();
  /** Connections that sent much in a stopped turn, and are not read for now. */
  readonly #waiting = new Set<ServerHttp2Session>();
  #isStopped = false;
  #isArmed = false;
  /** Number of turns in a row that were stopped. */
  #stops = 0;
  /** Time of the last stop. Bytes read since a stop long ago do not measure how much a connection sends. */
  #stoppedMs = Number.NEGATIVE_INFINITY;
  readonly #tooLarge = new WeakSet<ServerHttp2Session>();
  /** Start of the turn in which a head was read. Undefined: no head was read in this turn. */
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

  /** Call it when a head begins, and when a head has been read, before the request is made. */
  head(): void {
    const nowMs = this.#host.nowMs();
    this.#startedMs ??= nowMs;
    this.#arm();
    const mostMs = this.#readMs + readMsPerConnection * this.#readings.size;
    if (nowMs - this.#startedMs >= mostMs && !this.#isStopped) this.#stop();
  }

  /** Whether a head beyond the limit is answered. False: its connection has been ended. */
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
    // A heavy connection fills a turn, so the others have a turn of their own first.
    if (this.#stops % stopsMax === 0) this.#goOnWaiting();
    if (this.#waiting.size > 0) this.#arm();
  };

  /** Resumes reading. For a connection that is closing, `readStart` returns an error code, which is ignored. */
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

/** Node offers no other way: `pause` of a session's socket throws. Undefined: the connection has closed already. */
function handleOf(session: ServerHttp2Session): Reading | undefined {
  if (session.destroyed) return undefined;
  const socket = session.socket as unknown as { _handle?: Reading | null } | undefined;
  return socket?._handle ?? undefined;
}
