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
  /** When so much has been read in a turn, no body is read on in it. */
  readonly turnBytes: number;
  /** A piece counts as so many at least: one of a few bytes is read, decrypted and passed on all the same. */
  readonly pieceBytesMin: number;
  /** Bodies that go on in the turn after. */
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

  /** So much of `body` has been read. @returns what the next piece is to wait for; undefined: it is read on. */
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
      // Pieces are about alike, so they are counted.
      this.#queue.used(1);
    }
    if (this.#queue.isEmpty) this.#atOnce = atOnceMin;
    else this.#arm();
  };
}
