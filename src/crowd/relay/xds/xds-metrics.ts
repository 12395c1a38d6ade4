/** Metrics of the xDS face, and the last refusals with their reasons. */
import { servedTypes } from "#xds/type-urls.ts";
import type { Refusal } from "#xds/discovery-messages.ts";
import type { Counter, CounterCell, MetricSet } from "#metrics/metric-set.ts";

interface ShownRefusal {
  readonly time: string;
  readonly node: string;
  readonly typeUrl: string;
  readonly code: number;
  readonly reason: string;
}

/** Maximum length of a reason, which is the client's own text. */
const reasonLengthMax = 500;

export class XdsMetrics {
  readonly responses: CounterCell;
  readonly bytes: CounterCell;
  readonly ended: Counter;
  readonly #acknowledged: Counter;
  /** By type that the relay serves: its cell of `#acknowledged`. */
  readonly #ofServed: ReadonlyMap<string, CounterCell>;
  readonly #refused: Counter;
  readonly #refusalsShown: number;
  #refusals: ShownRefusal[] = [];

  constructor(set: MetricSet, limits: { readonly refusalsShown: number }) {
    this.#refusalsShown = limits.refusalsShown;
    this.responses = set
      .counter("relay_xds_responses_total", "Discovery responses sent.", [])
      .cell([]);
    this.bytes = set
      .counter("relay_xds_response_bytes_total", "Bytes of discovery responses.", [])
      .cell([]);
    this.ended = set.counter(
      "relay_xds_streams_ended_total",
      "Discovery streams that the relay ended, by why: unauthenticated, forbidden, invalid, limit, behind, unavailable, stopping, internal.",
      ["reason"],
    );
    this.#acknowledged = set.counter(
      "relay_xds_acks_total",
      "Discovery responses that clients took, by type.",
      ["type"],
    );
    this.#ofServed = new Map(
      servedTypes.map((typeUrl) => [typeUrl, this.#acknowledged.cell([shortType(typeUrl)])]),
    );
    this.#refused = set.counter(
      "relay_xds_nacks_total",
      "Discovery responses that clients refused, by type and the code that they gave; reasons are at /relay/xds.",
      ["type", "code"],
    );
  }

  get refusals(): readonly ShownRefusal[] {
    return this.#refusals;
  }

  answered(
    typeUrl: string,
    client: { readonly node: string; readonly time: string },
    refusal?: Refusal,
  ): void {
    const cell = this.#ofServed.get(typeUrl);
    if (refusal === undefined && cell !== undefined) {
      cell.count++;
      return;
    }
    const type = shortType(typeUrl);
    if (refusal === undefined) return this.#acknowledged.add([type]);
    const { code, message } = refusal;
    this.#refused.add([type, code >= 0 && code <= 16 ? String(code) : "other"]);
    const reason = message.slice(0, reasonLengthMax);
    const { node, time } = client;
    const shown = { time, node: node.slice(0, reasonLengthMax), typeUrl, code, reason };
    this.#refusals = [...this.#refusals, shown].slice(-this.#refusalsShown);
  }
}

/** Returns the last part of a type's name, such as `Cluster`; the name may be the client's own, so its length is bounded. */
function shortType(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf(".") + 1).slice(0, 64);
}
