/**
 * Leases and the keys attached to them, as sequenced, and the one timer that ends leases.
 *
 * Holds  a key is attached to at most one lease: the one that its newest version names. A lease's time
 *        starts when its grant is durable, and starts again when the store is opened: it may end late,
 *        never early. Deadlines use the monotonic clock, so jumps of the wall clock have no effect.
 * Cost   one set entry per attached key; one heap entry per lease.
 */
import { assert, must } from "#base/assert.ts";
import { Heap } from "#base/heap.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";

/** Timers of the host hold at most 31 bits of milliseconds; a longer wait is split. */
const delayMsMax = 24 * 3600 * 1000;

interface Lease {
  readonly id: bigint;
  readonly ttlMs: number;
  readonly keys: Set<string>;
  /** A renewal changes it; the heap entry keeps the old time and is corrected when it is popped. */
  dueMs: number;
}

/** A lease that ended but whose end is not durable yet. Only `Leases` reads it. */
export type EndingLease = Lease;

/** A lease as its owner may ask about it. */
export interface LeaseInfo {
  readonly id: bigint;
  readonly ttlMs: number;
  readonly remainingMs: number;
}

interface Deadline {
  readonly lease: Lease;
  readonly dueMs: number;
  /** Leases with equal times end in the order of granting, so that runs are reproducible. */
  readonly order: number;
}

export class Leases {
  readonly #clock: Clock;
  readonly #byId = new Map<bigint, Lease>();
  /** Leases whose end is not durable yet: the durable state still has their keys. */
  readonly #ending = new Set<Lease>();
  readonly #deadlines = new Heap<Deadline>((a, b) => a.dueMs - b.dueMs || a.order - b.order);
  #order = 0;
  #timer: Timer | undefined;
  #expire: ((id: bigint) => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Removes all leases. Only before `start`. */
  clear(): void {
    this.#byId.clear();
  }

  /** A positive id below 2^63, so that every client shows it the same. */
  unusedId(random: Random): bigint {
    for (;;) {
      const bytes = random.bytes(8);
      const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
      const id = view.getBigUint64(0) & 0x7fff_ffff_ffff_ffffn;
      if (id !== 0n && !this.#byId.has(id)) return id;
    }
  }

  has(id: bigint): boolean {
    return this.#byId.has(id);
  }

  /** Active leases and their time to live, in order of granting. */
  *all(): Generator<{ readonly id: bigint; readonly ttlMs: number }> {
    for (const { id, ttlMs } of this.#byId.values()) yield { id, ttlMs };
  }

  /** Every lease to which a key of the newest durable revision may be attached. */
  *allOfDurable(): Generator<{ readonly id: bigint; readonly ttlMs: number }> {
    yield* this.all();
    for (const { id, ttlMs } of this.#ending) if (!this.#byId.has(id)) yield { id, ttlMs };
  }

  grant(id: bigint, ttlMs: number): void {
    if (this.#byId.has(id)) return;
    this.#byId.set(id, { id, ttlMs, keys: new Set(), dueMs: Number.POSITIVE_INFINITY });
  }

  info(id: bigint): LeaseInfo | undefined {
    const lease = this.#byId.get(id);
    if (lease === undefined) return undefined;
    const remainingMs = Math.min(lease.ttlMs, lease.dueMs - this.#clock.monotonicMs());
    return { id, ttlMs: lease.ttlMs, remainingMs: Math.max(0, remainingMs) };
  }

  /** Restarts the lease's time. @returns whether the lease exists and has not expired. */
  renew(id: bigint): boolean {
    const lease = this.#byId.get(id);
    const nowMs = this.#clock.monotonicMs();
    if (lease === undefined || lease.dueMs === Number.POSITIVE_INFINITY) return false;
    // Its expiry may already be in flight, so a renewal must not be acknowledged.
    if (lease.dueMs <= nowMs) return false;
    lease.dueMs = nowMs + lease.ttlMs;
    return true;
  }

  /** Keys attached to a lease, sorted. */
  keys(id: bigint): readonly string[] {
    return [...(this.#byId.get(id)?.keys ?? [])].toSorted();
  }

  end(id: bigint): void {
    this.#byId.delete(id);
  }

  /** Like `end`, but `allOfDurable` includes the lease until `ended`. The lease must exist. */
  beginEnd(id: bigint): EndingLease {
    const lease = must(this.#byId.get(id), "a lease ended that is not there");
    this.end(id);
    this.#ending.add(lease);
    return lease;
  }

  /** Records that the lease's end is durable. */
  ended(lease: EndingLease): void {
    assert(this.#ending.delete(lease), "a lease ended twice");
  }

  /** Records that a key's newest version moved from lease `before` to lease `after`; 0n: no lease. */
  moveKey(key: string, before: bigint, after: bigint): void {
    if (before === after) return;
    if (before !== 0n) this.#byId.get(before)?.keys.delete(key);
    if (after !== 0n) this.#byId.get(after)?.keys.add(key);
  }

  /** From now on `expire` is called once for each lease that expires. */
  start(expire: (id: bigint) => void): void {
    this.#expire = expire;
    for (const id of this.#byId.keys()) this.startTime(id);
  }

  /** Starts the lease's time; the lease is durable. */
  startTime(id: bigint): void {
    const lease = this.#byId.get(id);
    if (lease === undefined) return;
    lease.dueMs = this.#clock.monotonicMs() + lease.ttlMs;
    this.#deadlines.push({ lease, dueMs: lease.dueMs, order: this.#order++ });
    if (this.#deadlines.peek()?.lease === lease) this.#arm();
  }

  stop(): void {
    this.#expire = undefined;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer?.cancel();
    const next = this.#deadlines.peek();
    if (next === undefined || this.#expire === undefined) return;
    const delayMs = Math.max(0, next.dueMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.after("store.lease", Math.min(delayMs, delayMsMax), () =>
      this.#fire(),
    );
  }

  #fire(): void {
    const nowMs = this.#clock.monotonicMs();
    try {
      for (;;) {
        const next = this.#deadlines.peek();
        if (next === undefined || next.dueMs > nowMs) break;
        this.#deadlines.pop();
        this.#due(next.lease, nowMs);
      }
    } finally {
      this.#arm();
    }
  }

  #due(lease: Lease, nowMs: number): void {
    if (this.#byId.get(lease.id) !== lease) return;
    if (lease.dueMs <= nowMs) this.#expire?.(lease.id);
    else this.#deadlines.push({ lease, dueMs: lease.dueMs, order: this.#order++ });
  }
}
