/**
 * The scheduling queue. A Pod that wants a node is in exactly one of three places, or under decision:
 *
 * A pop with nothing active takes the first Pod in backoff, unless it is there after an error.
 *
 *   add ──► active ──pop──► (decision) ──► placed
 *             ▲  ▲               │ no node fits
 *             │  │               ▼
 *             │  │         unschedulable ──(event that may help, or five minutes)──┐
 *             │  └── backoff ◄── 1 s doubling to 10 s since the last try ◄─────────┘
 *             └── backoff over
 *
 * Holds  active Pods are popped by priority, then by arrival; gated Pods wait apart and are never popped.
 * Cost   add, pop O(log n); an event is asked once per signature of waiting Pods, not once per Pod.
 * Bounds as many entries as there are unbound Pods of this scheduler.
 */
import type { Pod } from "#api/gen/types.ts";
import { assert } from "#base/assert.ts";
import { Heap } from "#base/heap.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { PodInfo } from "./pod-info.ts";

type Place = "active" | "backoff" | "unschedulable" | "gated" | "out";

export interface QueuedPod {
  info: PodInfo;
  place: Place;
  /** Order of arrival, kept over retries: the elder of equal priority goes first. */
  readonly order: number;
  attempts: number;
  readonly addedMs: number;
  /** When it came into the active queue for the first time; gated Pods have not. */
  firstActiveMs: number | undefined;
  /** When the try under way began. */
  poppedMs: number;
  /** When the last try ended; backoff and the five minutes count from here. */
  triedMs: number;
  /** In backoff: when it ends. */
  dueMs: number;
  /** The plugins that refused it last. */
  rejectors: ReadonlySet<string>;
  /** Waiting Pods with the same one are judged alike by every event. */
  signature: string;
}

/** Waiting Pods, by upstream's names for where they wait. */
export interface PendingCounts {
  active: number;
  backoff: number;
  unschedulable: number;
  gated: number;
}

/** A Pod came into a part of the queue, by upstream's names of parts and events. */
type OnIncoming = (queue: keyof PendingCounts, event: string) => void;

export interface QueueOptions {
  readonly backoffFirstMs: number;
  readonly backoffMostMs: number;
  /** A Pod is tried again after this time though nothing happened: hints may have gaps. */
  readonly unschedulableMostMs: number;
}

export const queueTimes: QueueOptions = {
  backoffFirstMs: 1_000,
  backoffMostMs: 10_000,
  unschedulableMostMs: 300_000,
};

const flushEveryMs = 30_000;
/** Upstream's backoffQOrderingWindowDuration. */
const backoffWindowMs = 1_000;
const noRejectors: ReadonlySet<string> = new Set();

interface Due {
  readonly pod: QueuedPod;
  readonly dueMs: number;
}

