/** Metrics of the scheduler and of the controllers' queues, by the names of kube-scheduler and client-go. */
import type { ControllerManager } from "#controllers/manager.ts";
import type { Scheduler } from "#scheduler/scheduler.ts";
import type { MetricSet } from "#metrics/metric-set.ts";

/** Of the scheduler that `current` gives; undefined: of another term, or none yet. */
export function describeScheduler(
  metrics: MetricSet,
  profile: string,
  current: () => Scheduler | undefined,
): void {
  const read = () => current()?.metrics();
  metrics.gaugeOf(
    "scheduler_pending_pods",
    "Pods that wait for a node, by queue.",
    ["queue"],
    () => {
      const { pending = 0, active = 0 } = read() ?? {};
      return [
        [["active"], active],
        [["unschedulable"], pending - active],
      ];
    },
  );
  metrics.gaugeOf(
    "scheduler_schedule_attempts_total",
    "Attempts to schedule, by result, in this term.",
    ["profile", "result"],
    () => {
      const { bound = 0, unschedulable = 0, bindErrors = 0 } = read() ?? {};
      return [
        [[profile, "scheduled"], bound],
        [[profile, "unschedulable"], unschedulable],
        [[profile, "error"], bindErrors],
      ];
    },
  );
  metrics.gaugeOf("scheduler_preemption_attempts_total", "Preemptions in this term.", [], () => [
    [[], read()?.preemptions ?? 0],
  ]);
}

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
