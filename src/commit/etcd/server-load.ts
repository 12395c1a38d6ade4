/**
 * The sums over all connections of a server. Each connection counts for itself and reports
 * here; this file decides which connection gives way when a total is reached.
 *
 * L1  `streams`, `runningBytes` and `unreadBytes` are the sums of what the connections reported.
 * L2  An unfinished message fails `messageMs` after it began. It fails earlier when all of them need more
 *     than `messageRoomTotalBytesMax`: the oldest first, because a message that is really on its way is young.
 * L3  When unread answers are more than `unreadTotalBytesMax`, the connection that has gone longest without taking
 *     anything is ended.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import { Code, GrpcError } from "#wire/grpc.ts";
import type { H2Limits } from "./h2-limits.ts";

/** A call whose message is incomplete. */
export interface Unfinished {
  /** Time when the call fails, and the memory of its message. Used by `ServerLoad` only. */
  dueMs: number;
  roomBytes: number;
  fail(error: GrpcError): void;
}

/** A connection with unsent output. */
export interface Reader {
  /** Bytes that the peer has not taken. */
  readonly unreadBytes: number;
  /** Time when the peer last took some of them. */
  readonly takenMs: number;
  /** Ends the connection. */
  endUnread(): void;
}

/** Connections with less unread output are not ended to make room. */
const unreadBytesLeast = 2 ** 20;

export class ServerLoad {
  streams = 0;
  runningBytes = 0;
  #unreadBytes = 0;
  #roomBytes = 0;
  /** Ordered by due time. */
  readonly #unfinished = new Set<Unfinished>();
  readonly #readers = new Set<Reader>();
  readonly #clock: Clock;
  readonly #limits: H2Limits;
  #timer: Timer | undefined;

  constructor(clock: Clock, limits: H2Limits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get unfinishedMessages(): number {
    return this.#unfinished.size;
  }

  /** Whether the server should queue nothing more for slow peers. */
  get isUnreadFull(): boolean {
    return this.#unreadBytes > this.#limits.unreadTotalBytesMax;
  }

  /** Starts waiting for the call's message, unless it already waits. */
  awaitMessage(one: Unfinished): void {
    if (this.#unfinished.has(one)) return;
    one.dueMs = this.#clock.monotonicMs() + this.#limits.messageMs;
    this.#unfinished.add(one);
    if (this.#timer === undefined) this.#arm(this.#limits.messageMs);
  }

  /** Records the call's message memory. May fail other calls, and this one. */
  giveRoom(one: Unfinished, roomBytes: number): void {
    this.#roomBytes += roomBytes - one.roomBytes;
    one.roomBytes = roomBytes;
    for (const oldest of this.#unfinished) {
      if (this.#roomBytes <= this.#limits.messageRoomTotalBytesMax) return;
      if (oldest.roomBytes === 0) continue;
      this.forget(oldest);
      oldest.fail(noRoom("all unfinished messages", this.#limits.messageRoomTotalBytesMax));
    }
  }

  /** The call's message is complete, or the call has ended. */
  forget(one: Unfinished): void {
    if (!this.#unfinished.delete(one)) return;
    this.#roomBytes -= one.roomBytes;
    one.roomBytes = 0;
  }

  open(reader: Reader): void {
    this.#readers.add(reader);
  }

  close(reader: Reader): void {
    this.#readers.delete(reader);
  }

  /** Records a change of a reader's unread bytes. May end readers, including this one. */
  unread(change: number): void {
    this.#unreadBytes += change;
    while (change > 0 && this.isUnreadFull) {
      const slowest = this.#slowest();
      if (slowest === undefined) return;
      slowest.endUnread();
    }
  }

  #slowest(): Reader | undefined {
    let slowest: Reader | undefined;
    for (const one of this.#readers) {
      if (one.unreadBytes < unreadBytesLeast) continue;
      if (slowest === undefined || one.takenMs < slowest.takenMs) slowest = one;
    }
    return slowest;
  }

  #arm(delayMs: number): void {
    this.#timer = this.#clock.after("etcd.message", delayMs, () => this.#expire());
  }

  #expire(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    const seconds = this.#limits.messageMs / 1000;
    for (const one of this.#unfinished) {
      if (one.dueMs > nowMs) {
        return this.#arm(one.dueMs - nowMs);
      }
      this.forget(one);
      const text = `the request did not arrive within ${seconds} s`;
      one.fail(new GrpcError(Code.deadlineExceeded, text));
    }
  }
}

/** The error of a call refused for lack of memory. */
export function noRoom(whose: string, bytesMax: number): GrpcError {
  const text = `etcdserver: no room for the request: ${whose} take at most ${bytesMax} bytes`;
  return new GrpcError(Code.resourceExhausted, text);
}
