/**
 * Scheduler, controllers and hollow nodes of a plane, each as its own user over the direct transport:
 * what they may do is what their roles say, as anywhere.
 */
import { groups, serviceAccountGroups, serviceAccountUser } from "#auth/groups.ts";
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import { directClient } from "#client/direct.ts";
import type { RecoveryBudget } from "#client/recovery-budget.ts";
import type { RecoveryLimits } from "#client/recovery-rate.ts";
import { RecoveryMetrics } from "#client/recovery-metrics.ts";
import { QueueMetrics } from "#client/queue-metrics.ts";
import { countedHandler, RestMetrics } from "#client/rest-metrics.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { createInformerSet } from "#client/informer-set.ts";
import { pacedHandler } from "#client/paced-handler.ts";
import type { SignDetached } from "#controllers/bootstrap/cluster-info.ts";
import type { SigningOptions } from "#controllers/certificates/signing.ts";
import { ControllerMetrics } from "#controllers/metrics.ts";
import { createControllerManager, type ControllerManager } from "#controllers/manager.ts";
import type { CheckPolicyTypes } from "#controllers/policystatus/controller.ts";
import type { LegacyTokens } from "#controllers/serviceaccount/token-controller.ts";
import type { HollowDevices } from "#hollow/devices.ts";
import type { Hollow } from "#hollow/hollow.ts";
import type { ScheduledFailure } from "#hollow/failure-schedule.ts";
import type { ImagePatterns } from "#hollow/image-pull.ts";
import { hollowDefaults, type HollowOptions } from "#hollow/options.ts";
import type { PlainHandler } from "#platform/http.ts";
import { loopTurns } from "#platform/node/http/process-turns.ts";
import { SchedulerMetrics } from "#scheduler/metrics.ts";
import { createScheduler, schedulerDefaults, type Scheduler } from "#scheduler/scheduler.ts";
import { type HollowClients, stagedHollowNodes, type StagePlan } from "../shared/hollow-stages.ts";
import { hollowStartMs, hollowStopMs } from "../shared/limits.ts";
import type { SupervisedHost } from "../shared/host.ts";
import { openRecovery, pacedClient } from "../shared/recovery.ts";
import { componentUserAgent } from "../shared/user-agent.ts";

interface LoopOptions {
  readonly nodes: number;
  readonly metrics: MetricSet;
  /** Images that hollow nodes cannot pull. Absent: the default of the hollow nodes. */
  readonly unpullable?: ImagePatterns;
  /** Devices of hollow nodes. Absent: none. */
  readonly devices?: HollowDevices;
  /** Limits of pod movements. Absent: the loops move pods without a limit. */
  readonly recovery?: RecoveryLimits;
  /** Failures of hollow nodes and their times. Absent: none. */
  readonly failures?: readonly ScheduledFailure[];
  /** Address of the kubelets of hollow nodes. Absent: hollow nodes have no kubelet endpoint. */
  readonly kubelet?: NonNullable<HollowOptions["kubelet"]>;
  /** Stages that hollow nodes run. Absent: none. */
  readonly stages?: StagePlan;
  /** Root CA in PEM. */
  readonly rootCa: string;
  readonly mintLegacyToken: LegacyTokens["mint"];
  readonly certificates: SigningOptions;
  readonly signDetached: SignDetached;
  readonly checkPolicyTypes: CheckPolicyTypes;
}

export interface Loops {
  readonly scheduler: Scheduler;
  readonly controllers: ControllerManager;
  /** Resolves when every hollow node is registered. */
  readonly registered: Promise<void>;
  /** Resolves when every loop has stopped. */
  stop(): Promise<void>;
}

const systemNamespace = "kube-system";
const hollowUser = { name: "pilothouse:hollow-nodes", groups: [groups.masters] };

