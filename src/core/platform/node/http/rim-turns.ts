/**
 * When the requests of all connections begin: some milliseconds of them per turn of the loop, and of the
 * connections one request each in rotation, so that thousands of requests in one read of each hold nobody up.
 *
 *   enter ──(nobody waits, the turn has time)──► begins at once
 *     └──► waits by connection ──(in this turn after what runs, or in a later one)──► begins
 *
 * Holds  one request begins at a time: the next when all that the one before it does without waiting for the
 *        host is done, so that its time is known. A turn begins none after `turnMs`, hence it is longer
 *        by one request at most.
 * Rest   when the last request of a turn has begun and run: what is done for all of them at once waits for it.
 * Bounds as many wait as connections have open: `streamsPerConnectionMax` each over HTTP/2, one over HTTP/1.1.
 */

import type { TurnRest } from "../../turn-rest.ts";

export interface TurnHost {
  nowMs(): number;
  /** In the next turn of the loop. */
  nextTurn(f: () => void): void;
  /** When all promises that are settled have been followed. */
  settled(f: () => void): void;
}

export class RimTurns implements TurnRest {
  readonly #host: TurnHost;
  readonly #turnMs: number;
  /** By connection; the first has its turn next. */
  readonly #waiting = new Map<object, (() => void)[]>();
  #isRunning = false;
  #atRest: (() => void)[] = [];
  /** Of the turn in which a request has begun; undefined: none has. */
  #startedMs: number | undefined;

  constructor(host: TurnHost, { turnMs }: { readonly turnMs: number }) {
    this.#host = host;
    this.#turnMs = turnMs;
  }

  /** What a request of this connection waits for; undefined: it begins at once. */
  enter(connection: object): Promise<void> | undefined {
    if (!this.#isRunning && this.#waiting.size === 0 && this.#hasTime()) {
      this.#begin();
      return undefined;
    }
    return new Promise((resolve) => {
      const others = this.#waiting.get(connection);
      if (others === undefined) this.#waiting.set(connection, [resolve]);
      else others.push(resolve);
    });
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
    this.#host.settled(this.#ran);
  }

  readonly #ran = (): void => {
    this.#isRunning = false;
    this.#goOn();
    if (!this.#isRunning && this.#atRest.length > 0) this.#rest();
  };

  #rest(): void {
    const waiting = this.#atRest;
    this.#atRest = [];
    for (const f of waiting) f();
  }

  /** Where the turn has no time left, its end goes on. */
  #goOn(): void {
    const [next] = this.#waiting;
    if (next === undefined || !this.#hasTime()) return;
    const [connection, requests] = next;
    const begin = requests.shift();
    this.#waiting.delete(connection);
    if (requests.length > 0) this.#waiting.set(connection, requests);
    this.#begin();
    begin?.();
  }
}
