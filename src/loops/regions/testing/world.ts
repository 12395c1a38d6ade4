/**
 * A coordinator and its regions for tests: API servers in memory, a clock that stands still, a network that can be cut, and in
 * each region a small controller that does what a Deployment's and a StatefulSet's controllers would say.
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import type { Client, ResourceRef, WatchCall, WatchedEvent } from "#client/client.ts";
import { createFakeApi, type FakeApi, type FakeCall } from "#client/testing/fake-api.ts";
import type { TimerName } from "#platform/clock.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { createCoordinator, type CoordinatorOptions } from "../coordinator/coordinator.ts";
import { RegionAgent } from "../agent/region-agent.ts";
import { annotations, managerName, refs, summaryName } from "../names.ts";
import type { Placement, PlacementStatus } from "../placement.ts";

export const deployments: ResourceRef = { group: "apps", version: "v1", resource: "deployments" };
export const statefulSets: ResourceRef = { group: "apps", version: "v1", resource: "statefulsets" };
export const system = "pilothouse-regions";

const testOptions: CoordinatorOptions = {
  namespace: system,
  regionsMax: 200,
  summaryPodsMax: 1_000,
  times: {
    probeEveryMs: 5_000,
    probeTimeoutMs: 10_000,
    unknownAfterMs: 40_000,
    leaseMs: 30_000,
    driftShare: 0.05,
    stopMs: 45_000,
  },
  recovery: { podsPerSecond: 10, burst: 20, shareOfRoom: 0.8 },
  summaryEveryMs: 5_000,
  stuckAfterMs: 60_000,
  forgetStuckAfterMs: 600_000,
};

export interface FakeRegion {
  readonly name: string;
  readonly api: FakeApi;
  /** Whether the coordinator's connection to the region is cut. */
  isCut: boolean;
  /** Whether the region's control plane is gone, so that its controllers do nothing either. */
  isDead: boolean;
  /** Whether the region's own controllers do nothing, so that a test sets the status of its objects itself. */
  isIdle: boolean;
  /** Number of replicas of each object that fit in the region. */
  room: number;
  /** Stops the region's agent. Undefined: it has no agent. */
  stopAgent: (() => void) | undefined;
}

interface JoinOptions {
  readonly labels?: Readonly<Record<string, string>>;
  /** Clock rate of the region's agent, relative to the world's clock. Absent: no agent runs. */
  readonly agentRate?: number;
  /** Last summary of an agent that is not running now. */
  readonly summary?: Readonly<Record<string, string>>;
  /** Whether the region takes part in global services. */
  readonly hasServices?: boolean;
}

const reads: ReadonlySet<FakeCall["verb"]> = new Set(["get", "list", "watch"]);

export class RegionsWorld {
  readonly clock = new FakeClock();
  readonly home = createFakeApi({ clock: this.clock });
  readonly regions = new Map<string, FakeRegion>();
  #stop = new AbortController();
  #running: Promise<void> | undefined;
  readonly #agents: Promise<void>[] = [];

