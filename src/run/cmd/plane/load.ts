/** The cost of lists for priority and fairness: numbers and mean sizes of objects in the server's own caches. */
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { GroupResource } from "#api/object.ts";
import {
  createGate,
  type Gate,
  type GateConfig,
  type GateDeps,
  gateDefaults,
} from "#flowcontrol/gate.ts";
import { FlowMetrics } from "#flowcontrol/metrics.ts";
import type { Load } from "#flowcontrol/work.ts";
import type { KnownState } from "#watch/cache-state.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#metrics/metric-set.ts";

/** Returns the cost of lists. The gate itself counts watches. */
export function serverLoad(
  registry: OpenRegistry,
  served: readonly ResourceInfo[],
): Omit<Load, "watchers"> {
  // Only served resources are looked up, because an unknown path must not create a cache.
  const storedIn: ReadonlyMap<string, GroupResource> = new Map(
    served.flatMap(({ group, resource, storage }) =>
      storage === undefined ? [] : [[`${group}/${resource}`, storage] as const],
    ),
  );
  return {
    objects(group, resource, namespace) {
      const stored = storedIn.get(`${group}/${resource}`);
      return stored === undefined ? undefined : registry.count(stored, namespace);
    },
    bytesPerObject(group, resource, namespace) {
      const stored = storedIn.get(`${group}/${resource}`);
      if (stored === undefined) return undefined;
      const { state } = registry.cache(stored);
      if (namespace !== "") return meanBytesIn(state, namespace);
      return state.size === 0 ? undefined : state.bytes / state.size;
    },
  };
}

/** Number of a namespace's first objects that are sampled for the mean size. */
const looksMax = 64;

/** Measures one namespace, so that large objects in another one do not raise the cost. */
function meanBytesIn(state: KnownState, namespace: string): number | undefined {
  let [count, bytes] = [0, 0];
  state.scan(`${namespace}/`, `${namespace}0`, (object) => {
    bytes += object.bytes;
    return ++count < looksMax;
  });
  return count === 0 ? undefined : bytes / count;
}

/** Returns the gate, with upstream's metrics of the cost of requests. */
export function measuredGate(
  deps: Omit<GateDeps, "observer">,
  metrics: MetricSet,
  config: GateConfig = gateDefaults,
): Gate {
  const observer = new FlowMetrics(metrics);
  const gate = createGate({ ...deps, observer }, config);
  observer.describeLevels(metrics, () => gate.levels());
  return gate;
}
