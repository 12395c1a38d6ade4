/** The storage of a plane and its readers: stores, threads, registry, and the allocations of Services. */
import { fieldValue } from "#api/selectors/selectable-fields.ts";
import {
  openServiceNumbers,
  type OpenServiceNumbers,
} from "#apiserver/service-numbers/service-numbers.ts";
import { strategiesWithExpressions } from "#extension/expressions/written-expressions.ts";
import { createLister } from "#registry/lister.ts";
import { RangeAllocation } from "#registry/range-allocation.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { describeAsEtcd, storedBytes } from "#store/etcd-metrics.ts";
import { storeMetrics } from "#store/metrics.ts";
import { describeEncryption } from "../shared/encryption.ts";
import { describeCaches, describeStoreRequests } from "./cache-metrics.ts";
import type { Host, SupervisedHost } from "../shared/host.ts";
import * as limits from "../shared/limits.ts";
import type { Parts } from "../shared/parts.ts";
import { PlaneStores } from "./stores.ts";
import { processMetricSet } from "../shared/process-metric-set.ts";
import { countFailures } from "../shared/supervise.ts";
import { openThreads, type Threads } from "./threads.ts";
import type { PlaneOptions } from "./options.ts";

export interface Storage {
  readonly stores: PlaneStores;
  readonly registry: OpenRegistry;
  readonly threads: Threads;
  /** Metrics of the process, the stores and the caches. The server adds its own. */
  readonly metrics: MetricSet;
}

export async function openStorage(
  host: SupervisedHost,
  options: PlaneOptions,
  parts: Parts,
): Promise<Storage> {
  const stores = await parts.open("stores", () => PlaneStores.open(host, options), {
    close: (opened) => opened.close(),
  });
  const threads = await parts.open("threads", () => openThreads(host), {
    close: (opened) => opened.close(),
  });
  const registry = await parts.open(
    "registry",
    () => openRegistry(host, stores, { ...options, ...threads }),
    { close: (opened) => opened.close() },
  );
  const metrics = processMetricSet(options.featureGates);
  metrics.figuresOf(() => storeMetrics(stores.main.stats()));
  // An etcd that holds all objects has its own metrics.
  if (options.openStore === undefined) describeOwnStore(metrics, stores);
  describeStoreRequests(metrics, stores);
  describeCaches(metrics, registry);
  if (options.encryption !== undefined) describeEncryption(metrics, options.encryption);
  options.tracing?.describe(metrics);
  countFailures(metrics, host.supervisor);
  return { stores, registry, threads, metrics };
}

function describeOwnStore(metrics: MetricSet, stores: PlaneStores): void {
  metrics.gaugeOf(
    "apiserver_storage_size_bytes",
    "[STABLE] Bytes of the store: of its log and checkpoints, or of state and history where they are more.",
    ["storage_cluster_id"],
    () => [[["etcd-0"], storedBytes(stores.main.stats())]],
  );
  describeAsEtcd(metrics, stores.main, {
    quotaBytes: 0,
    holds: () => true,
    leaderChanges: () => 1,
  });
}

function openRegistry(
  host: Host,
  stores: PlaneStores,
  {
    compactPeriodMs = limits.compactEverySeconds * 1000,
    eventTtlSeconds = limits.eventTtlSeconds,
    runner,
  }: PlaneOptions & Pick<Threads, "runner">,
): OpenRegistry {
  const deps = { ...host, fieldValue, strategyFor: strategiesWithExpressions(runner) };
  return stores.openRegistry(deps, { compactPeriodMs, eventTtlSeconds });
}

const nodePorts = { group: "", resource: "rangeallocations" };

export function planeServiceNumbers(
  host: Host,
  options: PlaneOptions,
  { stores, registry }: Storage,
): OpenServiceNumbers {
  const ranges = options.serviceAddresses ?? limits.serviceAddresses;
  const range = `${ranges.firstNodePort}-${ranges.lastNodePort}`;
  const allocation = new RangeAllocation(stores.of(nodePorts), { range });
  const deps = { ...host, registry, lookup: createLister(registry), allocation };
  return openServiceNumbers(deps, ranges);
}