  /** Adds a region, with its profile and Secret at home. */
  join(
    name: string,
    { labels = {}, agentRate, summary, hasServices }: JoinOptions = {},
  ): FakeRegion {
    const api = createFakeApi({ clock: this.clock });
    const region: FakeRegion = {
      name,
      api,
      isCut: false,
      isDead: false,
      isIdle: false,
      room: 1_000,
      stopAgent: undefined,
    };
    this.regions.set(name, region);
    api.put(refs.namespaces, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "default" },
    });
    api.put(refs.nodes, largeNode);
    if (agentRate !== undefined) region.stopAgent = this.#startAgent(region, agentRate);
    const summaryMetadata = { name: summaryName, namespace: system, uid: "summary" };
    if (summary !== undefined) {
      api.put(refs.configMaps, { metadata: summaryMetadata, data: summary } as AnyObject);
    }
    const hasAgent = agentRate !== undefined || summary !== undefined;
    const metadata = { name, namespace: system };
    this.put(refs.secrets, { kind: "Secret", metadata, data: { kubeconfig: name } });
    this.put(refs.profiles, {
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ClusterProfile",
      metadata: {
        ...metadata,
        uid: `profile-${name}`,
        labels,
        annotations: {
          ...(hasAgent ? { [annotations.agent]: "true" } : {}),
          ...(hasServices === true ? { [annotations.services]: "true" } : {}),
        },
      },
      spec: { clusterManager: { name: managerName } },
    });
    return region;
  }

  /** Removes the profile and the Secret; the region keeps running. */
  leave(name: string): void {
    this.home.drop(refs.profiles, system, name);
    this.home.drop(refs.secrets, system, name);
  }

  #startAgent(region: FakeRegion, rate: number): () => void {
    const clock = {
      nowMs: () => this.clock.nowMs() + 86_400_000,
      monotonicMs: () => 5_000_000 + this.clock.monotonicMs() * rate,
      after: (timer: TimerName, delayMs: number, f: () => void) =>
        this.clock.after(timer, delayMs / rate, f),
    };
    const client = guardedClient(region.api, () => region.isDead);
    const random = new FakeRandom(this.regions.size + 1);
    const agent = new RegionAgent(
      { client, clock, random, log: silentLog },
      { everyMs: 5_000, leaseMs: 30_000, startMs: 10_000, podsMax: 1_000 },
    );
    const stop = new AbortController();
    this.#agents.push(agent.run(stop.signal));
    return () => stop.abort();
  }

  async start(options: Partial<CoordinatorOptions> = {}): Promise<void> {
    this.#stop = new AbortController();
    const coordinator = createCoordinator(
      {
        client: this.home,
        clock: this.clock,
        log: silentLog,
        random: new FakeRandom(1),
        openRegion: (way) => {
          const name = way.kind === "push" ? way.kubeconfig : way.region;
          return { client: this.#way(name), close: () => {} };
        },
      },
      { ...testOptions, ...options },
    );
    this.#running = coordinator.run(this.#stop.signal);
    await this.rest();
    // A new placement waits for the first answers of the regions.
    await this.advance(1_000, 500);
  }

  /** Stops the coordinator like kill -9 would; only this test waits for the calls that were running. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.rest();
    await this.#running;
  }

  /** Ends the agents and the coordinator at the end of a test. */
  async close(): Promise<void> {
    for (const { stopAgent } of this.regions.values()) stopAgent?.();
    await this.stop();
    await Promise.all(this.#agents);
  }

  /** Waits until nothing more happens without time passing. */
  async rest(): Promise<void> {
    for (let before = -1; before !== this.#calls();) {
      before = this.#calls();
      await this.clock.advance(0);
      await settle();
      for (const region of this.regions.values()) reconcileRegion(region);
      await settle();
    }
  }

  async advance(ms: number, stepMs = 5_000): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      await this.clock.advance(Math.min(stepMs, left));
      await this.rest();
    }
  }

  #calls(): number {
    let all = this.home.calls.length;
    for (const { api } of this.regions.values()) all += api.calls.length;
    return all;
  }

  /** Returns the writes to home and regions since the last `forgetCalls`, for example `eu patch deployments default/web`. */
  writes(): readonly string[] {
    const apis = [
      ["home", this.home] as const,
      ...[...this.regions].map(([name, { api }]) => [name, api] as const),
    ];
    return apis.flatMap(([where, api]) =>
      api.calls
        .filter(({ verb }) => !reads.has(verb))
        .map((call) => `${where} ${call.verb} ${call.resource} ${call.namespace}/${call.name}`),
    );
  }

  forgetCalls(): void {
    this.home.calls.length = 0;
    this.home.compact();
    for (const { api } of this.regions.values()) {
      api.calls.length = 0;
      api.compact();
    }
  }

  /** Replicas as the regions have them, for example `eu=3 us=2`. */
  replicas(name: string, ref = deployments, namespace = "default"): string {
    return [...this.regions.values()]
      .map((region) => ({ region, object: region.api.peek<AnyObject>(ref, namespace, name) }))
      .filter(({ object }) => object !== undefined)
      .map(({ region, object }) => `${region.name}=${String(specOf(object)["replicas"])}`)
      .join(" ");
  }

  statusOf(placement: string): PlacementStatus {
    return this.home.peek<Placement>(refs.placements, "default", placement)?.status ?? {};
  }

  /** Replicas as the placement decided, for example `eu=3 us=2`. */
  division(placement: string): string {
    const [first] = this.statusOf(placement).objects ?? [];
    return (first?.regions ?? []).map(({ name, replicas }) => `${name}=${replicas}`).join(" ");
  }

  put(ref: ResourceRef, object: AnyObject): AnyObject {
    return this.home.put(ref, object);
  }

  #way(name: string): Client {
    const region = this.regions.get(name);
    if (region === undefined) throw new Error(`no region ${name}`);
    return guardedClient(region.api, () => region.isCut || region.isDead);
  }
}

