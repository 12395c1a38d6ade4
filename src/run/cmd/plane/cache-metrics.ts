/** Metrics of the registry's caches and of the duration of store requests, with upstream's names. */
import type { ResourceCore } from "#registry/cacher.ts";
import { prefixOfKey, resourceOfPrefix } from "#registry/keys.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import type { PlaneStores } from "./stores.ts";

const labels = ["group", "resource"];

export function describeCaches(metrics: MetricSet, registry: Pick<OpenRegistry, "cores">): void {
  metrics.gaugeOf(
    "apiserver_watch_cache_initializations_total",
    "[ALPHA] How often a watch cache began with all of its objects: once, and after each loss of the store's history.",
    labels,
    () => figures(registry, ({ initializations }) => initializations),
  );
  metrics.gaugeOf("apiserver_resource_objects", "[ALPHA] Objects, by resource.", labels, () =>
    figures(registry, ({ cache }) => cache.state.size),
  );
  describeWatchCaches(metrics, registry);
}

/** Describes the number of events that each cache received from the store, and its current state. */
function describeWatchCaches(metrics: MetricSet, registry: Pick<OpenRegistry, "cores">): void {
  const count = (name: string, help: string, of: (core: ResourceCore) => number): void =>
    metrics.gaugeOf(name, help, labels, () => figures(registry, of));
  count(
    "apiserver_storage_events_received_total",
    "[BETA] Events that came from the store, by resource.",
    ({ cache }) => cache.eventsApplied,
  );
  count(
    "apiserver_watch_cache_events_received_total",
    "[ALPHA] Events that the watch cache took, by resource.",
    ({ cache }) => cache.eventsApplied,
  );
  count(
    "apiserver_watch_cache_resource_version",
    "[ALPHA] Revision that the watch cache has reached, by resource.",
    ({ cache }) => cache.state.revision,
  );
  count(
    "apiserver_resource_size_estimate_bytes",
    "[ALPHA] Bytes of the stored objects, by resource.",
    ({ cache }) => cache.state.bytes,
  );
}

/** Upstream's bucket bounds, in seconds. */
const requestBounds = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];

/** Describes the requests to stores in other servers. Local stores have no series. */
export function describeStoreRequests(
  metrics: MetricSet,
  stores: Pick<PlaneStores, "observeRequests">,
): void {
  const histogram = metrics.histogram(
    "etcd_request_duration_seconds",
    "[ALPHA] How long requests to etcd take, by operation and resource.",
    ["operation", ...labels],
    requestBounds,
  );
  stores.observeRequests((operation, key, seconds) => {
    const prefix = key === undefined ? undefined : prefixOfKey(key);
    const { group, resource } = prefix === undefined ? noResource : resourceOfPrefix(prefix);
    histogram.observe([operation, group, resource], seconds);
  });
}

const noResource = { group: "", resource: "" };

function* figures(
  { cores }: Pick<OpenRegistry, "cores">,
  of: (core: ResourceCore) => number,
): Generator<readonly [readonly string[], number]> {
  for (const core of cores()) yield [[core.resource.group, core.resource.resource], of(core)];
}
