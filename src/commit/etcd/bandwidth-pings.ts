/**
 * The pings by which grpc-go measures a connection's bandwidth, answered only when that is useful.
 *
 * A client sends one with the first data it gets after the last ping was answered. If pings are answered at once, that
 * is one with each answer of a unary call: one more write and one more read for either side, a third
 * of what a small put costs both. All other pings (keepalive, health) are answered at once.
 *
 * Holds  an answer is sent once `heldBytes` were sent since the last one, or after `heldMs`, whichever is
 *        first: a client that receives much data measures, and widens its windows, as usual.
 * Source the payload and the measurement: internal/transport/bdp_estimator.go of grpc-go. docs/adr/0012 explains why
 *        RFC 9113, 6.7 (answers should not wait) is not followed to the letter.
 */
import type { Clock, Timer } from "#platform/clock.ts";

const bandwidthPing = Buffer.of(2, 4, 16, 16, 9, 14, 7, 7);
/** Answer after this many bytes: half of a client's initial window, so that the client never stops for lack of an answer. */
const heldBytes = 32 * 1024;
/** Maximum delay of an answer. Clients do not wait for the answer to a bandwidth ping. */
const heldMs = 2000;

export class BandwidthPings {
  readonly #clock: Clock;
  readonly #answer: (payload: Buffer) => void;
  #sentBytes = 0;
  #held = false;
  #timer: Timer | undefined;

  constructor(clock: Clock, answer: (payload: Buffer) => void) {
    this.#clock = clock;
    this.#answer = answer;
  }

  /** @returns false for another kind of ping, which the caller has to answer. */
  take(payload: Buffer): boolean {
    if (!payload.equals(bandwidthPing)) return false;
    this.#held = true;
    this.sent(0);
    if (this.#held) this.#timer ??= this.#clock.after("etcd.ping", heldMs, () => this.#late());
    return true;
  }

  /** Counts bytes sent; may answer a held ping. */
  sent(bytes: number): void {
    this.#sentBytes += bytes;
    if (this.#held && this.#sentBytes >= heldBytes) this.#release();
  }

  close(): void {
    this.#held = false;
    this.#timer?.cancel();
  }

  #late(): void {
    this.#timer = undefined;
    if (this.#held) this.#release();
  }

  #release(): void {
    this.#held = false;
    this.#sentBytes = 0;
    this.#answer(bandwidthPing);
  }
}
