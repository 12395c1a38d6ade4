/**
 * The scheduling queue. A Pod without a node is in exactly one of three places, or being decided:
 *
 * When no Pod is active, a pop takes the first Pod in backoff, unless an error put it there.
 *
 *   add ──► active ──pop──► (decision) ──► placed
 *             ▲  ▲               │ no node fits
 *             │  │               ▼
 *             │  │         unschedulable ──(event that may help, or five minutes)──┐
 *             │  └── backoff ◄── 1 s doubling to 10 s since the last try ◄─────────┘
 *             └── backoff over
 *
 * Holds  active Pods are popped by priority, then by arrival. Gated Pods wait separately and are never popped.
 * Cost   add, pop O(log n); an event is evaluated once per signature of waiting Pods, not once per Pod.
 * Bounds one entry per unbound Pod of this scheduler.
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
  /** Order of arrival, kept over retries: of equal priorities, the older Pod is first. */
  readonly order: number;
  attempts: number;
  readonly addedMs: number;
  /** Time of the first entry into the active queue. Undefined: not yet, for example while gated. */
  firstActiveMs: number | undefined;
  /** Start of the current attempt. */
  poppedMs: number;
  /** End of the last attempt, from which the backoff and the five minutes are counted. */
  triedMs: number;
  /** End of the backoff, when the Pod is in backoff. */
  dueMs: number;
  /** Plugins that refused the Pod in the last attempt. */
  rejectors: ReadonlySet<string>;
  /** Waiting Pods with equal signatures are judged alike by every event. */
  signature: string;
}

/** Number of waiting Pods, by upstream's names of the parts of the queue. */
export interface PendingCounts {
  active: number;
  backoff: number;
  unschedulable: number;
  gated: number;
}

/** Called when a Pod enters a part of the queue, with upstream's names of parts and events. */
type OnIncoming = (queue: keyof PendingCounts, event: string) => void;

export interface QueueOptions {
  readonly backoffFirstMs: number;
  readonly backoffMostMs: number;
  /** Time after which a Pod is retried without any event, because hints may have gaps. */
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
  /** Ordered by windows of a second, within one like the active queue. An idle scheduler takes the first Pod early. */
  readonly #backoff = new Heap<Due>(
    (a, b) => windowOf(a) - windowOf(b) || byPriority(a.pod, b.pod),
  );
  /** Pods in backoff after errors; they are never taken early. */
  readonly #errorBackoff = new Heap<Due>((a, b) => a.dueMs - b.dueMs);
  readonly #unschedulable = new Map<string, Set<QueuedPod>>();
  #orders = 0;
  #activeCount = 0;
  #backoffTimer: Timer | undefined;
  #flushTimer: Timer | undefined;
  #closed = false;

  /** `wake` is called when the active queue gets its first Pod. `isHeld`: whether the Pod must wait for other Pods. */
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

  /** Counts waiting Pods by a walk over all Pods; meant for scrapes, not for scheduling cycles. */
  pendingCounts(): PendingCounts {
    const counts: PendingCounts = { active: 0, backoff: 0, unschedulable: 0, gated: 0 };
    for (const { place } of this.#pods.values()) if (place !== "out") counts[place]++;
    return counts;
  }

  /** Yields the Pods that fit no node, in no particular order. */
  *unschedulable(): Generator<QueuedPod> {
    for (const siblings of this.#unschedulable.values()) yield* siblings;
  }

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid);
  }

  /** Adds a Pod that is new, was changed in spec, labels or gates, or is no longer held; it may be tried at once. */
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

  /** Takes the next Pod, which stays known until `delete`, `refused` or `failed`. */
  pop(): QueuedPod | undefined {
    for (;;) {
      const pod = this.#active.pop() ?? this.#popBackoff();
      if (pod === undefined) return undefined;
      // Pods that left the heap, perhaps temporarily, leave stale entries in it.
      if (pod.place !== "active") continue;
      return this.#began(pod);
    }
  }

  /** Like `pop`, for one waiting Pod in any part of the queue but the gated one. Undefined: it is not there. */
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

  /** Activates the first Pod in backoff when no Pod is active. After upstream's SchedulerPopFromBackoffQ. */
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

  /** Whether the Pod was popped and has not been moved since. */
  isUnderDecision(pod: QueuedPod): boolean {
    return this.#pods.get(pod.info.uid) === pod && pod.place === "out";
  }

  /** Records that no node fits; the Pod waits for a change. `podSignature` is the signature of ScheduleAlgorithm. */
  refused(pod: QueuedPod, rejectors: ReadonlySet<string>, podSignature: string): void {
    if (this.#pods.get(pod.info.uid) !== pod) return;
    assert(pod.place === "out", "only a Pod under decision is refused", { place: pod.place });
    pod.rejectors = rejectors;
    pod.signature = `${podSignature}|${[...rejectors].join()}`;
    this.#rest(pod);
  }

  /** Records a refusal for the same reasons as the last one. */
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

  /** Records a failed bind; the Pod is retried after its backoff, without an event. */
  failed(pod: QueuedPod, notBeforeMs = 0): void {
    if (this.#pods.get(pod.info.uid) !== pod) return;
    this.#leave(pod);
    pod.triedMs = this.#clock.monotonicMs() + notBeforeMs;
    this.#retry(pod, "ScheduleAttemptFailure", this.#errorBackoff);
  }

  /** Requeues all Pods of each signature for one of whose Pods `mayHelp` is true. `event`: name of the event. */
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
    // 2^10 is above any sensible maximum.
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

/** Whether the entry is valid: Pods that left a heap, perhaps temporarily, leave stale entries in it. */
function isCurrent({ pod, dueMs }: Due): boolean {
  return pod.place === "backoff" && pod.dueMs === dueMs;
}

/** Whether the Pod has gates, or claims that are not yet made from their templates, and so cannot be tried. */
function isGated({ spec, status }: Pod): boolean {
  if ((spec?.schedulingGates ?? []).length > 0) return true;
  const made = status?.resourceClaimStatuses ?? [];
  return (spec?.resourceClaims ?? []).some(
    ({ name, resourceClaimTemplateName }) =>
      resourceClaimTemplateName !== undefined && !made.some((one) => one.name === name),
  );
}
