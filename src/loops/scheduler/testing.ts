/** A scheduler on an in-memory API server for tests, with short forms of nodes and Pods, and outcomes as text. */
import type { Event, Node, Pod, PodSpec, Taint } from "#api/gen/types.ts";
import { given } from "#base/given.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { createInformerSet } from "#client/informer-set.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { createFakeApi } from "#client/testing/fake-api.ts";
import type { Clock } from "#platform/clock.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { VolumeLookup } from "./claims.ts";
import type { Extender } from "./extender.ts";
import { SchedulerMetrics } from "./metrics.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Profile } from "./profile.ts";
import { createScheduler, schedulerDefaults } from "./scheduler.ts";

export const podsRef = { group: "", version: "v1", resource: "pods" };
export const nodesRef = { group: "", version: "v1", resource: "nodes" };
export const eventsRef = { group: "", version: "v1", resource: "events" };

/** A lookup without claims, volumes and classes. */
export const noVolumes: VolumeLookup = {
  claim: () => undefined,
  volume: () => undefined,
  storageClass: () => undefined,
  csiDriver: () => undefined,
  csiNode: () => undefined,
  attachmentsTo: () => [],
  storageCapacities: () => [],
  bestVolume: () => undefined,
  claimInUse: () => false,
  binding: {
    assumeVolume: () => undefined,
    assumeClaim: () => undefined,
    restoreVolume: () => undefined,
    restoreClaim: () => undefined,
    updateVolume: (volume) => Promise.resolve(volume),
    updateClaim: (claim) => Promise.resolve(claim),
    shownVolume: () => undefined,
    shownClaim: () => undefined,
    csiNode: () => undefined,
    until: () => Promise.resolve(),
  },
};

interface NodeShape {
  readonly cpu?: string;
  readonly memory?: string;
  readonly pods?: string;
  readonly zone?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
}

export function makeNode(name: string, shape: NodeShape = {}): Node {
  const { cpu = "4", memory = "16Gi", pods = "110", zone, labels, taints, unschedulable } = shape;
  const zoned = zone === undefined ? {} : { "topology.kubernetes.io/zone": zone };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...zoned, ...labels } },
    spec: {
      ...given({ taints, unschedulable }),
    },
    status: { allocatable: { cpu, memory, pods, "ephemeral-storage": "100Gi" } },
  };
}

export interface PodShape {
  readonly cpu?: string;
  readonly memory?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Partial<PodSpec>;
  readonly nodeName?: string;
  readonly hostPort?: number;
  readonly priority?: number;
}

export function makePod(name: string, shape: PodShape = {}): Pod {
  const { cpu, memory, labels, spec, nodeName, hostPort, priority } = shape;
  const requests = {
    ...given({ cpu, memory }),
  };
  const ports = hostPort === undefined ? {} : { ports: [{ containerPort: 80, hostPort }] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "a", ...given({ labels }) },
    spec: {
      containers: [{ name: "c", image: "i", resources: { requests }, ...ports }],
      ...given({ nodeName, priority }),
      ...spec,
    },
    status: { phase: "Pending" },
  };
}

interface Rig {
  readonly clock: FakeClock;
  readonly api: FakeApi;
  readonly scheduler: Scheduler;
  /** Returns the lines of the metrics page whose name starts with `prefix`, without buckets. */
  samples(prefix: string): string[];
  /** Returns the name of the Pod's node, or "". */
  nodeOf(name: string): string;
  /** Returns the message of the condition `PodScheduled=False`, or "". */
  verdictOn(name: string): string;
  events(reason: string): string[];
  end(): Promise<void>;
}

/** Starts a scheduler and lets it settle; `seed` creates objects before the start. */
export async function startRig(
  seed: (api: FakeApi) => void,
  profiles: readonly Profile[] = schedulerDefaults.profiles,
  extenders: readonly Extender[] = [],
  clockFor: (clock: Clock, api: FakeApi) => Clock = (clock) => clock,
): Promise<Rig> {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  seed(api);
  const random = new FakeRandom(3);
  const deps = { client: api, clock: clockFor(clock, api), random, log: silentLog };
  const informers = createInformerSet(deps);
  const set = new MetricSet();
  const metrics = new SchedulerMetrics(set);
  const options = { ...schedulerDefaults, profiles, extenders };
  const scheduler = createScheduler({ ...deps, informers, metrics }, options);
  const stop = new AbortController();
  const running = Promise.all([informers.run(stop.signal), scheduler.run(stop.signal)]);
  await clock.advance(50);
  const pod = (name: string) => api.peek<Pod>(podsRef, "a", name);
  return {
    clock,
    api,
    scheduler,
    samples: (prefix) =>
      set
        .text()
        .split("\n")
        .filter((line) => line.startsWith(prefix) && !line.includes("_bucket{"))
        .toSorted(),
    nodeOf: (name) => pod(name)?.spec?.nodeName ?? "",
    verdictOn: (name) =>
      pod(name)?.status?.conditions?.find((c) => c.type === "PodScheduled" && c.status === "False")
        ?.message ?? "",
    events: (reason) =>
      api
        .peekAll<Event>(eventsRef)
        .filter((event) => event.reason === reason)
        .map((event) => event.message ?? ""),
    end: async () => {
      stop.abort();
      await running;
    },
  };
}
