/**
 * One sink: its sources, a bounded buffer, and the driver they are written through.
 *
 *   sources ──► buffer (bytes) ──► batches, some under way at once ──► the sink, with their positions
 *
 * K1  After any failure everything begins again from what the sink says it holds: nothing is remembered here.
 * K2  A sink that is away holds nobody else up, and holds no more memory than its buffer.
 */
import { Backoff } from "#client/backoff.ts";
import { sleep } from "#platform/clock.ts";
import { withinDeadline } from "./append-deadline.ts";
import { type Batch, type BufferLimits, RecordBuffer } from "./record-buffer.ts";
import { SinkConfigError, type SinkDriver, type SinkSession } from "./sink-driver.ts";
import { HistoryGoneError, SourceReader, type SinkSource } from "./source-reader.ts";
import type { SinkMetrics } from "./sink-metrics.ts";
import type { SourceDeps } from "./source-reader.ts";

export interface SinkDefinition {
  readonly name: string;
  readonly sources: readonly SinkSource[];
  readonly driver: SinkDriver;
}

const sinkLimits: BufferLimits = {
  bytesMax: 16 * 2 ** 20,
  batchBytesMax: 2 ** 18,
  batchRecordsMax: 256,
};
const backoffLimits = { firstMs: 200, mostMs: 15_000 };

type SinkDeps = Omit<SourceDeps, "counts"> & { readonly metrics: SinkMetrics };

export class Sink {
  readonly #deps: SinkDeps;
  readonly #definition: SinkDefinition;
  readonly #limits: BufferLimits;
  readonly #backoff: Backoff;

  constructor(deps: SinkDeps, definition: SinkDefinition, limits: BufferLimits = sinkLimits) {
    this.#deps = deps;
    this.#definition = definition;
    this.#limits = limits;
    this.#backoff = new Backoff(deps, backoffLimits);
  }

  /** Writes to the sink until `signal` aborts. Rejects with SinkConfigError. */
  async run(signal: AbortSignal): Promise<void> {
    const { metrics } = this.#deps;
    const { name } = this.#definition;
    while (!signal.aborted) {
      try {
        await this.#session(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof SinkConfigError) throw error;
        metrics.failed(name, error);
        await this.#pause(error, signal);
      } finally {
        metrics.disconnected(name);
      }
    }
  }

  async #session(signal: AbortSignal): Promise<void> {
    const { driver, sources, name } = this.#definition;
    const { metrics } = this.#deps;
    const names = sources.map((source) => source.name);
    const session = await driver.open(names, signal);
    const buffer = new RecordBuffer(this.#limits);
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    const counts = { took: metrics.took.bind(metrics, name) };
    metrics.connected(name, session.positions, buffer);
    const readers = sources.map(
      (source) => new SourceReader({ ...this.#deps, counts }, source, { session, buffer }),
    );
    try {
      await allUntilOneFails(
        [...readers.map((reader) => reader.run(until)), this.#send(session, buffer, until)],
        ended,
      );
    } finally {
      await session.close();
    }
  }

  async #send(session: SinkSession, buffer: RecordBuffer, signal: AbortSignal): Promise<void> {
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const underWay = new Set<Promise<void>>();
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    while (!signal.aborted) {
      await Promise.race([buffer.arrived(), stopped, failed.promise]);
      const batch = signal.aborted ? undefined : buffer.take();
      if (batch === undefined) continue;
      const sent = this.#append(session, buffer, batch)
        .catch(failed.reject)
        .finally(() => underWay.delete(sent));
      underWay.add(sent);
      if (underWay.size >= session.inFlightMax) {
        await Promise.race([...underWay, stopped, failed.promise]);
      }
    }
    await Promise.all(underWay);
  }

  async #append(session: SinkSession, buffer: RecordBuffer, batch: Batch): Promise<void> {
    const { clock, metrics } = this.#deps;
    await withinDeadline(clock, session.append(batch.records));
    buffer.landed(batch);
    this.#backoff.reset();
    metrics.landed(this.#definition.name, batch, clock.monotonicMs());
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const isPlanned = error instanceof HistoryGoneError;
    const delayMs = isPlanned ? 0 : this.#backoff.nextMs();
    this.#deps.log[isPlanned ? "info" : "warn"]("a sink begins again", {
      sink: this.#definition.name,
      target: this.#definition.driver.target,
      delayMs,
      error: error instanceof Error ? error.message : String(error),
    });
    await sleep(this.#deps.clock, "client.backoff", delayMs, signal);
  }
}

/** Aborts the others when one fails, and rejects once all have ended. */
async function allUntilOneFails(
  running: readonly Promise<void>[],
  ended: AbortController,
): Promise<void> {
  const results = await Promise.allSettled(
    running.map((one) =>
      one.catch((error: unknown) => {
        ended.abort();
        throw error;
      }),
    ),
  );
  const failure = results.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}
