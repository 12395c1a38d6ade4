/**
 * A small etcd for tests: keys and values, and a change that happens whole or not at all. It is synchronous:
 * its users decide what the network does to requests and answers.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { FakeRandom } from "#platform/testing/random.ts";
import { equalBytes } from "#base/bytes.ts";
import type {
  Change,
  ChangeAnswer,
  ClusterKey,
  Condition,
  KeyRange,
  KeySink,
  LogCluster,
  ReadAnswer,
} from "../cluster.ts";

export class ModelCluster {
  readonly #keys = new Map<string, Uint8Array>();
  /** A request with more bytes of values than this is refused. */
  requestBytesMax: number;
  /** Puts are refused but deletes are not, as in an etcd with a raised NOSPACE alarm. */
  isFull = false;
  readonly #watches = new Set<(change: Change) => void>();
  readonly #sinks = new Set<KeySink>();
  /** Called after each change that took effect. */
  onChange: (change: Change) => void = () => undefined;

  constructor(options: { readonly requestBytesMax: number }) {
    this.requestBytesMax = options.requestBytesMax;
  }

  read(ranges: readonly KeyRange[]): ReadAnswer {
    return { kind: "read", lists: ranges.map((range) => this.#list(range)) };
  }

  count(range: KeyRange): number {
    return this.#list(range).length;
  }

  get(key: string): Uint8Array | undefined {
    return this.#keys.get(key);
  }

  change(change: Change): ChangeAnswer {
    let bytes = 0;
    for (const one of change.operations) if (one.kind === "put") bytes += one.value.length;
    if (bytes > this.requestBytesMax) return { kind: "too-large" };
    if (bytes > 0 && this.isFull) return { kind: "no-space", message: "database space exceeded" };
    if (!change.conditions.every((condition) => this.#isMet(condition))) return { kind: "unmet" };
    for (const one of change.operations) {
      if (one.kind === "put") this.#keys.set(one.key, one.value.slice());
      else for (const { key } of this.#list({ ...one, limit: 0 })) this.#keys.delete(key);
    }
    this.onChange(change);
    for (const tell of this.#watches) tell(change);
    return { kind: "changed" };
  }

  /** A copy of all keys; `restore` brings them back and breaks every watch. */
  snapshot(): ReadonlyMap<string, Uint8Array> {
    return new Map(this.#keys);
  }

  restore(snapshot: ReadonlyMap<string, Uint8Array>): void {
    this.#keys.clear();
    for (const [key, value] of snapshot) this.#keys.set(key, value);
    for (const sink of this.#sinks) sink.broke();
  }

  watch(prefix: string, sink: KeySink): { close(): void } {
    const tell = ({ operations }: Change): void => {
      const puts = operations.filter((one) => one.kind === "put");
      const keys = puts.filter(({ key }) => key.startsWith(prefix));
      if (keys.length > 0)
        sink.pushed(keys.map(({ key, value }) => ({ key, value: value.slice() })));
    };
    this.#watches.add(tell);
    this.#sinks.add(sink);
    const close = (): void => {
      this.#watches.delete(tell);
      this.#sinks.delete(sink);
    };
    return { close };
  }

  #isMet({ key, value }: Condition): boolean {
    const found = this.#keys.get(key);
    if (value === "any") return found !== undefined;
    if (value === undefined || found === undefined) return value === found;
    return equalBytes(value, found);
  }

  #list({ start, end, limit }: KeyRange): ClusterKey[] {
    const keys = [...this.#keys.keys()].filter((key) => key >= start && key < end).toSorted();
    const wanted = limit === 0 ? keys : keys.slice(0, limit);
    return wanted.map((key) => ({ key, value: (this.#keys.get(key) as Uint8Array).slice() }));
  }
}

/** Loses requests and answers, and applies changes late and twice. Every answer is immediate. */
export class FaultyCluster implements LogCluster {
  readonly #model: ModelCluster;
  readonly #random: FakeRandom;
  #late: Change[] = [];

  constructor(model: ModelCluster, random: FakeRandom) {
    this.#model = model;
    this.#random = random;
  }

  read(ranges: readonly KeyRange[]): Promise<ReadAnswer> {
    this.#deliverLate();
    const isLost = this.#random.chance(0.1);
    return Promise.resolve(isLost ? lost : this.#model.read(ranges));
  }

  change(change: Change): Promise<ChangeAnswer> {
    this.#deliverLate();
    const fault = this.#random.below(8);
    // The request is lost, delayed beyond the deadline, applied with its answer lost, or applied twice.
    if (fault === 0) return Promise.resolve(lost);
    if (fault <= 2) this.#late.push(change);
    if (fault === 1) return Promise.resolve(lost);
    const answer = this.#model.change(change);
    return Promise.resolve(fault === 3 ? lost : answer);
  }

  watch(prefix: string, sink: KeySink): { close(): void } {
    return this.#model.watch(prefix, sink);
  }

  #deliverLate(): void {
    const due = this.#late.filter(() => this.#random.chance(0.5));
    this.#late = this.#late.filter((change) => !due.includes(change));
    for (const change of due) this.#model.change(change);
  }
}

export const lost = { kind: "uncertain", message: "the connection broke" } as const;

/** A clock on which time passes as soon as a timer is set. */
export class HastyClock implements Clock {
  #nowMs = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(_name: string, delayMs: number, f: () => void): Timer {
    let isCancelled = false;
    queueMicrotask(() => {
      if (isCancelled) return;
      this.#nowMs += delayMs;
      f();
    });
    return { cancel: () => (isCancelled = true) };
  }
}
