/** State of the sinks, by sink and source, as Prometheus metrics and for readiness. */
import type { Counter, MetricSet } from "#metrics/metric-set.ts";
import type { Batch, RecordBuffer } from "./record-buffer.ts";
import type { RecordType } from "./sink-driver.ts";

interface State {
  buffer: RecordBuffer | undefined;
  readonly positions: Map<string, string>;
  /** Time between the entry of the last written batch's oldest record into the buffer and its write. */
  lagMs: number;
}

export class SinkMetrics {
  readonly #states = new Map<string, State>();
  readonly #records: Counter;
  readonly #landed: Counter;
  readonly #bytes: Counter;
  readonly #failures: Counter;

  constructor(metrics: MetricSet, nowMs: () => number) {
    const of = (name: string, help: string, labels: readonly string[]): Counter =>
      metrics.counter(`pilothouse_sink_${name}`, help, labels);
    this.#records = of("records_taken_total", "Records taken from sources.", [
      "sink",
      "source",
      "type",
    ]);
    this.#landed = of("records_landed_total", "Records that are in the sink.", ["sink"]);
    this.#bytes = of("bytes_landed_total", "Bytes of their values.", ["sink"]);
    this.#failures = of("failures_total", "Sessions that ended with an error.", ["sink", "reason"]);
    const gauge = (name: string, help: string, value: (state: State) => number): void =>
      metrics.gaugeOf(`pilothouse_sink_${name}`, help, ["sink"], () =>
        [...this.#states].map(([sink, state]) => [[sink], value(state)]),
      );
    gauge("connected", "1 while the sink is written to.", ({ buffer }) => (buffer ? 1 : 0));
    gauge(
      "pending_bytes",
      "Taken from sources, and not in the sink yet.",
      ({ buffer }) => buffer?.bytes ?? 0,
    );
    gauge("pending_age_seconds", "Age of the oldest record that waits.", ({ buffer }) =>
      buffer?.oldestMs === undefined ? 0 : (nowMs() - buffer.oldestMs) / 1000,
    );
    gauge(
      "lag_seconds",
      "From a record's arrival until it was in the sink, of the last batch.",
      ({ lagMs }) => lagMs / 1000,
    );
    metrics.gaugeOf(
      "pilothouse_sink_position",
      "resourceVersion up to which a source is in the sink.",
      ["sink", "source"],
      () =>
        [...this.#states].flatMap(([sink, { positions }]) =>
          [...positions].map(([source, at]): [string[], number] => [
            [sink, source],
            Number.parseInt(at, 10) || 0,
          ]),
        ),
    );
  }

  connected(sink: string, positions: ReadonlyMap<string, string>, buffer: RecordBuffer): void {
    this.#states.set(sink, { buffer, positions: new Map(positions), lagMs: 0 });
  }

  disconnected(sink: string): void {
    const state = this.#states.get(sink);
    if (state !== undefined) state.buffer = undefined;
    else this.#states.set(sink, { buffer: undefined, positions: new Map(), lagMs: 0 });
  }

  /** Forgets a sink that this instance no longer writes to. */
  ended(sink: string): void {
    this.#states.delete(sink);
  }

  took(sink: string, source: string, type: RecordType): void {
    this.#records.add([sink, source, type]);
  }

  landed(sink: string, { records, oldestMs }: Batch, nowMs: number): void {
    const state = this.#states.get(sink);
    if (state === undefined) return;
    state.lagMs = nowMs - oldestMs;
    let bytes = 0;
    for (const { source, position, value } of records) {
      state.positions.set(source, position);
      bytes += value?.length ?? 0;
    }
    this.#landed.add([sink], records.length);
    this.#bytes.add([sink], bytes);
  }

  failed(sink: string, error: unknown): void {
    this.#failures.add([sink, error instanceof Error ? error.name : "unknown"]);
  }

  /** Names of the sinks without a connection. */
  away(): readonly string[] {
    return [...this.#states].filter(([, { buffer }]) => buffer === undefined).map(([sink]) => sink);
  }
}
