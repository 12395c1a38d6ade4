/**
 * Fair queuing for server requests: decides which waiting request gets the next free seats.
 *
 * In     works with a width in seats and the hash of their flow. Out: seated now, waiting, or rejected.
 * Holds  seats taken <= seats given, with two exceptions: lent seats, and a work wider than all seats, which runs
 *        alone. Works of one queue are seated in order. No work waits while the next one in order fits.
 * Lent   a work at rest waits for a turn of the event loop, for its client or for another program. Its seats are lent
 *        to small works, which need very little time and would otherwise wait for the works at rest. Lent seats are not
 *        counted when other works are seated.
 * Time   virtual time R advances by min(seats given, seats wanted) / queues in use per second of real time. A work is
 *        charged G seconds per seat when it is seated (G: an estimate of 3 ms), and the difference when its duration is
 *        known. The queue whose next work would finish first in virtual time is served next. A queue's start is never
 *        before the arrival of its oldest work, so an idle queue saves up no credit.
 * Bound  two queues that always have enough waiting works stay close: neither gets ahead of the other by more
 *        seat-seconds than `seats given` works of the longest duration, because this many can run without being charged
 *        in full. A queue with fewer waiting works may fall behind by more: it cannot be served before its works
 *        arrive.
 * After  apiserver pkg/util/flowcontrol/fairqueuing/queueset; McKenney/Nagle fair queuing.
 * Differs a full queue rejects even if seats are free, when its head is too wide for them. Upstream would let the queue
 *         grow.
 * Cost   seating O(queues); a cancellation O(queue length); everything else O(1). R restarts at zero when the queues
 *        are idle.
 */
import { assert } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { WaitsFor } from "#platform/pace.ts";
import type { FlowFacts } from "./classify.ts";
import { dealHand } from "./shuffle-shard.ts";
import type { Hash64 } from "./shuffle-shard.ts";
import { widthOf, type WorkSize } from "./work-size.ts";

interface Queuing {
  readonly queues: number;
  readonly handSize: number;
  /** Maximum number of waiting works per queue. */
  readonly queueLengthMax: number;
}

export type Discipline =
  | ({ readonly kind: "queue" } & Queuing)
  /** There are no queues: a work for which no seats are free is refused. */
  | { readonly kind: "reject" }
  /** Every work is seated at once. Seats are only counted. */
  | { readonly kind: "exempt" };

export interface Work extends WorkSize {
  /** Called once when a waiting work is seated. Not called for a work that is seated at once. */
  readonly onSeat: () => void;
  /** Facts for dumps. The queue itself does not read them. */
  readonly facts?: WorkFacts;
}

/** Facts about the request of a work. */
export interface WorkFacts {
  readonly schema: string;
  readonly distinguisher: string;
  readonly userName: string;
  readonly info: FlowFacts;
}

/** A submitted work. Callers treat it as opaque. */
export interface Seating {
  readonly work: Work;
  state: "waiting" | "seated" | "lingering" | "gone";
  /** Queue of the work. Undefined: the level has no queues. */
  readonly queue: Queue | undefined;
  /** Virtual time at arrival. */
  readonly arrivalR: number;
  /** Monotonic time of arrival, on the same clock as `seatedMs`. */
  readonly arrivedMs: number;
  seatedMs: number;
  isAtRest: boolean;
  isLent: boolean;
}

/** State of a queue for display. The lists are copies. */
export interface QueueDump {
  /** Waiting works, in order of arrival. */
  readonly waiting: readonly Seating[];
  readonly executing: readonly Seating[];
  readonly seatsInUse: number;
  /** In seat-seconds: virtual time at which the next work starts, and (below) work that waits. */
  readonly nextR: number;
  readonly waitingWork: number;
}

export interface FairQueueDump {
  readonly queues: readonly QueueDump[];
  /** Executing works of levels without queues. */
  readonly queueless: readonly Seating[];
}

interface Queue {
  /** Index of the queue in `#queues` and `#finishR`. */
  readonly index: number;
  readonly waiting: Seating[];
  /** Number of seated works of this queue, and (below) the number of their seats. */
  seated: number;
  seatsInUse: number;
  /** Seat-seconds of all waiting works. */
  waitingWork: number;
  /** Virtual time at which the next work of this queue starts. */
  nextR: number;
}