export function startLoops(
  host: SupervisedHost,
  server: PlainHandler,
  options: LoopOptions,
): Loops {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { clock } = host;
  const rest = new RestMetrics(options.metrics);
  const handler = countedHandler(pacedHandler(loopTurns, server), { clock, metrics: rest });
  const queues = new QueueMetrics(options.metrics);
  const managerUser = { name: "system:kube-controller-manager", groups: [] };
  const managerAgent = componentUserAgent("kube-controller-manager");
  const managerClient = directClient(handler, managerUser, managerAgent);
  const recovery = recoveryOf(host, managerClient, options);
  const clientFor = (account: string): Client => {
    const name = serviceAccountUser(systemNamespace, account);
    const user = { name, groups: serviceAccountGroups(systemNamespace) };
    const agent = componentUserAgent("kube-controller-manager", name);
    return pacedClient(directClient(handler, user, agent), recovery, host);
  };
  const managerInformers = createInformerSet({ ...host, client: managerClient });
  const legacyTokens = { client: managerClient, mint: options.mintLegacyToken };
  const controllers = createControllerManager(
    {
      ...host,
      clientFor,
      informers: managerInformers,
      ...given({ recovery }),
      metrics: new ControllerMetrics(options.metrics),
      observe: (name) => queues.observer(name),
    },
    { ...options, legacyTokens },
  );
  queues.show(() => controllers.metrics());
  const schedulerUser = { name: "system:kube-scheduler", groups: [] };
  const schedulerAgent = componentUserAgent("kube-scheduler", "scheduler");
  const schedulerOwn = directClient(handler, schedulerUser, schedulerAgent);
  const schedulerClient = pacedClient(schedulerOwn, recovery, host);
  const schedulerInformers = createInformerSet({ ...host, client: schedulerClient });
  const metrics = new SchedulerMetrics(options.metrics);
  const schedulerDeps = {
    ...host,
    client: schedulerClient,
    informers: schedulerInformers,
    metrics,
  };
  const scheduler = createScheduler(schedulerDeps, schedulerDefaults);
  const hollow = hollowNodes(host, hollowClients(handler), options);
  // Controllers and informers supervise each of their parts themselves, so they are not wrapped here.
  const run = (name: string, f: () => Promise<void>): Promise<void> =>
    host.supervisor.run(name, signal, f);
  const running = [
    controllers.run(signal),
    managerInformers.run(signal),
    run("scheduler", () => scheduler.run(signal)),
    schedulerInformers.run(signal),
    ...(hollow === undefined ? [] : [run("hollow", () => hollow.run(signal))]),
  ];
  return {
    scheduler,
    controllers,
    registered: hollow?.registered ?? Promise.resolve(),
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** Returns the budget that the scheduler and the controllers share. Undefined: their writes are not limited. */
function recoveryOf(
  host: SupervisedHost,
  client: Client,
  { recovery, metrics }: LoopOptions,
): RecoveryBudget | undefined {
  const recoveryMetrics = new RecoveryMetrics(metrics);
  const told = { client, metrics: recoveryMetrics, component: "pilothouse", sharesLoop: true };
  return openRecovery(host, told, recovery);
}

function hollowClients(handler: PlainHandler): HollowClients {
  const agent = componentUserAgent("kubelet");
  return {
    client: directClient(handler, hollowUser, agent),
    clientAs: (name) => directClient(handler, { name, groups: [groups.authenticated] }, agent),
  };
}

function hollowNodes(
  host: SupervisedHost,
  clients: HollowClients,
  {
    nodes,
    devices,
    stages,
    kubelet,
    failures,
    unpullable = hollowDefaults.unpullable,
  }: LoopOptions,
): Hollow | undefined {
  if (nodes === 0) return undefined;
  const times = { startMs: hollowStartMs, stopMs: hollowStopMs };
  const more = { unpullable, ...given({ devices, kubelet, failures }) };
  const options = { ...hollowDefaults, ...times, ...more, count: nodes };
  return stagedHollowNodes(host, clients, options, stages);
}
