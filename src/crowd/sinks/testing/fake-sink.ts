/**
 * A sink in memory that fails as real ones do: an append may be refused, land and not be acknowledged, or
 * land in part; a rival may open it.
 */
import type { FakeRandom } from "#platform/testing/random.ts";
import {
  type KnownObject,
  type SinkDriver,
  SinkFencedError,
  type SinkRecord,
  type SinkSession,
} from "../sink-driver.ts";

interface FakeSinkOptions {
  readonly random: FakeRandom;
  /** Percentage of appends that fail. */
  readonly failures: number;
  /** False: the sink cannot be read for its known objects. */
  readonly knows?: boolean;
}

export class FakeSink implements SinkDriver {
  readonly target = "fake";
  readonly atLeastOnce = false;
  readonly log: SinkRecord[] = [];
  readonly positions = new Map<string, string>();
  readonly #options: FakeSinkOptions;
  failures: number;
  #epoch = 0;
  opens = 0;

  constructor(options: FakeSinkOptions) {
    this.#options = options;
    this.failures = options.failures;
  }

  open(): Promise<SinkSession> {
    this.opens++;
    const epoch = ++this.#epoch;
    let broken = false;
    const append = async (records: readonly SinkRecord[]): Promise<void> => {
      await this.#hops();
      if (broken || epoch !== this.#epoch) throw new SinkFencedError("a later session");
      const fate =
        this.#options.random.below(100) < this.failures ? this.#options.random.below(3) : 3;
      const landed =
        fate === 0
          ? 0
          : fate === 1
            ? this.#options.random.below(records.length + 1)
            : records.length;
      for (const record of records.slice(0, landed)) this.#land(record);
      broken = fate !== 3;
      await this.#hops();
      if (broken) throw new Error("the sink did not answer");
    };
    return Promise.resolve({
      positions: new Map(this.positions),
      inFlightMax: 4,
      known: (source) => Promise.resolve(this.#known(source)),
      append: inOrder(append),
      close: () => Promise.resolve(),
    });
  }

  /** Takes the sink over as another instance would. */
  takeOver(): void {
    this.#epoch++;
  }

  #land(record: SinkRecord): void {
    this.log.push(record);
    this.positions.set(record.source, record.position);
  }

  #known(source: string): Map<string, KnownObject> | undefined {
    if (this.#options.knows === false) return undefined;
    const known = new Map<string, KnownObject>();
    for (const { type, key, uid, resourceVersion, source: of } of this.log) {
      if (of !== source || key === "") continue;
      if (type === "DELETED") known.delete(key);
      else known.set(key, { uid, resourceVersion });
    }
    return known;
  }

  async #hops(): Promise<void> {
    for (let left = this.#options.random.below(6); left > 0; left--) await Promise.resolve();
  }
}

/** Runs the calls in order: each waits for the one before it, and fails when that one fails. */
function inOrder(append: (records: readonly SinkRecord[]) => Promise<void>) {
  let last = Promise.resolve();
  return (records: readonly SinkRecord[]): Promise<void> => {
    const next = last.then(() => append(records));
    last = next;
    return next;
  };
}