/** Estimated duration of a work in seconds, until its actual duration is known. */
const guessSeconds = 0.003;

export class FairQueue {
  readonly #clock: Clock;
  /** Called on every change with the number of seats in use plus seats that waiting works need. */
  readonly #onDemand: (seats: number) => void;
  #discipline: Discipline;
  #seatsMax: number;
  #queues: Queue[] = [];
  /** By queue: virtual time at which its first waiting work would finish. Infinity: no work waits. */
  #finishR = new Float64Array();
  #virtualR = 0;
  #syncedMs: number;
  #robin = 0;
  #arrivals = 0;
  /** Works that are seated or lingering. */
  readonly #works = new Set<Seating>();
  #waiting = 0;
  #seatsInUse = 0;
  /** Number of seats in use whose works are at rest. */
  #seatsAtRest = 0;
  #seatsLent = 0;
  #seatsWaiting = 0;
  #busyQueues = 0;

  constructor(
    deps: { readonly clock: Clock; readonly onDemand: (seats: number) => void },
    options: { readonly discipline: Discipline; readonly seatsMax: number },
  ) {
    this.#clock = deps.clock;
    this.#onDemand = deps.onDemand;
    this.#syncedMs = deps.clock.monotonicMs();
    this.#discipline = options.discipline;
    this.#seatsMax = options.seatsMax;
    this.#growQueues();
  }

  get seatsInUse(): number {
    return this.#seatsInUse;
  }

