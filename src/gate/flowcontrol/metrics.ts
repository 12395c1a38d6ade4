/**
 * Metrics of priority and fairness, with upstream's names, labels and buckets.
 *
 * Cost   per request one look-up of its level and schema, and additions.
 * Not    upstream's virtual times (current_r, s bounds) and demand statistics: this fair queue does not keep them.
 */
import type {
  Counter,
  CounterCell,
  Histogram,
  HistogramCell,
  MetricSet,
} from "#metrics/metric-set.ts";
import type { GateObserver } from "./gate.ts";
import type { LevelState } from "./level.ts";

const secondsBounds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const seatBounds = [1, 2, 4, 8, 16, 32, 64, 100];
const lengthBounds = [0, 10, 25, 50, 100, 250, 500, 1_000];
const prefix = "apiserver_flowcontrol_";

/** Time series of the requests of one schema at one level. */
interface FlowCells {
  readonly dispatched: CounterCell;
  readonly executing: CounterCell;
  readonly waiting: CounterCell;
  readonly seats: HistogramCell;
  readonly waited: HistogramCell;
  readonly executed: HistogramCell;
  readonly queueLength: HistogramCell;
}

export class FlowMetrics implements GateObserver {
  readonly #where = ["priority_level", "flow_schema"];
  readonly #dispatched: Counter;
  readonly #rejected: Counter;
  readonly #executing: Counter;
  readonly #executingSeats: Counter;
  readonly #waiting: Counter;
  readonly #seats: Histogram;
  readonly #waited: Histogram;
  readonly #executed: Histogram;
  readonly #queueLength: Histogram;
  readonly #flows = new Map<string, Map<string, FlowCells>>();

  constructor(set: MetricSet) {
    const where = this.#where;
    const counter = (name: string, help: string, labels = where): Counter =>
      set.counter(prefix + name, help, labels);
    const gauge = (name: string, help: string): Counter => set.gauge(prefix + name, help, where);
    this.#dispatched = counter("dispatched_requests_total", "[BETA] Requests that got a seat.");
    const why = [...where, "reason"];
    this.#rejected = counter("rejected_requests_total", "[BETA] Requests turned away.", why);
    this.#executing = gauge("current_executing_requests", "[BETA] Requests that have a seat.");
    this.#executingSeats = gauge("current_executing_seats", "[BETA] Seats that requests have.");
    this.#waiting = gauge("current_inqueue_requests", "[BETA] Requests that wait for a seat.");
    this.#seats = set.histogram(
      `${prefix}work_estimated_seats`,
      "[ALPHA] Seats that requests were reckoned to take.",
      where,
      seatBounds,
    );
    this.#waited = set.histogram(
      `${prefix}request_wait_duration_seconds`,
      "[BETA] Time in queues in seconds.",
      [...where, "execute"],
      secondsBounds,
    );
    this.#executed = set.histogram(
      `${prefix}request_execution_seconds`,
      "[ALPHA] Time with a seat in seconds.",
      [...where, "type"],
      secondsBounds,
    );
    this.#queueLength = set.histogram(
      `${prefix}request_queue_length_after_enqueue`,
      "[ALPHA] Requests that wait at the level, as each new one sees them, itself included.",
      where,
      lengthBounds,
    );
  }

  /** Describes the seats of the levels, and how they are shared. */
  describeLevels(set: MetricSet, levels: () => readonly LevelState[]): void {
    const seats = (name: string, help: string, read: (level: LevelState) => number): void =>
      set.gaugeOf(prefix + name, help, ["priority_level"], () =>
        levels().map((level) => [[level.name], read(level)] as const),
      );
    seats(
      "nominal_limit_seats",
      "[BETA] Seats before any are lent or borrowed.",
      (level) => level.nominalSeats,
    );
    seats("current_limit_seats", "[ALPHA] Seats of now.", (level) => level.currentSeats);
    seats("lower_limit_seats", "[ALPHA] Seats that are never lent.", (level) => level.minSeats);
    seats(
      "upper_limit_seats",
      "[ALPHA] Seats with all that may be borrowed.",
      (level) => level.maxSeats,
    );
    const own = "pilothouse_flowcontrol_";
    const level = ["priority_level"];
    set.gaugeOf(`${own}open_watches`, "Watches that are open.", level, () =>
      levels().map(({ name, openWatches }) => [[name], openWatches] as const),
    );
    const most = "The most watches that may be open, of levels that have a limit.";
    set.gaugeOf(`${own}open_watches_limit`, most, level, () =>
      levels()
        .filter(({ watchesMax }) => watchesMax !== Number.POSITIVE_INFINITY)
        .map(({ name, watchesMax }) => [[name], watchesMax] as const),
    );
  }

  queued(level: string, schema: string, waitingCount: number): void {
    const flow = this.#flow(level, schema);
    flow.waiting.count++;
    flow.queueLength.observe(waitingCount);
  }

  unqueued(level: string, schema: string): void {
    this.#flow(level, schema).waiting.count--;
  }

  seated(level: string, schema: string, waitMs: number, seats: number): void {
    const flow = this.#flow(level, schema);
    flow.dispatched.count++;
    flow.executing.count++;
    this.#executingSeats.add([level, schema], seats);
    flow.seats.observe(seats);
    flow.waited.observe(waitMs / 1_000);
  }

  rejected(level: string, schema: string, reason: string, waitMs: number): void {
    this.#rejected.add([level, schema, reason]);
    this.#waited.observe([level, schema, "false"], waitMs / 1_000);
  }

  finished(level: string, schema: string, executionMs: number, seats: number): void {
    const flow = this.#flow(level, schema);
    flow.executing.count--;
    this.#executingSeats.add([level, schema], -seats);
    flow.executed.observe(executionMs / 1_000);
  }

  #flow(level: string, schema: string): FlowCells {
    const schemas = this.#flows.get(level) ?? new Map<string, FlowCells>();
    const known = schemas.get(schema);
    if (known !== undefined) return known;
    const made = this.#cells([level, schema]);
    schemas.set(schema, made);
    this.#flows.set(level, schemas);
    return made;
  }

  #cells(where: readonly string[]): FlowCells {
    return {
      dispatched: this.#dispatched.cell(where),
      executing: this.#executing.cell(where),
      waiting: this.#waiting.cell(where),
      seats: this.#seats.cell(where),
      waited: this.#waited.cell([...where, "true"]),
      executed: this.#executed.cell([...where, "regular"]),
      queueLength: this.#queueLength.cell(where),
    };
  }
}
