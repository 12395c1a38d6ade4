/**
 * Whether a region answers.
 *
 *   Joining ── answered ──► Ready ── silent for unknownAfterMs ──► Unknown ── answered ──► Ready
 *      └───────────────────── silent for unknownAfterMs ──────────────┘
 *
 * Unknown is not lost: a placement decides by `standingOf` after its own time, or an operator at once.
 * Holds  silence counts on this process's monotonic clock, from the last answer or from its start, so a coordinator that
 *        begins, or was paused, gives no region up before it has waited the whole time itself.
 *        While more than half of all regions are Unknown none is given up by time: the coordinator is cut off, not they.
 */
import type { Standing } from "../divide/divide.ts";

type RegionState = "Joining" | "Ready" | "Unknown";
type RegionEvent = "answered" | "silent";

const step: Readonly<Record<RegionState, Readonly<Record<RegionEvent, RegionState>>>> = {
  Joining: { answered: "Ready", silent: "Unknown" },
  Ready: { answered: "Ready", silent: "Unknown" },
  Unknown: { answered: "Ready", silent: "Unknown" },
};

export class RegionHealth {
  readonly #unknownAfterMs: number;
  #state: RegionState = "Joining";
  #answeredMs: number;
  #lookedMs: number;

  constructor(nowMs: number, unknownAfterMs: number) {
    this.#unknownAfterMs = unknownAfterMs;
    this.#answeredMs = nowMs;
    this.#lookedMs = nowMs;
  }

  get state(): RegionState {
    return this.#state;
  }

  answered(nowMs: number): void {
    this.#answeredMs = nowMs;
    this.#lookedMs = nowMs;
    this.#state = step[this.#state].answered;
  }

  /**
   * Updates the state by the time. Call it often: a pause of this process longer than `unknownAfterMs` does not count
   * as silence of the region.
   */
  look(nowMs: number): void {
    if (nowMs - this.#lookedMs > this.#unknownAfterMs) this.#answeredMs = nowMs;
    this.#lookedMs = nowMs;
    if (nowMs - this.#answeredMs >= this.#unknownAfterMs) this.#state = step[this.#state].silent;
  }

  /** Time since the last answer. */
  silentMs(nowMs: number): number {
    return nowMs - this.#answeredMs;
  }
}

/** Health and order of a region at the time of a placement decision. */
export interface RegionStanding {
  readonly state: RegionState;
  readonly silentMs: number;
  /** Order of an operator: `lost` gives the region up, `drain` moves its workloads away. */
  readonly order: "none" | "drain" | "lost";
}

/** `afterMs` undefined: only an operator gives a region up that does not answer. */
export function standingOf(
  { state, silentMs, order }: RegionStanding,
  { afterMs, isQuorum }: { readonly afterMs: number | undefined; readonly isQuorum: boolean },
): Standing {
  if (order === "lost") return "closed";
  if (state === "Ready") return order === "drain" ? "closed" : "open";
  if (state === "Joining") return "silent";
  return afterMs !== undefined && isQuorum && silentMs >= afterMs ? "closed" : "silent";
}

/** Whether at least half of the regions answer or are joining. */
export function hasQuorum(states: readonly RegionState[]): boolean {
  return states.filter((state) => state === "Unknown").length * 2 <= states.length;
}
