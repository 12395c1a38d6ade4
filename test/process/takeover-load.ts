/** The workloads of a takeover: which objects there are, and when all of them have settled. */
import type {
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  Job,
  Pod,
  ReplicaSet,
  StatefulSet,
} from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import { refs } from "#controllers/framework/refs.ts";

const namespace = "default";

/** Every object of the kinds that controllers write, at one moment. */
export interface World {
  readonly deployments: readonly Deployment[];
  readonly replicasets: readonly ReplicaSet[];
  readonly statefulsets: readonly StatefulSet[];
  readonly daemonsets: readonly DaemonSet[];
  readonly controllerrevisions: readonly ControllerRevision[];
  readonly jobs: readonly Job[];
  readonly cronjobs: readonly CronJob[];
  readonly pods: readonly Pod[];
  readonly services: readonly KubeObject[];
  readonly endpointslices: readonly KubeObject[];
}

const kinds = [
  "deployments",
  "replicasets",
  "statefulsets",
  "daemonsets",
  "controllerrevisions",
  "jobs",
  "cronjobs",
  "pods",
  "services",
  "endpointslices",
] as const satisfies readonly (keyof World & keyof typeof refs)[];

export async function readWorld(client: Client): Promise<World> {
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const { items } = await client.list<KubeObject>(refs[kind], { namespace });
      return [kind, items] as const;
    }),
  );
  return Object.fromEntries(lists) as unknown as World; // each kind was listed by its own ref
}

/** Values that only Go's encoder spells in its way are in it. */
function template(app: string, more: object = {}): object {
  return {
    metadata: {
      labels: { app },
      annotations: { "pilothouse.dev/run-seconds": "3600", note: "a < b & c > d" },
    },
    spec: {
      terminationGracePeriodSeconds: 1,
      tolerations: [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 }],
      containers: [
        {
          name: "c",
          image: "nginx:1",
          env: [{ name: "EMPTY", value: "" }],
          resources: { requests: { cpu: "1m", memory: "1Mi" } },
          readinessProbe: { httpGet: { path: "/?a=1&b=<2>", port: 80 } },
        },
      ],
      ...more,
    },
  };
}

export async function createLoad(client: Client, each: number): Promise<void> {
  for (let at = 0; at < each; at++) {
    const selected = (app: string) => ({
      selector: { matchLabels: { app } },
      template: template(app),
    });
    const jobSpec = { template: template(`job-${at}`, { restartPolicy: "Never" }) };
    const cron = {
      schedule: "* * * * *",
      concurrencyPolicy: "Forbid",
      jobTemplate: { spec: { template: template(`cron-${at}`, { restartPolicy: "Never" }) } },
    };
    const ports = [{ port: 80 }];
    await Promise.all([
      make(client, "deployments", `web-${at}`, { replicas: 2, ...selected(`web-${at}`) }),
      make(client, "services", `db-${at}`, { selector: { app: `db-${at}` }, ports }),
      make(client, "statefulsets", `db-${at}`, {
        replicas: 2,
        serviceName: `db-${at}`,
        ...selected(`db-${at}`),
      }),
      make(client, "daemonsets", `agent-${at}`, selected(`agent-${at}`)),
      make(client, "jobs", `job-${at}`, jobSpec),
      make(client, "cronjobs", `cron-${at}`, cron),
    ]);
  }
}

function make(
  client: Client,
  kind: keyof typeof refs,
  name: string,
  spec: object,
): Promise<unknown> {
  return client.create(refs[kind], namespace, { metadata: { name }, spec } as KubeObject);
}

/** Workloads of odd number are rolled to another image, so that rollouts are under way. */
export function isRolled(name: string): boolean {
  return /-\d*[13579](-|$)/.test(name);
}

export async function rollHalf(client: Client, each: number, image: string): Promise<void> {
  const value = [{ op: "replace", path: "/spec/template/spec/containers/0/image", value: image }];
  for (let at = 1; at < each; at += 2) {
    await Promise.all([
      client.patch(refs.deployments, namespace, `web-${at}`, "json", value),
      client.patch(refs.statefulsets, namespace, `db-${at}`, "json", value),
      client.patch(refs.daemonsets, namespace, `agent-${at}`, "json", value),
    ]);
  }
}

/** What has not settled yet, for the message of a wait that ends without it. */
export function unsettled(world: World, nodes: number): readonly string[] {
  const named = <T extends KubeObject>(
    list: readonly T[],
    settled: (one: T) => boolean,
  ): string[] => list.filter((one) => !settled(one)).map((one) => one.metadata?.name ?? "");
  return [
    ...named(world.deployments, isDeploymentSettled),
    ...named(world.statefulsets, isStatefulSetSettled),
    ...named(world.daemonsets, (set) => isDaemonSetSettled(set, nodes)),
    ...named(world.jobs, ({ status }) => status?.active === 1 && status.ready === 1),
    ...named(world.cronjobs, ({ status }) => status?.active?.length === 1),
    ...named(world.pods, ({ metadata }) => metadata?.deletionTimestamp === undefined),
  ];
}

function isDeploymentSettled({ metadata, spec, status = {} }: Deployment): boolean {
  const counts = [status.replicas, status.updatedReplicas, status.availableReplicas];
  const isSeen = status.observedGeneration === metadata?.generation;
  return isSeen && counts.every((count) => count === spec?.replicas);
}

function isStatefulSetSettled({ metadata, spec, status }: StatefulSet): boolean {
  const counts = [status?.updatedReplicas, status?.availableReplicas];
  const isSeen = status?.observedGeneration === metadata?.generation;
  const isCurrent = status?.currentRevision === status?.updateRevision;
  return isSeen && isCurrent && counts.every((count) => count === spec?.replicas);
}

function isDaemonSetSettled({ metadata, status }: DaemonSet, nodes: number): boolean {
  const counts = [status?.updatedNumberScheduled, status?.numberAvailable];
  const isSeen = status?.observedGeneration === metadata?.generation;
  return isSeen && counts.every((count) => count === nodes);
}
