/** `pilothouse scheduler`: the scheduler alone, before any API server. */
import { createInformerSet } from "#client/informer-set.ts";
import { createScheduler, schedulerDefaults, type Scheduler } from "#scheduler/scheduler.ts";
import type { MetricSet } from "#server/metric-set.ts";
import type { SchedulerFlags } from "./flags.ts";
import { runRole } from "./role-process.ts";
import { readSchedulerConfig } from "./scheduler-config.ts";

/** A file given with --config decides; the flags fill in what it leaves open. */
export function schedulerRole(given: SchedulerFlags): Promise<void> {
  const { flags, options } = readSchedulerConfig(given);
  return runRole("kube-scheduler", flags, ({ host, connection, metrics }) => {
    let scheduler: Scheduler | undefined;
    describeScheduler(metrics, options.schedulerName, () => scheduler);
    return async (signal, term) => {
      const client = connection.client(term);
      const informers = createInformerSet({ ...host, client });
      const made = createScheduler(
        { ...host, client, informers },
        { ...schedulerDefaults, ...options },
      );
      scheduler = made;
      const loop = host.supervisor.run("scheduler", signal, () => made.run(signal));
      await Promise.all([loop, informers.run(signal)]);
      scheduler = undefined;
    };
  });
}

/** kube-scheduler's names. */
function describeScheduler(
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
