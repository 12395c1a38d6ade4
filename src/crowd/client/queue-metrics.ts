/**
 * Metrics of work queues, under client-go's names and buckets. They outlive a term: queues are made anew for each term,
 * and the new queue of a name continues the counts of the old one.
 */
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";
import type { WorkQueueMetrics, WorkQueueObserver } from "./workqueue.ts";

/** client-go's buckets: 10 ns, times ten up to 10 s. The fourth and fifth have its rounding errors. */
const secondsBounds = [
  1e-8, 1e-7, 0.000001, 0.000009999999999999999, 0.00009999999999999999, 0.001, 0.01, 0.1, 1, 10,
];

const managerName = "kube-controller-manager";

/** The current queues by name. */
type CurrentQueues = () => Iterable<readonly [name: string, state: WorkQueueMetrics]>;

export class QueueMetrics {
  readonly #adds: Counter;
  readonly #retries: Counter;
  readonly #waits: Histogram;
  readonly #works: Histogram;
  #current: CurrentQueues = () => [];

  constructor(set: MetricSet) {
    const labels = ["name"];
    this.#adds = set.counter("workqueue_adds_total", "[BETA] Keys added.", labels);
    this.#retries = set.counter("workqueue_retries_total", "[BETA] Keys tried again.", labels);
    this.#waits = set.histogram(
      "workqueue_queue_duration_seconds",
      "[BETA] Time from a key's adding until a worker takes it in seconds.",
      labels,
      secondsBounds,
    );
    this.#works = set.histogram(
      "workqueue_work_duration_seconds",
      "[BETA] Time that a worker takes for a key in seconds.",
      labels,
      secondsBounds,
    );
    const state = (name: string, help: string, read: (queue: WorkQueueMetrics) => number): void =>
      set.gaugeOf(name, help, labels, () => this.#rows(read));
    set.gaugeOf(
      "running_managed_controllers",
      "[BETA] 1 for each controller that runs.",
      ["name", "manager"],
      () => [...this.#current()].map(([name]) => [[name, managerName], 1]),
    );
    state("workqueue_depth", "[BETA] Keys that wait.", ({ waiting }) => waiting);
    state(
      "workqueue_unfinished_work_seconds",
      "[BETA] Time since each key under work was taken, summed, in seconds.",
      ({ unfinishedMs }) => unfinishedMs / 1_000,
    );
    state(
      "workqueue_longest_running_processor_seconds",
      "[BETA] Time since the key that is longest under work was taken in seconds.",
      ({ longestRunningMs }) => longestRunningMs / 1_000,
    );
    state(
      "workqueue_longest_waiting_seconds",
      "Time since the key that waits longest was added in seconds.",
      ({ oldestWaitingMs }) => oldestWaitingMs / 1_000,
    );
  }

  /** Shows the queues of this term. */
  show(current: CurrentQueues): void {
    this.#current = current;
  }

  observer(name: string): WorkQueueObserver {
    const labels = [name];
    const adds = this.#adds.cell(labels);
    const retries = this.#retries.cell(labels);
    const waits = this.#waits.cell(labels);
    const works = this.#works.cell(labels);
    return {
      added: () => void adds.count++,
      taken: (waitedMs) => waits.observe(waitedMs / 1_000),
      done: (workedMs) => works.observe(workedMs / 1_000),
      retried: () => void retries.count++,
    };
  }

  *#rows(
    read: (queue: WorkQueueMetrics) => number,
  ): Generator<readonly [readonly string[], number]> {
    for (const [name, queue] of this.#current()) yield [[name], read(queue)];
  }
}
