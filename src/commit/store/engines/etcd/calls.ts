/**
 * Calls to the cluster, repeated until the answer is certain.
 *
 * A change may be repeated because each one states what it expects: the epoch, and a free slot or the previous value
 * of its key. So it happens at most once. A repetition that finds its conditions unmet shows only that the caller
 * must read back whether one of its own attempts or another writer changed them.
 *
 * Bounds  an attempt follows the previous one after 20 ms to 0.5 s; after `giveUpMs` without a certain answer the
 *         call throws LogSilentError.
 */
import type { Clock } from "#platform/clock.ts";
import { LogSilentError } from "../engine.ts";
import type { Change, ClusterKey, KeyRange, KeySink, LogCluster } from "./cluster.ts";

/** The cluster's quota is used up; the message says what to do. */
class ClusterFullError extends Error {
  constructor(name: string, answer: string) {
    super(
      `${name} has no space left (${answer}): compact and defragment it, disarm its alarm, then start again`,
    );
    this.name = "ClusterFullError";
  }
}

/** The cluster refuses the request permanently. */
class ClusterRefusedError extends Error {
  constructor(name: string, answer: string) {
    super(`${name} refuses: ${answer}`);
    this.name = "ClusterRefusedError";
  }
}

const firstPauseMs = 20;
const pauseMsMax = 500;

export class Calls {
  readonly name: string;
  readonly #cluster: LogCluster;
  readonly #clock: Clock;
  readonly #giveUpMs: number;

  constructor(
    deps: { readonly cluster: LogCluster; readonly clock: Clock },
    options: { readonly giveUpMs: number },
  ) {
    this.#cluster = deps.cluster;
    this.name = deps.cluster.name ?? "the etcd cluster";
    this.#clock = deps.clock;
    this.#giveUpMs = options.giveUpMs;
  }

  /** Reads one list of keys per range. */
  async read(ranges: readonly KeyRange[]): Promise<readonly (readonly ClusterKey[])[]> {
    const patience = this.#patience();
    for (;;) {
      const answer = await this.#cluster.read(ranges);
      if (answer.kind === "read") return answer.lists;
      if (answer.kind === "refused") throw new ClusterRefusedError(this.name, answer.message);
      await patience.pause(answer.message);
    }
  }

  /** The value of one key; undefined: it does not exist. */
  async get(key: string): Promise<Uint8Array | undefined> {
    const [found] = await this.read([only(key)]);
    return found?.[0]?.value;
  }

  /** After an uncertain attempt "unmet" may mean that this very change happened; the caller reads it back. */
  async change(change: Change): Promise<"changed" | "unmet" | "too-large"> {
    const patience = this.#patience();
    for (;;) {
      const answer = await this.#cluster.change(change);
      switch (answer.kind) {
        case "changed":
        case "unmet":
        case "too-large":
          return answer.kind;
        case "no-space":
          throw new ClusterFullError(this.name, answer.message);
        case "refused":
          throw new ClusterRefusedError(this.name, answer.message);
        case "uncertain":
          await patience.pause(answer.message);
          break;
        default:
          answer satisfies never;
      }
    }
  }

  watch(prefix: string, sink: KeySink): { close(): void } {
    return this.#cluster.watch(prefix, sink);
  }

  #patience(): Patience {
    return new Patience(this.name, this.#clock, this.#giveUpMs);
  }
}

/** A range that contains only this key. */
export function only(key: string): KeyRange {
  return { start: key, end: `${key}\0`, limit: 1 };
}

class Patience {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #giveUpMs: number;
  readonly #startMs: number;
  #pauseMs = firstPauseMs;

  constructor(name: string, clock: Clock, giveUpMs: number) {
    this.#name = name;
    this.#clock = clock;
    this.#giveUpMs = giveUpMs;
    this.#startMs = clock.monotonicMs();
  }

  async pause(answer: string): Promise<void> {
    const pauseMs = this.#pauseMs;
    const waitedMs = this.#clock.monotonicMs() - this.#startMs;
    if (waitedMs >= this.#giveUpMs) throw silent(this.#name, waitedMs, answer);
    this.#pauseMs = Math.min(2 * pauseMs, pauseMsMax);
    await new Promise<void>((resolve) => {
      this.#clock.after("store.log", pauseMs, resolve);
    });
  }
}

function silent(name: string, forMs: number, answer: string): LogSilentError {
  const text = `${name} gave no certain answer for ${Math.round(forMs)} ms: ${answer}`;
  return new LogSilentError(text);
}
