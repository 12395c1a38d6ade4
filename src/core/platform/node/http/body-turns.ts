/**
 * Which bodies are read in a turn of the loop. Node reads of each connection that is ready, and decrypts it, before
 * anything else runs: hundreds of uploads hold everybody for as long as all of their pieces take.
 *
 *   piece ──(the turn has bytes left)──► is read on
 *     └──► waits by caller ──(a later turn, a few at a time)──► is read on
 *
 * Holds  what waits is not read. In each turn a few go on, next the caller that went on least; twice as many as in the
 *        turn before while their pieces leave bytes of the turn, for most that are read on have nothing to give.
 * Bounds of each that goes on, one read of a connection and what its stream keeps: some 128 KiB.
 * Rest   a lone upload waits for one turn per `turnBytes`: 0.05 ms.
 */
import { Rotation, TurnQueue } from "../../turn-queue.ts";
import type { TurnHost } from "./rim-turns.ts";

interface BodyLimits {
  /** Number of bytes read in a turn after which no body is read on in that turn. */
  readonly turnBytes: number;
  /** Minimum size that a piece counts as, because a piece of a few bytes must be read, decrypted and passed on as well. */
  readonly pieceBytesMin: number;
  /** Minimum number of waiting bodies that go on in the next turn. */
  readonly atOnceMin: number;
}

export class BodyTurns {
  readonly #host: Pick<TurnHost, "nextTurn">;
  readonly #limits: BodyLimits;
  readonly #queue = new TurnQueue(() => new Rotation());
  #atOnce: number;
  #bytes = 0;
  #isArmed = false;

  constructor(host: Pick<TurnHost, "nextTurn">, limits: BodyLimits) {
    this.#host = host;
    this.#limits = limits;
    this.#atOnce = limits.atOnceMin;
  }

  /** Notes that `bytes` of `body` have been read. @returns what to wait for before the next piece; undefined: no wait. */
  piece(body: object, caller: string, bytes: number): Promise<void> | undefined {
    this.#arm();
    this.#bytes += Math.max(bytes, this.#limits.pieceBytesMin);
    if (this.#bytes < this.#limits.turnBytes) return undefined;
    return new Promise((resolve) => this.#queue.add(caller, body, resolve));
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#host.nextTurn(this.#turnEnds);
  }

  readonly #turnEnds = (): void => {
    this.#isArmed = false;
    const { turnBytes, atOnceMin } = this.#limits;
    this.#atOnce = this.#bytes < turnBytes ? 2 * this.#atOnce : atOnceMin;
    this.#bytes = 0;
    for (let left = this.#atOnce; left > 0 && !this.#queue.isEmpty; left--) {
      this.#queue.next()?.();
      // All pieces take about the same time, so each counts as one.
      this.#queue.used(1);
    }
    if (this.#queue.isEmpty) this.#atOnce = atOnceMin;
    else this.#arm();
  };
}
