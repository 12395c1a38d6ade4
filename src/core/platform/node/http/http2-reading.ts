/**
 * How long the heads of HTTP/2 connections are read in one turn of the loop. Node reads all connections that are
 * ready, up to 2 MiB each, before anything else runs; a byte of it may be a whole field (HPACK, RFC 7541), for which
 * Node makes strings. After `readMs` of a turn nothing more is read until the next one, which begins with timers
 * and answers. With many connections it is later, by `readMsPerConnection` each.
 *
 * Holds  a turn reads for that time and one piece of one connection (64 KiB at most) that was begun before.
 * Holds  a connection gives one head beyond the limit per turn, which is answered; at the next one it is ended.
 * Cost   where a turn is longer: 2.2 us for each connection that is open.
 * Absent heads that Node resets itself (of more fields or bytes than its own limits) are not seen here: a connection
 *        may have up to 2 MiB of them decoded in one turn, some 60 ns a field.
 */
import { constants, type ServerHttp2Session } from "node:http2";

/** Twice the cost, so that a crowd of honest clients loses a third of its time to it at most. */
const readMsPerConnection = 0.005;

interface Reading {
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
  /** Of all that are open. */
  readonly #readings = new Map<ServerHttp2Session, Reading>();
  #isStopped = false;
  readonly #tooLarge = new WeakSet<ServerHttp2Session>();
  /** Of the turn in which a head was read; undefined: none was. */
  #startedMs: number | undefined;

  constructor(host: ReadingHost, { readMs }: { readonly readMs: number }) {
    this.#host = host;
    this.#readMs = readMs;
  }

  add(session: ServerHttp2Session): void {
    const reading = readingOf(session);
    if (reading === undefined) return;
    this.#readings.set(session, reading);
    session.once("close", () => this.#readings.delete(session));
  }

  /** To be called for each head, before anything is made of it. */
  head(): void {
    const nowMs = this.#host.nowMs();
    if (this.#startedMs === undefined) {
      this.#startedMs = nowMs;
      this.#host.nextTurn(this.#turnEnds);
    }
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

  #stop(): void {
    this.#isStopped = true;
    for (const reading of this.#readings.values()) reading.readStop();
  }

  readonly #turnEnds = (): void => {
    this.#startedMs = undefined;
    if (!this.#isStopped) return;
    this.#isStopped = false;
    // Those that are closing answer with an error code.
    for (const reading of this.#readings.values()) reading.readStart();
  };
}

/** Node has no other way: `pause` of a session's socket throws. Undefined: it has closed already. */
function readingOf(session: ServerHttp2Session): Reading | undefined {
  if (session.destroyed) return undefined;
  const socket = session.socket as unknown as { _handle?: Reading | null } | undefined;
  return socket?._handle ?? undefined;
}
