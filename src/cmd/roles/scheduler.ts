/** `pilothouse scheduler`: the scheduler alone, before any API server. */
import { createInformerSet } from "#client/informer-set.ts";
import { createScheduler, schedulerDefaults, type Scheduler } from "#scheduler/scheduler.ts";
import { describeScheduler } from "../loop-metrics.ts";
import type { SchedulerFlags } from "./flags.ts";
import { runRole } from "./role-process.ts";
import { readSchedulerConfig } from "./scheduler-config.ts";

/** A file given with --config decides; the flags fill in what it leaves open. */
export function schedulerRole(given: SchedulerFlags): Promise<void> {
  const { flags, options } = readSchedulerConfig(given);
  return runRole("kube-scheduler", flags, ({ host, connection, metrics }) => {
    let scheduler: Scheduler | undefined;
    const names = options.profiles.map(({ schedulerName }) => schedulerName);
    describeScheduler(metrics, names.join(","), () => scheduler);
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
