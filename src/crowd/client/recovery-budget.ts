/**
 * One budget for the pods that a control plane moves by itself: evicted from lost nodes, created anew,
 * bound again. Without it a lost zone's pods return as a herd, each step as fast as its loop runs.
 *
 *   take(step, namespace) ─► a token of the step is free, and few are under way ─► now
 *                        └─► else ─► the namespace's line; lines are served in turn, as tokens and answers arrive
 *   each grant ends once: answered(step, ...), or unused(step)
 *
 * Holds  in any time t at most t * rate + rate / 10 grants of one step, and never more than rate / 20 of them under
 *        way. Each step has the whole rate, so that a pod's three steps do not compete. Between namespaces, grants
 *        differ by at most one round while both wait.
 * Bounds no queue of its own: each waiting entry is a write whose caller waits for it. The rate never falls below
 *        its minimum, so every wait ends.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import { type RecoveryLimits, RecoveryRate, type RecoveryReason } from "./recovery-rate.ts";

export type RecoveryStep = "evict" | "create" | "bind";

export const recoverySteps: readonly RecoveryStep[] = ["evict", "create", "bind"];

/** A grant that came late, for an event. */
export interface RecoveryHold {
  readonly step: RecoveryStep;
  readonly namespace: string;
  readonly waitedMs: number;
  /** Of the namespace, still. */
  readonly waiting: number;
  readonly perSecond: number;
  readonly reason: RecoveryReason;
}

interface RecoveryBudgetOptions {
  readonly limits: RecoveryLimits;
  /** Whether the API server is in this process: then the loop's lag counts beside its answers. */
  readonly sharesLoop?: boolean;
  /** Every grant that waited, with the time it did. */
  readonly granted?: (step: RecoveryStep, waitedMs: number) => void;
  /** A namespace whose pods wait for longer than `toldAfterMs`; once a minute each. */
  readonly held?: (hold: RecoveryHold) => void;
}

interface Waiter {
  readonly sinceMs: number;
  readonly grant: () => void;
}

interface Lane {
  readonly step: RecoveryStep;
  tokens: number;
  atMs: number;
  /** Granted, and not answered yet. */
  inFlight: number;
  /** By namespace, the next to be served first. Sets keep their order, and one that gives up leaves in O(1). */
  readonly lines: Map<string, Set<Waiter>>;
  timer: Timer | undefined;
}

const toldAfterMs = 5_000;
const toldEveryMs = 60_000;
/** Grants come in groups of at least this time's, so that a fast rate does not cost a timer each. */
const wakeLeastMs = 10;
const lagEveryMs = 20;

export class RecoveryBudget {
  readonly #clock: Clock;
  readonly #options: RecoveryBudgetOptions;
  readonly #rate: RecoveryRate;
  readonly #lanes: Readonly<Record<RecoveryStep, Lane>>;
  /** When each namespace was last told of. Bounds: cleared of the old at each telling. */
  readonly #told = new Map<string, number>();
  #lagTimer: Timer | undefined;

