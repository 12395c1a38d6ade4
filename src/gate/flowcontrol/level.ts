/**
 * One priority level: its seats, its queue, its demand, and the Retry-After that it gives to rejected clients.
 *
 * Holds  min <= nominal <= max; the current number of seats is computed for all levels together (borrowing.ts).
 */
import type { PriorityLevelConfiguration } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { LevelDemand } from "./borrowing.ts";
import { SeatDemand } from "./demand.ts";
import { FairQueue } from "./fair-queue.ts";
import type { Discipline } from "./fair-queue.ts";
import { RetryAfter } from "./retry-after.ts";
import { seatsMaxOf } from "./work.ts";

/** Maximum number of queues. Seating visits every queue, so more queues would cost each request more than they save. */
const queuesMax = 4096;

/** Upstream's reasons, and `watch-limit` for watches beyond the level's limit. */
export type RejectReason =
  | "queue-full"
  | "concurrency-limit"
  | "time-out"
  | "cancelled"
  | "watch-limit";

/** Annotation of a PriorityLevelConfiguration: maximum number of open watches of the level. A value that is no whole number is ignored. */
const watchesMaxAnnotation = "flowcontrol.pilothouse.dev/watches-max";

/**
 * Maximum share of a level's seats for answers of one flow that are being sent. Their readers decide how long that
 * takes, and virtual time is charged only at the end: a flow with all of the seats could make the other flows wait
 * meanwhile.
 */
const lingeringShare = 1 / 2;

export interface LevelState {
  readonly name: string;
  readonly nominalSeats: number;
  readonly currentSeats: number;
  readonly minSeats: number;
  readonly maxSeats: number;
  readonly seatsInUse: number;
  readonly requestsExecuting: number;
  readonly requestsWaiting: number;
  readonly seatedCount: number;
  /** Number of refused requests, including those that stopped waiting. */
  readonly rejectedCount: number;
  readonly timedOutCount: number;
  readonly cancelledCount: number;
  readonly openWatches: number;
  /** Maximum number of open watches. Infinity: no limit. */
  readonly watchesMax: number;
}

interface Shares {
  /** Number of seats by shares. */
  readonly nominal: number;
  /** Number of all seats of the server: the maximum for a level without a borrowing limit. */
  readonly total: number;
  /** Returns the maximum number of open watches, given the value in the level's own object. */
  readonly watchesOf: (most: number | undefined) => number;
}

/** Answers of one flow that are being sent. */
interface Lingering {
  /** Number of seats that these answers occupy. */
  seats: number;
  /** Number of their seats that were returned because readers have stalled. */
  stalledSeats: number;
}

export class Level {
  readonly name: string;
  readonly queue: FairQueue;
  readonly #demand: SeatDemand;
  readonly #retryAfter = new RetryAfter();
  #discipline: Discipline = { kind: "reject" };
  #uid = "";
  #nominal = 0;
  #min = 0;
  #max = 0;
  #seatedCount = 0;
  #rejectedCount = 0;
  #timedOutCount = 0;
  #cancelledCount = 0;
  #openWatches = 0;
  #watchesMax = Number.POSITIVE_INFINITY;
  /** By flow: its answers that are being sent. */
  readonly #lingering = new Map<string, Lingering>();

