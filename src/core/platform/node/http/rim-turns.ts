/**
 * When the requests of all connections begin: some milliseconds of them per turn of the loop, next the caller that
 * has used least of it (turn-queue.ts), so that thousands of requests in one read, or of hundreds of connections, hold nobody up.
 *
 *   enter ──(nobody waits, the turn has time)──► begins at once
 *     └──► waits by caller ──────(in this turn after what runs, or in a later one)──► begins
 *
 * Holds  one request begins at a time: the next when all that the one before it does without waiting for the
 *        host is done, so that its time is known. A turn begins none after `turnMs`, hence it is longer
 *        by one request at most.
 * Rest   when the last request of a turn has begun and run: what is done for all of them at once waits for it.
 * Bounds as many wait as connections have open: `streamsPerConnectionMax` each over HTTP/2, one over HTTP/1.1.
 */

import { Rotation, TurnQueue } from "../../turn-queue.ts";
import type { TurnRest } from "../../turn-rest.ts";

export interface TurnHost {
  nowMs(): number;
  /** Calls `f` in the next turn of the loop. */
  nextTurn(f: () => void): void;
  /** Calls `f` when the callbacks of all settled promises have run. */
  settled(f: () => void): void;
}

export class RimTurns implements TurnRest {
  readonly #host: TurnHost;
  readonly #turnMs: number;
  readonly #queue = new TurnQueue(() => new Rotation());
  #beganMs = 0;
  #isRunning = false;
  #atRest: (() => void)[] = [];
  /** Start of the turn in which a request has begun. Undefined: no request has begun in this turn. */
  #startedMs: number | undefined;

  constructor(host: TurnHost, { turnMs }: { readonly turnMs: number }) {
    this.#host = host;
    this.#turnMs = turnMs;
  }

  /** @returns what a request of this connection must wait for; undefined: it begins at once. `caller`: as far as known. */
  enter(connection: object, caller: string): Promise<void> | undefined {
    if (!this.#isRunning && this.#queue.isEmpty && this.#hasTime()) {
      this.#begin();
      return undefined;
    }
    return new Promise((resolve) => this.#queue.add(caller, connection, resolve));
  }

  whenBegun(f: () => void): void {
    if (this.#isRunning) this.#atRest.push(f);
    else f();
  }

  #hasTime(): boolean {
    const nowMs = this.#host.nowMs();
    if (this.#startedMs === undefined) {
      this.#startedMs = nowMs;
      this.#host.nextTurn(this.#turnEnds);
    }
    return nowMs - this.#startedMs < this.#turnMs;
  }

  readonly #turnEnds = (): void => {
    this.#startedMs = undefined;
    if (!this.#isRunning) this.#goOn();
  };

  #begin(): void {
    this.#isRunning = true;
    this.#beganMs = this.#host.nowMs();
    this.#host.settled(this.#ran);
  }

  readonly #ran = (): void => {
    this.#isRunning = false;
    this.#queue.used(this.#host.nowMs() - this.#beganMs);
    this.#goOn();
    if (!this.#isRunning && this.#atRest.length > 0) this.#rest();
  };

  #rest(): void {
    const waiting = this.#atRest;
    this.#atRest = [];
    for (const f of waiting) f();
  }

  /** Begins the next request. When the turn has no time left, the end of the turn does it. */
  #goOn(): void {
    if (this.#queue.isEmpty || !this.#hasTime()) return;
    this.#begin();
    this.#queue.next()?.();
  }
}