export class SchedulingQueue {
  readonly #clock: Clock;
  readonly #options: QueueOptions;
  readonly #wake: () => void;
  readonly #incoming: OnIncoming;
  readonly #isHeld: (info: PodInfo) => boolean;
  readonly #pods = new Map<string, QueuedPod>();
  readonly #active = new Heap<QueuedPod>(byPriority);
  /** In windows of a second, within one as the active queue: a free scheduler takes the first before it is due. */
  readonly #backoff = new Heap<Due>(
    (a, b) => windowOf(a) - windowOf(b) || byPriority(a.pod, b.pod),
  );
  /** After errors: they wait until they are due. */
  readonly #errorBackoff = new Heap<Due>((a, b) => a.dueMs - b.dueMs);
  readonly #unschedulable = new Map<string, Set<QueuedPod>>();
  #orders = 0;
  #activeCount = 0;
  #backoffTimer: Timer | undefined;
  #flushTimer: Timer | undefined;
  #closed = false;

  /** `wake` is called when the active queue gets its first Pod. `isHeld`: others must come before it is tried. */
  constructor(
    deps: {
      clock: Clock;
      wake: () => void;
      incoming?: OnIncoming;
      isHeld?: (info: PodInfo) => boolean;
    },
    options: QueueOptions,
  ) {
    this.#clock = deps.clock;
    this.#wake = deps.wake;
    this.#incoming = deps.incoming ?? (() => {});
    this.#isHeld = deps.isHeld ?? (() => false);
    this.#options = options;
  }

  get size(): number {
    return this.#pods.size;
  }

  get activeCount(): number {
    return this.#activeCount;
  }

  /** Walks all Pods: a scrape calls it, no scheduling cycle. */
  pendingCounts(): PendingCounts {
    const counts: PendingCounts = { active: 0, backoff: 0, unschedulable: 0, gated: 0 };
    for (const { place } of this.#pods.values()) if (place !== "out") counts[place]++;
    return counts;
  }

  /** Pods that no node fits, in no order. */
  *unschedulable(): Generator<QueuedPod> {
    for (const siblings of this.#unschedulable.values()) yield* siblings;
  }

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid);
  }

  /** A new Pod, or one whose spec, labels or gates changed, or that is held no more: it may go at once. */
  put(info: PodInfo): void {
    const known = this.#pods.get(info.uid);
    const gated = isGated(info.pod) || this.#isHeld(info);
    if (known === undefined) {
      const nowMs = this.#clock.monotonicMs();
      const pod: QueuedPod = {
        info,
        place: "out",
        order: this.#orders++,
        attempts: 0,
        addedMs: nowMs,
        firstActiveMs: undefined,
        poppedMs: nowMs,
        triedMs: nowMs,
        dueMs: nowMs,
        rejectors: noRejectors,
        signature: "",
      };
      this.#pods.set(info.uid, pod);
      if (gated) this.#gate(pod, "UnschedulablePodAdd");
      else this.#activate(pod, "UnschedulablePodAdd");
      return;
    }
    this.#leave(known);
    known.info = info;
    if (gated) this.#gate(known, "UnschedulablePodUpdate");
    else if (known.attempts === 0) this.#activate(known, "UnschedulablePodUpdate");
    else this.#retry(known, "UnschedulablePodUpdate");
  }

  delete(uid: string): void {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    this.#leave(known);
    this.#pods.delete(uid);
  }

  /** Takes the next Pod; it stays known until `delete`, `refused` or `failed`. */
  pop(): QueuedPod | undefined {
    for (;;) {
      const pod = this.#active.pop() ?? this.#popBackoff();
      if (pod === undefined) return undefined;
      // Pods that left, or left and came back, leave dead entries in the heap.
      if (pod.place !== "active") continue;
      return this.#began(pod);
    }
  }

  /** As `pop`, one that waits for whatever but its gates; undefined when it does not. */
  take(uid: string): QueuedPod | undefined {
    const pod = this.#pods.get(uid);
    if (pod === undefined || pod.place === "out" || pod.place === "gated") return undefined;
    return this.#began(pod);
  }

  #began(pod: QueuedPod): QueuedPod {
    this.#leave(pod);
    pod.attempts++;
    pod.poppedMs = this.#clock.monotonicMs();
    return pod;
  }

  /** Nothing is active: the first of those that wait for their backoff becomes so. After upstream's SchedulerPopFromBackoffQ. */
  #popBackoff(): QueuedPod | undefined {
    for (;;) {
      const first = this.#backoff.pop();
      if (first === undefined) return undefined;
      if (!isCurrent(first)) continue;
      first.pod.place = "active";
      first.pod.firstActiveMs ??= this.#clock.monotonicMs();
      this.#activeCount++;
      this.#incoming("active", "PopFromBackoffQ");
      return first.pod;
    }
  }

  /** It was popped, and nothing has put it elsewhere since. */
  isUnderDecision(pod: QueuedPod): boolean {
    return this.#pods.get(pod.info.uid) === pod && pod.place === "out";
  }

  /** No node fits: waits for something to change. `podSignature` is that of ScheduleAlgorithm. */
  refused(pod: QueuedPod, rejectors: ReadonlySet<string>, podSignature: string): void {
    if (this.#pods.get(pod.info.uid) !== pod) return;
    assert(pod.place === "out", "only a Pod under decision is refused", { place: pod.place });
    pod.rejectors = rejectors;
    pod.signature = `${podSignature}|${[...rejectors].join()}`;
    this.#rest(pod);
  }

  /** As the last time. */
  refusedAgain(pod: QueuedPod): void {
    if (this.#pods.get(pod.info.uid) !== pod) return;
    assert(pod.place === "out", "only a Pod under decision is refused", { place: pod.place });
    this.#rest(pod);
  }

  #rest(pod: QueuedPod): void {
    pod.triedMs = this.#clock.monotonicMs();
    pod.place = "unschedulable";
    this.#incoming("unschedulable", "ScheduleAttemptFailure");
    const siblings = this.#unschedulable.get(pod.signature);
    if (siblings === undefined) this.#unschedulable.set(pod.signature, new Set([pod]));
    else siblings.add(pod);
    this.#armFlush();
  }

  /** The bind failed: the Pod is retried after backoff; no event is needed. */
  failed(pod: QueuedPod, notBeforeMs = 0): void {
    if (this.#pods.get(pod.info.uid) !== pod) return;
    this.#leave(pod);
    pod.triedMs = this.#clock.monotonicMs() + notBeforeMs;
    this.#retry(pod, "ScheduleAttemptFailure", this.#errorBackoff);
  }

  /** Asks, for one Pod of each signature, whether the event may help; if so, requeues them all. `event` is its name. */
  moveAllToActiveOrBackoffQueue(mayHelp: (pod: QueuedPod) => boolean, event: string): void {
    for (const [signature, siblings] of this.#unschedulable) {
      const sample = siblings.values().next();
      if (sample.done === true || !mayHelp(sample.value)) continue;
      this.#unschedulable.delete(signature);
      for (const pod of siblings) this.#retry(pod, event);
    }
  }

  close(): void {
    this.#closed = true;
    this.#backoffTimer?.cancel();
    this.#flushTimer?.cancel();
  }

  #gate(pod: QueuedPod, event: string): void {
    pod.place = "gated";
    this.#incoming("gated", event);
  }

  #activate(pod: QueuedPod, event: string): void {
    assert(pod.place !== "active", "a Pod is active once", { pod: pod.info.key });
    pod.place = "active";
    pod.firstActiveMs ??= this.#clock.monotonicMs();
    this.#incoming("active", event);
    this.#active.push(pod);
    if (this.#activeCount++ === 0) this.#wake();
  }

  #retry(pod: QueuedPod, event: string, backoff = this.#backoff): void {
    const dueMs = pod.triedMs + this.backoffMs(pod.attempts);
    if (dueMs <= this.#clock.monotonicMs()) return this.#activate(pod, event);
    pod.place = "backoff";
    this.#incoming("backoff", event);
    pod.dueMs = dueMs;
    backoff.push({ pod, dueMs });
    this.#armBackoff();
    if (backoff === this.#backoff && this.#activeCount === 0) this.#wake();
  }

  backoffMs(attempts: number): number {
    const { backoffFirstMs, backoffMostMs } = this.#options;
    // 2^10 steps are past any sensible cap.
    const doublings = Math.min(Math.max(0, attempts - 1), 10);
    return Math.min(backoffMostMs, backoffFirstMs * 2 ** doublings);
  }

  #leave(pod: QueuedPod): void {
    const { place } = pod;
    pod.place = "out";
    if (place === "active") this.#activeCount--;
    if (place !== "unschedulable") return;
    const siblings = this.#unschedulable.get(pod.signature);
    const wasWaiting = siblings?.delete(pod) === true;
    assert(wasWaiting, "an unschedulable Pod waits under its signature", { pod: pod.info.key });
    if (siblings?.size === 0) this.#unschedulable.delete(pod.signature);
  }

  #armBackoff(): void {
    const firsts = [this.#backoff.peek(), this.#errorBackoff.peek()];
    const dueMs = Math.min(...firsts.map((first) => first?.dueMs ?? Number.POSITIVE_INFINITY));
    this.#backoffTimer?.cancel();
    if (dueMs === Number.POSITIVE_INFINITY || this.#closed) return;
    const delayMs = Math.max(0, dueMs - this.#clock.monotonicMs());
    this.#backoffTimer = this.#clock.after("scheduler.backoff", delayMs, () => this.#backoffOver());
  }

  #backoffOver(): void {
    const nowMs = this.#clock.monotonicMs();
    try {
      for (const backoff of [this.#backoff, this.#errorBackoff]) {
        for (;;) {
          const first = backoff.peek();
          if (first === undefined || first.dueMs > nowMs) break;
          backoff.pop();
          if (isCurrent(first)) this.#activate(first.pod, "BackoffComplete");
        }
      }
    } finally {
      this.#armBackoff();
    }
  }

  #armFlush(): void {
    if (this.#flushTimer !== undefined || this.#closed) return;
    this.#flushTimer = this.#clock.after("scheduler.flush", flushEveryMs, () => {
      this.#flushTimer = undefined;
      try {
        this.#flush();
      } finally {
        if (this.#unschedulable.size > 0) this.#armFlush();
      }
    });
  }

  #flush(): void {
    const beforeMs = this.#clock.monotonicMs() - this.#options.unschedulableMostMs;
    for (const [signature, siblings] of this.#unschedulable) {
      for (const pod of siblings) {
        if (pod.triedMs > beforeMs) continue;
        siblings.delete(pod);
        this.#retry(pod, "UnschedulableTimeout");
      }
      if (siblings.size === 0) this.#unschedulable.delete(signature);
    }
  }
}

function byPriority(a: QueuedPod, b: QueuedPod): number {
  return b.info.priority - a.info.priority || a.order - b.order;
}

function windowOf({ dueMs }: Due): number {
  return Math.floor(dueMs / backoffWindowMs);
}

/** Pods that left, or left and came back, leave dead entries in the heaps. */
function isCurrent({ pod, dueMs }: Due): boolean {
  return pod.place === "backoff" && pod.dueMs === dueMs;
}

/** It has gates, or claims that are still to be made from their templates: there is nothing to try. */
function isGated({ spec, status }: Pod): boolean {
  if ((spec?.schedulingGates ?? []).length > 0) return true;
  const made = status?.resourceClaimStatuses ?? [];
  return (spec?.resourceClaims ?? []).some(
    ({ name, resourceClaimTemplateName }) =>
      resourceClaimTemplateName !== undefined && !made.some((one) => one.name === name),
  );
}