  get seatsMax(): number {
    return this.#seatsMax;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Number of works that are seated or lingering. */
  get seated(): number {
    return this.#works.size;
  }

  /** Returns the current state. Visits every work. */
  dump(): FairQueueDump {
    const executing = [...this.#works].filter(({ state }) => state === "seated");
    const byQueue = Map.groupBy(executing, ({ queue }) => queue);
    const queues = this.#queues.map((queue) => ({
      waiting: [...queue.waiting],
      executing: byQueue.get(queue) ?? [],
      seatsInUse: queue.seatsInUse,
      nextR: queue.nextR,
      waitingWork: queue.waitingWork,
    }));
    return { queues, queueless: byQueue.get(undefined) ?? [] };
  }

  /** Changes the configuration. If there are fewer queues than before, the surplus queues are served until they are empty. */
  configure(options: { readonly discipline: Discipline; readonly seatsMax: number }): void {
    this.#sync();
    this.#discipline = options.discipline;
    this.#seatsMax = options.seatsMax;
    this.#growQueues();
    this.#trimQueues();
    this.#seatWaiting();
  }

  /** @returns undefined if the work is refused. */
  submit(work: Work, hash: Hash64): Seating | undefined {
    this.#sync();
    if (this.#discipline.kind === "queue") return this.#enqueue(work, hash, this.#discipline);
    const seating = this.#seating(work, undefined);
    if (this.#discipline.kind === "reject" && !this.#fits(widthOf(work))) {
      if (!work.isSmall || !this.#canLend()) return undefined;
      seating.isLent = true;
    }
    this.#seat(seating);
    return seating;
  }

  /** Cancels a waiting work. @returns false if the work is no longer waiting. */
  cancel(seating: Seating): boolean {
    if (seating.state !== "waiting" || seating.queue === undefined) return false;
    this.#sync();
    const { queue } = seating;
    queue.waiting.splice(queue.waiting.indexOf(seating), 1);
    this.#leaveQueue(queue, seating);
    seating.state = "gone";
    this.#noteIdle(queue);
    this.#boundStart(queue);
    this.#demand();
    this.#seatWaiting();
    return true;
  }

  /** Ends a work. Its seats are free at once, or after its extra time. */
  finish(seating: Seating): void {
    assert(seating.state === "seated", "only a seated work finishes", { state: seating.state });
    this.#sync();
    const { work, queue } = seating;
    if (queue !== undefined) {
      const seconds = (this.#clock.monotonicMs() - seating.seatedMs) / 1000;
      queue.nextR += work.seats * (seconds - guessSeconds);
      this.#boundStart(queue);
    }
    if (work.extraMs <= 0) {
      this.#free(seating);
      return;
    }
    seating.state = "lingering";
    this.#clock.after("flowcontrol.wait", work.extraMs, () => {
      this.#sync();
      this.#free(seating);
    });
  }

  /**
   * Call when a seated work needs nothing of the server until `goOn` or its end: its seats may be lent meanwhile. A
   * work on a lent seat lends it on only while it waits for a client or another program, since the server has no
   * control over that time: otherwise hundreds of bodies that arrive drop by drop would hold all seats, and all lent
   * ones.
   */
  rest(seating: Seating, waitsFor: WaitsFor): void {
    if (seating.state !== "seated" || seating.isAtRest) return;
    if (seating.isLent && waitsFor === "turn") return;
    seating.isAtRest = true;
    this.#seatsAtRest += widthOf(seating.work);
    if (this.#waiting === 0) return;
    this.#sync();
    this.#seatWaiting();
  }

  goOn(seating: Seating): void {
    if (!seating.isAtRest) return;
    seating.isAtRest = false;
    this.#seatsAtRest -= widthOf(seating.work);
  }

  #free(seating: Seating): void {
    const width = widthOf(seating.work);
    this.goOn(seating);
    seating.state = "gone";
    this.#works.delete(seating);
    this.#seatsInUse -= width;
    if (seating.isLent) this.#seatsLent -= width;
    assert(this.#seatsInUse >= 0, "seats are given back once", { seatsInUse: this.#seatsInUse });
    const { queue } = seating;
    if (queue !== undefined) {
      queue.seated -= 1;
      queue.seatsInUse -= width;
      this.#noteIdle(queue);
    }
    this.#demand();
    this.#seatWaiting();
    this.#trimQueues();
  }

  #enqueue(work: Work, hash: Hash64, queuing: Queuing): Seating | undefined {
    const queue = this.#chooseQueue(hash, queuing);
    if (queue.waiting.length >= queuing.queueLengthMax) return undefined;
    if (isIdle(queue)) {
      this.#busyQueues += 1;
      queue.nextR = this.#virtualR;
    }
    const seating = this.#seating(work, queue);
    queue.waiting.push(seating);
    queue.waitingWork += totalWork(work);
    this.#waiting += 1;
    this.#seatsWaiting += widthOf(work);
    this.#boundStart(queue);
    this.#demand();
    this.#seatWaiting(seating);
    return seating;
  }

  /** Returns the queue of the hand with the least waiting work. The search starts at a rotating position, to avoid bias. */
  #chooseQueue(hash: Hash64, { queues, handSize }: Queuing): Queue {
    const hand = dealHand(hash, queues, handSize);
    const offset = this.#arrivals % handSize;
    this.#arrivals += 1;
    let best: Queue | undefined;
    for (let i = 0; i < handSize; i++) {
      const queue = this.#queues[hand[(offset + i) % handSize] ?? 0];
      if (queue === undefined) continue;
      if (best === undefined || queue.waitingWork < best.waitingWork) best = queue;
    }
    assert(best !== undefined, "a hand has a queue", { queues });
    return best;
  }

  #seating(work: Work, queue: Queue | undefined): Seating {
    return {
      work,
      state: "waiting",
      queue,
      arrivalR: this.#virtualR,
      arrivedMs: this.#syncedMs,
      seatedMs: 0,
      isAtRest: false,
      isLent: false,
    };
  }

  /** Seats waiting works. `arriving`: a work that is being submitted. Its caller reads its state, so onSeat is not called. */
  #seatWaiting(arriving?: Seating): void {
    while (this.#waiting > 0 && this.#hasSeats()) {
      const index = this.#nextQueue("any");
      const head = this.#queues[index]?.waiting[0];
      if (head === undefined || !this.#fits(widthOf(head.work))) break;
      this.#seatHead(index, head, arriving);
    }
    while (this.#waiting > 0 && this.#canLend()) {
      const index = this.#nextQueue("small");
      const head = this.#queues[index]?.waiting[0];
      if (head === undefined) return;
      head.isLent = true;
      this.#seatHead(index, head, arriving);
    }
  }

  #seatHead(index: number, head: Seating, arriving: Seating | undefined): void {
    const { queue } = head;
    if (queue === undefined) return;
    this.#robin = index;
    queue.waiting.shift();
    this.#leaveQueue(queue, head);
    queue.nextR += totalWork(head.work);
    this.#boundStart(queue);
    this.#seat(head);
    if (head !== arriving) head.work.onSeat();
  }

  #hasSeats(): boolean {
    return this.#seatsInUse - this.#seatsLent < this.#seatsMax || this.#works.size === 0;
  }

  #canLend(): boolean {
    return this.#seatsLent < this.#seatsAtRest;
  }

  /** Returns the index of the queue whose next work finishes first in virtual time. Ties rotate. -1: there is none. */
  #nextQueue(size: "any" | "small"): number {
    const finishes = this.#finishR;
    const count = this.#queues.length;
    let best = -1;
    let bestR = Number.POSITIVE_INFINITY;
    let index = this.#robin;
    for (let i = 0; i < count; i++) {
      if (++index >= count) index = 0;
      const finishR = finishes[index] ?? bestR;
      if (size === "small" && this.#queues[index]?.waiting[0]?.work.isSmall !== true) continue;
      if (finishR >= bestR) continue;
      bestR = finishR;
      best = index;
    }
    return best;
  }

  #fits(width: number): boolean {
    if (width > this.#seatsMax) return this.#works.size === 0;
    return this.#seatsInUse - this.#seatsLent + width <= this.#seatsMax;
  }

  #seat(seating: Seating): void {
    const width = widthOf(seating.work);
    seating.state = "seated";
    seating.seatedMs = this.#clock.monotonicMs();
    this.#works.add(seating);
    this.#seatsInUse += width;
    if (seating.isLent) this.#seatsLent += width;
    if (seating.queue !== undefined) {
      seating.queue.seated += 1;
      seating.queue.seatsInUse += width;
    }
    this.#demand();
  }

  #leaveQueue(queue: Queue, seating: Seating): void {
    queue.waitingWork =
      queue.waiting.length === 0 ? 0 : queue.waitingWork - totalWork(seating.work);
    this.#waiting -= 1;
    this.#seatsWaiting -= widthOf(seating.work);
  }

  /** Updates a queue's start and finish. Call it whenever the first work or the start has changed. */
  #boundStart(queue: Queue): void {
    const head = queue.waiting[0];
    if (head !== undefined && queue.nextR < head.arrivalR) queue.nextR = head.arrivalR;
    this.#finishR[queue.index] =
      head === undefined ? Number.POSITIVE_INFINITY : queue.nextR + totalWork(head.work);
  }

  #noteIdle(queue: Queue): void {
    if (!isIdle(queue)) return;
    this.#busyQueues -= 1;
    // No queue refers to virtual time any more. It restarts at 0, so that it never exceeds a double's precision.
    if (this.#busyQueues === 0) this.#virtualR = 0;
  }

  #sync(): void {
    const now = this.#clock.monotonicMs();
    const seconds = (now - this.#syncedMs) / 1000;
    this.#syncedMs = now;
    if (this.#busyQueues === 0) return;
    const wanted = this.#seatsInUse + this.#seatsWaiting;
    this.#virtualR += (seconds * Math.min(wanted, this.#seatsMax)) / this.#busyQueues;
  }

  #demand(): void {
    this.#onDemand(this.#seatsInUse + this.#seatsWaiting);
  }

  #growQueues(): void {
    const wanted = this.#discipline.kind === "queue" ? this.#discipline.queues : 0;
    if (this.#queues.length >= wanted) return;
    const finishes = new Float64Array(wanted).fill(Number.POSITIVE_INFINITY);
    finishes.set(this.#finishR.subarray(0, this.#queues.length));
    this.#finishR = finishes;
    while (this.#queues.length < wanted) {
      const index = this.#queues.length;
      this.#queues.push({ index, waiting: [], seated: 0, seatsInUse: 0, waitingWork: 0, nextR: 0 });
    }
  }

  #trimQueues(): void {
    const wanted = this.#discipline.kind === "queue" ? this.#discipline.queues : 0;
    while (this.#queues.length > wanted) {
      const last = this.#queues.at(-1);
      if (last === undefined || !isIdle(last)) return;
      this.#queues.pop();
    }
  }
}

function isIdle(queue: Queue): boolean {
  return queue.waiting.length === 0 && queue.seated === 0;
}

/** Returns the estimated seat-seconds of a work. */
function totalWork(work: WorkSize): number {
  return work.seats * guessSeconds + (work.finalSeats * work.extraMs) / 1000;
}
