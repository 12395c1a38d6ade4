/** Metrics of the controllers' queues, by the names of client-go. */
import type { ControllerManager } from "#controllers/manager.ts";
import type { MetricSet } from "#metrics/metric-set.ts";

export function describeQueues(
  metrics: MetricSet,
  current: () => ControllerManager | undefined,
): void {
  const rows = (read: (queue: QueueFigures) => number) => () =>
    [...(current()?.metrics() ?? [])].map(([name, queue]) => [[name], read(queue)] as const);
  const describe = (name: string, help: string, read: (queue: QueueFigures) => number): void =>
    metrics.gaugeOf(name, help, ["name"], rows(read));
  describe("workqueue_depth", "Keys that wait to be worked on.", ({ waiting }) => waiting);
  describe("workqueue_adds_total", "Keys added, in this term.", ({ added }) => added);
  describe("workqueue_retries_total", "Keys tried again, in this term.", ({ retries }) => retries);
  describe(
    "workqueue_longest_waiting_seconds",
    "How long the oldest waiting key has waited.",
    ({ oldestWaitingMs }) => oldestWaitingMs / 1_000,
  );
}

type QueueFigures =
  ReturnType<ControllerManager["metrics"]> extends ReadonlyMap<string, infer Q> ? Q : never;
