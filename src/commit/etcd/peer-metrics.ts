/**
 * Metrics of calls between replicas, under etcd's names. There is a series per replica that this one has called: those
 * that held the log, so a handful. A store without replicas has none.
 */
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";

/** etcd's buckets: 0.1 ms, doubled 15 times. */
const secondsBounds = Array.from({ length: 16 }, (_, power) =>
  Number((0.0001 * 2 ** power).toFixed(4)),
);

export class PeerMetrics {
  readonly #roundTrips: Histogram;
  readonly #failures: Counter;
  readonly #sent: Counter;
  readonly #received: Counter;

  constructor(set: MetricSet) {
    this.#roundTrips = set.histogram(
      "etcd_network_peer_round_trip_time_seconds",
      "Time until another replica answered in seconds.",
      ["To"],
      secondsBounds,
    );
    this.#failures = set.counter(
      "etcd_network_peer_sent_failures_total",
      "Calls to another replica that failed.",
      ["To"],
    );
    this.#sent = set.counter("etcd_network_peer_sent_bytes_total", "Bytes of calls sent.", ["To"]);
    this.#received = set.counter(
      "etcd_network_peer_received_bytes_total",
      "Bytes of answers received.",
      ["From"],
    );
  }

  sent(to: string, bytes: number): void {
    this.#sent.add([to], bytes);
  }

  answered(to: string, ms: number, bytes: number): void {
    this.#roundTrips.observe([to], ms / 1000);
    this.#received.add([to], bytes);
  }

  failed(to: string): void {
    this.#failures.add([to]);
  }
}
