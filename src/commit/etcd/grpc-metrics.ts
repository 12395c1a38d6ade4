/**
 * Metrics of calls to the etcd API, under the names of grpc-ecosystem's Prometheus interceptor, as etcd counts them.
 *
 * Bounds only served methods are counted; codes are gRPC's.
 */
import type {
  Counter,
  CounterCell,
  Histogram,
  HistogramCell,
  MetricSet,
} from "#metrics/metric-set.ts";
import type { Clock } from "#platform/clock.ts";
import { Code } from "#wire/grpc.ts";
import type { Method } from "./call.ts";

/** The default buckets of the go-grpc-prometheus interceptor. */
const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Code names as grpc-go prints them (`DeadlineExceeded`); only `OK` is written in capitals. */
const codeNames = new Map(
  Object.entries(Code).map(([name, code]) => [
    code as number,
    name === "ok"
      ? "OK"
      : name === "cancelled"
        ? "Canceled"
        : name[0]?.toUpperCase() + name.slice(1),
  ]),
);

interface MethodCells {
  readonly labels: readonly string[];
  readonly started: CounterCell;
  readonly received: CounterCell;
  readonly sent: CounterCell;
  readonly seconds: HistogramCell;
  readonly handled: Map<number, CounterCell>;
}

export class GrpcMetrics {
  readonly #clock: Clock;
  readonly #started: Counter;
  readonly #handled: Counter;
  readonly #received: Counter;
  readonly #sent: Counter;
  readonly #seconds: Histogram;
  readonly #byPath = new Map<string, MethodCells>();

  constructor(clock: Clock, set: MetricSet) {
    const labels = ["grpc_type", "grpc_service", "grpc_method"];
    this.#clock = clock;
    this.#started = set.counter("grpc_server_started_total", "Calls begun.", labels);
    const coded = [...labels, "grpc_code"];
    this.#handled = set.counter("grpc_server_handled_total", "Calls ended, by code.", coded);
    this.#received = set.counter("grpc_server_msg_received_total", "Messages received.", labels);
    this.#sent = set.counter("grpc_server_msg_sent_total", "Messages sent.", labels);
    this.#seconds = set.histogram(
      "grpc_server_handling_seconds",
      "Time of a call in seconds.",
      labels,
      secondsBounds,
    );
  }

  begin(path: string, kind: Method["kind"]): CountedCall {
    const cells = this.#byPath.get(path) ?? this.#open(path, kind);
    cells.started.count++;
    const handled = (code: number): CounterCell => this.#codeCell(cells, code);
    return new CountedCall(this.#clock, cells, handled);
  }

  #open(path: string, kind: Method["kind"]): MethodCells {
    const [, service = "", method = ""] = path.split("/");
    const stream = method === "Snapshot" ? "server_stream" : "bidi_stream";
    const labels = [kind === "unary" ? "unary" : stream, service, method];
    const cells = {
      labels,
      started: this.#started.cell(labels),
      received: this.#received.cell(labels),
      sent: this.#sent.cell(labels),
      seconds: this.#seconds.cell(labels),
      handled: new Map<number, CounterCell>(),
    };
    this.#byPath.set(path, cells);
    return cells;
  }

  #codeCell({ labels, handled }: MethodCells, code: number): CounterCell {
    const known = handled.get(code);
    if (known !== undefined) return known;
    const cell = this.#handled.cell([...labels, codeNames.get(code) ?? "Unknown"]);
    handled.set(code, cell);
    return cell;
  }
}

/** One call, counted as handled once, with the first outcome. */
export class CountedCall {
  readonly #clock: Clock;
  readonly #cells: MethodCells;
  readonly #handled: (code: number) => CounterCell;
  readonly #beganMs: number;
  #ended = false;

  constructor(clock: Clock, cells: MethodCells, handled: (code: number) => CounterCell) {
    this.#clock = clock;
    this.#cells = cells;
    this.#handled = handled;
    this.#beganMs = clock.monotonicMs();
  }

  received(): void {
    this.#cells.received.count++;
  }

  sent(): void {
    this.#cells.sent.count++;
  }

  end(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handled(code).count++;
    this.#cells.seconds.observe((this.#clock.monotonicMs() - this.#beganMs) / 1000);
  }
}
