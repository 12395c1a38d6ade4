/**
 * When a relay has more streams than its peers, it ends some of them: the stream ends with a bookmark, the
 * connection closes, and the client resumes at that resourceVersion on the relay that the load balancer
 * chooses. That costs one resume per client, never a snapshot.
 *
 * Holds  no stream ends before the excess has lasted `holdMs`; then at most `shareASecond` of the streams
 *        end per second, down to the mean and not below: a wrong figure of a peer moves few.
 */
import { type Clock, sleep } from "#platform/clock.ts";

interface BalanceLimits {
  /** Minimum number of own streams: a relay with fewer moves none. */
  readonly streamsMin: number;
  /** Excess over the mean of all relays from which streams are moved, as a share of the mean. */
  readonly excess: number;
  readonly holdMs: number;
  readonly shareASecond: number;
}

export const balanceLimits: BalanceLimits = {
  streamsMin: 100,
  excess: 0.2,
  holdMs: 60_000,
  shareASecond: 0.01,
};

export class Balance {
  readonly #limits: BalanceLimits;
  #excessSinceMs: number | undefined;
  #lookedAtMs = 0;

  constructor(limits: BalanceLimits) {
    this.#limits = limits;
  }

  /** @param peers Number of streams of each other relay that answered. @returns the number of streams to end now. */
  look(nowMs: number, own: number, peers: readonly number[]): number {
    const sinceMs = nowMs - this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    const mean = (own + peers.reduce((sum, n) => sum + n, 0)) / (peers.length + 1);
    const { streamsMin, excess, holdMs, shareASecond } = this.#limits;
    if (peers.length === 0 || own < streamsMin || own <= mean * (1 + excess)) {
      this.#excessSinceMs = undefined;
      return 0;
    }
    this.#excessSinceMs ??= nowMs;
    if (nowMs - this.#excessSinceMs < holdMs) return 0;
    const most = Math.ceil((own * shareASecond * sinceMs) / 1_000);
    return Math.min(most, Math.floor(own - mean));
  }
}

/** Interval at which the relay asks its peers for their number of streams. */
const lookEveryMs = 10_000;

interface BalancingDeps {
  readonly clock: Clock;
  /** Rule that computes how many streams to move. */
  readonly rule: Balance;
  /** Returns the number of streams of each peer that answers; a peer that does not answer is left out. */
  readonly peerStreams: () => Promise<readonly number[]>;
  readonly own: () => number;
  /** Moves up to `count` streams to other relays. */
  readonly letGo: (count: number) => void;
  /** Called when a round of questions failed; the next round follows as usual. */
  readonly failed: (error: unknown) => void;
}

/** Asks the peers and moves streams periodically until `signal` aborts. */
export async function balance(deps: BalancingDeps, signal: AbortSignal): Promise<void> {
  const { clock, peerStreams, own, letGo } = deps;
  while (!signal.aborted) {
    await sleep(clock, "relay.balance", lookEveryMs, signal);
    try {
      const peers = await peerStreams();
      const count = deps.rule.look(clock.monotonicMs(), own(), peers);
      if (count > 0 && !signal.aborted) letGo(count);
    } catch (error) {
      deps.failed(error);
    }
  }
}