const largeNode: AnyObject = {
  kind: "Node",
  metadata: { name: "n", uid: "n" },
  status: {
    allocatable: { cpu: "4000", memory: "4000Gi", pods: "5000" },
    conditions: [{ type: "Ready", status: "True" }],
  },
};

/** A client whose calls fail while its server cannot be reached. */
function guardedClient(api: FakeApi, isAway: () => boolean): Client {
  const guarded = <T>(call: () => Promise<T>): Promise<T> => {
    if (!isAway()) return call();
    return Promise.reject(Object.assign(new Error("connect ETIMEDOUT"), { code: "ETIMEDOUT" }));
  };
  return {
    get: (...args) => guarded(() => api.get(...args)),
    list: (...args) => guarded(() => api.list(...args)),
    create: (...args) => guarded(() => api.create(...args)),
    createSub: (...args) => guarded(() => api.createSub(...args)),
    update: (...args) => guarded(() => api.update(...args)),
    patch: (...args) => guarded(() => api.patch(...args)),
    delete: (...args) => guarded(() => api.delete(...args)),
    deleteCollection: (...args) => guarded(() => api.deleteCollection(...args)),
    watch: <T extends KubeObject>(
      ref: ResourceRef,
      call: WatchCall,
      deliver: (events: readonly WatchedEvent<T>[]) => void,
    ) =>
      guarded(() =>
        api.watch<T>(ref, call, (events) => {
          // Events sent into a cut connection are lost; `cut` also ends the watch.
          if (!isAway()) deliver(events);
        }),
      ),
    raw: () => guarded(() => Promise.resolve({ gitVersion: "v1.36.0" })),
  };
}

export function cut(region: FakeRegion): void {
  region.isCut = true;
  region.api.cutWatches();
}

export function kill(region: FakeRegion): void {
  region.isDead = true;
  region.api.cutWatches();
}

export function heal(region: FakeRegion): void {
  region.isCut = false;
  region.isDead = false;
}

function specOf(object: AnyObject | undefined): Readonly<Record<string, unknown>> {
  return isRecord(object?.["spec"]) ? object["spec"] : {};
}

/** Does at once the work of the region's own controllers and nodes; as many replicas become ready as fit. */
function reconcileRegion(region: FakeRegion): void {
  if (region.isDead || region.isIdle) return;
  for (const service of region.api.peekAll<AnyObject>(refs.services)) {
    const { clusterIP } = specOf(service);
    if (clusterIP !== undefined) continue;
    const spec = { ...specOf(service), clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9"] };
    region.api.put(refs.services, { ...service, spec: { ...spec, ipFamilies: ["IPv4"] } });
  }
  for (const ref of [deployments, statefulSets]) {
    for (const object of region.api.peekAll<AnyObject>(ref)) {
      const asked = Number(specOf(object)["replicas"] ?? 1);
      const ready = Math.min(asked, region.room);
      const generation = object.metadata?.generation ?? 0;
      const status = {
        observedGeneration: generation,
        replicas: asked,
        updatedReplicas: asked,
        readyReplicas: ready,
        availableReplicas: ready,
        conditions: [{ type: "Available", status: "True" }],
      };
      if (JSON.stringify(object["status"]) === JSON.stringify(status)) continue;
      region.api.put(ref, { ...object, status });
    }
  }
}

export function deployment(
  name: string,
  replicas: number,
  fields: Partial<AnyObject> = {},
): AnyObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    spec: { replicas, template: { spec: { containers: [{ name: "main", image: "web:1" }] } } },
    ...fields,
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      generation: 1,
      labels: { app: name },
      ...fields.metadata,
    },
  };
}

export function placement(name: string, spec: object): AnyObject {
  return {
    apiVersion: "regions.pilothouse.dev/v1alpha1",
    kind: "Placement",
    metadata: { name, namespace: "default", uid: `placement-${name}`, generation: 1 },
    spec: {
      resources: [{ apiVersion: "apps/v1", kind: "Deployment", name }],
      ...spec,
    },
  };
}