  constructor(deps: { readonly clock: Clock }, name: string) {
    this.name = name;
    this.#demand = new SeatDemand(deps);
    this.queue = new FairQueue(
      { clock: deps.clock, onDemand: (seats) => this.#demand.set(seats) },
      { discipline: this.#discipline, seatsMax: 0 },
    );
  }

  get uid(): string {
    return this.#uid;
  }

  get nominalSeats(): number {
    return this.#nominal;
  }

  get isExempt(): boolean {
    return this.#discipline.kind === "exempt";
  }

  /** Maximum number of seats that one request of this level may take. */
  get requestSeatsMax(): number {
    const handSize = this.#discipline.kind === "queue" ? this.#discipline.handSize : 1;
    return seatsMaxOf(this.#nominal, handSize);
  }

  /** Reason of this level's refusals. */
  get refusal(): "queue-full" | "concurrency-limit" {
    return this.#discipline.kind === "queue" ? "queue-full" : "concurrency-limit";
  }

  get retryAfterSeconds(): number {
    return this.#retryAfter.seconds;
  }

  configure(object: PriorityLevelConfiguration, shares: Shares): void {
    const { nominal, total } = shares;
    const { limited, exempt } = object.spec ?? {};
    const lendable = (limited ?? exempt)?.lendablePercent ?? 0;
    const borrowing = limited?.borrowingLimitPercent;
    this.#uid = object.metadata?.uid ?? "";
    this.#nominal = nominal;
    this.#min = nominal - Math.round((nominal * lendable) / 100);
    this.#max =
      nominal + (borrowing === undefined ? total : Math.round((nominal * borrowing) / 100));
    this.#discipline = disciplineOf(object);
    this.#watchesMax = this.isExempt
      ? Number.POSITIVE_INFINITY
      : shares.watchesOf(watchesMaxOf(object));
    const seatsMax = this.queue.seatsMax === 0 ? nominal : this.queue.seatsMax;
    this.queue.configure({ discipline: this.#discipline, seatsMax });
  }

  demand(): LevelDemand {
    const bounds = { nominal: this.#nominal, min: this.#min, max: this.#max };
    return { ...bounds, ...this.#demand.next() };
  }

  giveSeats(seatsMax: number): void {
    this.queue.configure({ discipline: this.#discipline, seatsMax });
  }

  noteSeated(): void {
    this.#seatedCount += 1;
  }

  /** Counts one more watch, or returns false at the limit. If the limit falls, open watches remain open. */
  openWatch(): boolean {
    if (this.#openWatches >= this.#watchesMax) return false;
    this.#openWatches += 1;
    return true;
  }

  closeWatch(): void {
    this.#openWatches -= 1;
  }

  /**
   * Whether a work whose answer is being sent may keep its seats. The first work of a flow may; others may while the
   * flow keeps at most half of the level. While readers of the flow are stalled, another work may only within the
   * level's free seats: stalled readers, however many, cannot take the level from other flows. Ended with `leave`.
   */
  linger(flow: string, seats: number): boolean {
    if (this.isExempt) return false;
    const own = this.#lingering.get(flow) ?? { seats: 0, stalledSeats: 0 };
    const free = this.queue.seatsMax - this.queue.seatsInUse;
    const held = own.seats + own.stalledSeats;
    if (own.stalledSeats > 0 && held + seats > free) return false;
    if (held > 0 && held + seats > this.queue.seatsMax * lingeringShare) return false;
    own.seats += seats;
    this.#lingering.set(flow, own);
    return true;
  }

  /** Returns the seats of an answer whose reader has stalled. They are counted until the answer has ended. */
  stall(flow: string, seats: number): void {
    const own = must(this.#lingering.get(flow), "what stalls lingers");
    own.seats -= seats;
    own.stalledSeats += seats;
  }

  leave(flow: string, seats: number, state: "lingering" | "stalled"): void {
    const own = must(this.#lingering.get(flow), "what leaves lingers");
    if (state === "stalled") own.stalledSeats -= seats;
    else own.seats -= seats;
    if (own.seats + own.stalledSeats === 0) this.#lingering.delete(flow);
  }

  /** Counts a refusal. A cancelled request does not indicate load, so it does not raise the retry time. */
  noteRejected(reason: RejectReason, nowMs: number): void {
    this.#rejectedCount += 1;
    if (reason === "time-out") this.#timedOutCount += 1;
    if (reason === "cancelled") this.#cancelledCount += 1;
    else this.#retryAfter.note(nowMs);
  }

  state(): LevelState {
    return {
      name: this.name,
      nominalSeats: this.#nominal,
      currentSeats: this.queue.seatsMax,
      minSeats: this.#min,
      maxSeats: this.#max,
      seatsInUse: this.queue.seatsInUse,
      requestsExecuting: this.queue.seated,
      requestsWaiting: this.queue.waiting,
      seatedCount: this.#seatedCount,
      rejectedCount: this.#rejectedCount,
      timedOutCount: this.#timedOutCount,
      cancelledCount: this.#cancelledCount,
      openWatches: this.#openWatches,
      watchesMax: this.#watchesMax,
    };
  }
}

function watchesMaxOf({ metadata }: PriorityLevelConfiguration): number | undefined {
  const text = metadata?.annotations?.[watchesMaxAnnotation] ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function disciplineOf({ spec }: PriorityLevelConfiguration): Discipline {
  if (spec?.type === "Exempt") return { kind: "exempt" };
  const response = spec?.limited?.limitResponse;
  if (response?.type !== "Queue") return { kind: "reject" };
  const asked = response.queuing ?? {};
  const queues = Math.max(1, Math.min(asked.queues ?? 64, queuesMax));
  const handSize = Math.max(1, Math.min(asked.handSize ?? 8, queues));
  return { kind: "queue", queues, handSize, queueLengthMax: asked.queueLengthLimit ?? 50 };
}
