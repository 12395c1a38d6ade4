/** What the registry's caches tell of themselves, named as upstream names it. */
import type { ResourceCore } from "#registry/cacher.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#server/metric-set.ts";

const labels = ["group", "resource"];

export function describeCaches(metrics: MetricSet, registry: Pick<OpenRegistry, "cores">): void {
  metrics.gaugeOf(
    "apiserver_watch_cache_initializations_total",
    "How often a watch cache began with all of its objects: once, and after each loss of the store's history.",
    labels,
    () => figures(registry, ({ initializations }) => initializations),
  );
  metrics.gaugeOf("apiserver_resource_objects", "Objects, by resource.", labels, () =>
    figures(registry, ({ cache }) => cache.state.size),
  );
}

function* figures(
  { cores }: Pick<OpenRegistry, "cores">,
  of: (core: ResourceCore) => number,
): Generator<readonly [readonly string[], number]> {
  for (const core of cores()) yield [[core.resource.group, core.resource.resource], of(core)];
}
