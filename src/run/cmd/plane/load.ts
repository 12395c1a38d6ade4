/** What lists cost, for priority and fairness: counts and mean sizes of the server's own caches. */
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

/** What lists cost. Watches are counted by the gate itself. */
export function serverLoad(
  registry: OpenRegistry,
  served: readonly ResourceInfo[],
): Omit<Load, "watchers"> {
  // Only of what is served: a path that names nothing must not make a cache.
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

/** A namespace's first ones stand for the others. */
const looksMax = 64;

/** One namespace with large objects makes no list of another one dear. */
function meanBytesIn(state: KnownState, namespace: string): number | undefined {
  let [count, bytes] = [0, 0];
  state.scan(`${namespace}/`, `${namespace}0`, (object) => {
    bytes += object.bytes;
    return ++count < looksMax;
  });
  return count === 0 ? undefined : bytes / count;
}

/** The gate, with upstream's metrics of what requests take. */
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
