/** `pilothouse scheduler`: the scheduler alone, against any API server. */
import type { Pod } from "#api/gen/types.ts";
import { createInformerSet } from "#client/informer-set.ts";
import { RecoveryMetrics } from "#client/recovery-metrics.ts";
import { SchedulerMetrics } from "#scheduler/metrics.ts";
import { podResourceMetrics } from "#scheduler/pod-resource-metrics.ts";
import { createScheduler, schedulerDefaults } from "#scheduler/scheduler.ts";
import { whenStuck } from "#scheduler/watchdog.ts";
import type { SupervisedHost } from "../shared/host.ts";
import type { Parts } from "../shared/parts.ts";
import { openRecovery, pacedClient, recoveryLimitsOf } from "../shared/recovery.ts";
import type { Started } from "../shared/role-life.ts";
import { componentUserAgent } from "../shared/user-agent.ts";
import type { SchedulerFlags } from "./flags.ts";
import { openRole, runRole, type WorkOf } from "../shared/role-process.ts";
import { readSchedulerConfig } from "./config.ts";
import { schedulerConfigz } from "./configz.ts";
import { openExtender } from "./extender-http.ts";

export function schedulerRole(flags: SchedulerFlags): Promise<void> {
  return runRole(flags, openScheduler);
}

const role = "kube-scheduler";

/** A file of --config takes precedence. The flags set the values that the file leaves open. */
export async function openScheduler(
  host: SupervisedHost,
  given: SchedulerFlags,
  parts: Parts,
  stopping: AbortSignal,
): Promise<Started> {
  const { flags, options, extenders, document } = readSchedulerConfig(given);
  const asked = await parts.open("extenders", () => extenders.map(openExtender), {
    close: (open) => open.forEach((one) => one.close()),
  });
  // Pods of the current term. As upstream, a follower has none and shows no series.
  let pods: () => readonly Pod[] = () => [];
  const workOf: WorkOf = ({ connection, metrics }) => {
    const counted = new SchedulerMetrics(metrics);
    const recovery = new RecoveryMetrics(metrics);
    return async (termEnds, term) => {
      // A stuck scheduler ends its loops without waiting for requests that get no answer.
      const givenUp = new AbortController();
      const signal = AbortSignal.any([termEnds, givenUp.signal]);
      const own = connection.client(term);
      const pacing = { client: own, metrics: recovery, component: role, sharesLoop: false };
      const budget = openRecovery(host, pacing, recoveryLimitsOf(flags));
      const client = pacedClient(own, budget, host);
      const informers = createInformerSet({ ...host, client });
      const made = createScheduler(
        { ...host, client, informers, metrics: counted },
        { ...schedulerDefaults, ...options, extenders: asked.map(({ extender }) => extender) },
      );
      const informer = informers.informer<Pod>({ group: "", version: "v1", resource: "pods" });
      pods = () => informer.list();
      const loop = host.supervisor.run("scheduler", signal, () => made.run(signal));
      const stuck = whenStuck(host.clock, () => made.metrics(), signal);
      try {
        await Promise.race([Promise.all([loop, informers.run(signal)]), stuck]);
      } finally {
        givenUp.abort();
        pods = () => [];
      }
    };
  };
  const userAgent = componentUserAgent(role, "scheduler");
  const configz = schedulerConfigz(flags, options.queue, document);
  const resources = podResourceMetrics(() => pods());
  return openRole(role, { userAgent, host, flags, workOf, configz, resources }, parts, stopping);
}