  constructor(clock: Clock, options: RecoveryBudgetOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#rate = new RecoveryRate(clock, options.limits);
    this.#lanes = {
      evict: this.#openLane("evict"),
      create: this.#openLane("create"),
      bind: this.#openLane("bind"),
    };
  }

  #openLane(step: RecoveryStep): Lane {
    const tokens = burstOf(this.#rate.perSecond);
    const atMs = this.#clock.monotonicMs();
    return { step, tokens, atMs, inFlight: 0, lines: new Map(), timer: undefined };
  }

  get perSecond(): number {
    return this.#rate.perSecond;
  }

  get reason(): RecoveryReason {
    return this.#rate.reason;
  }

  waiting(step: RecoveryStep): number {
    let sum = 0;
    for (const line of this.#lanes[step].lines.values()) sum += line.size;
    return sum;
  }

  /** @returns undefined: granted. Else resolves to true when it is, to false when `signal` aborts before that. */
  take(step: RecoveryStep, namespace: string, signal?: AbortSignal): Promise<boolean> | undefined {
    const lane = this.#lanes[step];
    this.#refill(lane);
    this.#feelLag();
    if (lane.lines.size === 0 && this.#canGrant(lane)) return this.#spend(lane);
    this.#rate.waited();
    return new Promise((resolve) => this.#wait(lane, namespace, resolve, signal));
  }

  /** While anything is under way or waits. */
  #feelLag(): void {
    if (this.#options.sharesLoop !== true || this.#lagTimer !== undefined) return;
    const dueMs = this.#clock.monotonicMs() + lagEveryMs;
    this.#lagTimer = this.#clock.after("client.recovery", lagEveryMs, () => {
      this.#lagTimer = undefined;
      this.#rate.lagged(this.#clock.monotonicMs() - dueMs);
      const isBusy = Object.values(this.#lanes).some((one) => one.inFlight + one.lines.size > 0);
      if (isBusy) this.#feelLag();
    });
  }

  /** A granted step was answered after this time; `isOverloaded`: it was refused for load, or not answered. */
  answered(step: RecoveryStep, tookMs: number, isOverloaded: boolean): void {
    if (isOverloaded) this.#rate.overloaded();
    else this.#rate.answered(tookMs);
    this.unused(step);
  }

  /** A granted step is not carried out any more. */
  unused(step: RecoveryStep): void {
    const lane = this.#lanes[step];
    lane.inFlight--;
    if (lane.lines.size > 0) this.#serve(lane);
  }

  #canGrant(lane: Lane): boolean {
    return lane.tokens >= 1 && lane.inFlight < this.#rate.inFlightMost;
  }

  #spend(lane: Lane): undefined {
    lane.tokens--;
    lane.inFlight++;
  }

  #wait(
    lane: Lane,
    namespace: string,
    resolve: (isGranted: boolean) => void,
    signal?: AbortSignal,
  ): void {
    const line = lane.lines.get(namespace) ?? new Set<Waiter>();
    lane.lines.set(namespace, line);
    const leave = (): void => {
      if (!line.delete(waiter)) return;
      if (line.size === 0 && lane.lines.get(namespace) === line) lane.lines.delete(namespace);
      resolve(false);
    };
    const grant = (): void => {
      signal?.removeEventListener("abort", leave);
      resolve(true);
    };
    const waiter: Waiter = { sinceMs: this.#clock.monotonicMs(), grant };
    line.add(waiter);
    if (signal?.aborted === true) return leave();
    signal?.addEventListener("abort", leave, { once: true });
    this.#wakeLater(lane);
  }

  /** Where too many are under way, their answers wake. */
  #wakeLater(lane: Lane): void {
    if (lane.timer !== undefined || lane.lines.size === 0) return;
    if (lane.inFlight >= this.#rate.inFlightMost) return;
    const missing = Math.max(0, 1 - lane.tokens);
    const delayMs = Math.max(wakeLeastMs, (missing / this.#rate.perSecond) * 1_000);
    lane.timer = this.#clock.after("client.recovery", delayMs, () => {
      lane.timer = undefined;
      this.#serve(lane);
    });
  }

  #serve(lane: Lane): void {
    this.#refill(lane);
    for (const [namespace, line] of lane.lines) {
      if (!this.#canGrant(lane)) break;
      this.#grantFirst(lane, namespace, line);
    }
    this.#wakeLater(lane);
  }

  /** The namespace goes to the end of the round, which the walk over `lines` reaches again. */
  #grantFirst(lane: Lane, namespace: string, line: Set<Waiter>): void {
    lane.lines.delete(namespace);
    const [waiter] = line;
    if (waiter === undefined) return;
    this.#spend(lane);
    line.delete(waiter);
    if (line.size > 0) lane.lines.set(namespace, line);
    const waitedMs = this.#clock.monotonicMs() - waiter.sinceMs;
    this.#options.granted?.(lane.step, waitedMs);
    if (waitedMs > toldAfterMs) this.#tell(lane.step, namespace, waitedMs, line.size);
    waiter.grant();
  }

  #tell(step: RecoveryStep, namespace: string, waitedMs: number, waiting: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#told.get(namespace) ?? -Infinity) < toldEveryMs) return;
    for (const [name, atMs] of this.#told) if (nowMs - atMs > toldEveryMs) this.#told.delete(name);
    this.#told.set(namespace, nowMs);
    const { perSecond, reason } = this.#rate;
    this.#options.held?.({ step, namespace, waitedMs, waiting, perSecond, reason });
  }

  #refill(lane: Lane): void {
    const nowMs = this.#clock.monotonicMs();
    const { perSecond } = this.#rate;
    const came = ((nowMs - lane.atMs) / 1_000) * perSecond;
    lane.tokens = Math.min(burstOf(perSecond), lane.tokens + came);
    lane.atMs = nowMs;
  }
}

/** A tenth of a second's, and at least one. */
function burstOf(perSecond: number): number {
  return Math.max(1, perSecond / 10);
}
