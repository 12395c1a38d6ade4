/** What lists cost, for priority and fairness: counts and mean sizes of the server's own caches. */
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { GroupResource } from "#api/object.ts";
import { createGate, type Gate, type GateDeps, gateDefaults } from "#flowcontrol/gate.ts";
import type { Load } from "#flowcontrol/work.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import type { MetricSet } from "#metrics/metric-set.ts";

/**
 * Watchers are not charged to writes: upstream takes 5 ms of a seat for ten of them, and a delivery
 * here costs about a microsecond.
 */
export function serverLoad(registry: OpenRegistry, served: readonly ResourceInfo[]): Load {
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
    bytesPerObject(group, resource) {
      const stored = storedIn.get(`${group}/${resource}`);
      if (stored === undefined) return undefined;
      const { size, bytes } = registry.cache(stored).state;
      return size === 0 ? undefined : bytes / size;
    },
    watchers: () => 0,
  };
}

const seatBounds = [1, 2, 4, 10];

/** The gate, with upstream's metrics of what requests take. */
export function measuredGate(deps: Omit<GateDeps, "observer">, metrics: MetricSet): Gate {
  const where = ["priority_level", "flow_schema"];
  const seats = metrics.histogram(
    "apiserver_flowcontrol_work_estimated_seats",
    "Seats that requests were reckoned to take.",
    where,
    seatBounds,
  );
  const rejected = metrics.counter(
    "apiserver_flowcontrol_rejected_requests_total",
    "Requests turned away by priority and fairness.",
    [...where, "reason"],
  );
  const observer = {
    seated: (level: string, schema: string, _waitMs: number, count: number) =>
      seats.observe([level, schema], count),
    rejected: (level: string, schema: string, reason: string) =>
      rejected.add([level, schema, reason]),
    finished: () => {},
  };
  const gate = createGate({ ...deps, observer }, gateDefaults);
  const level = ["priority_level"];
  const inUse = "Seats in use now.";
  metrics.gaugeOf("apiserver_flowcontrol_current_executing_seats", inUse, level, () =>
    gate.levels().map(({ name, seatsInUse }) => [[name], seatsInUse] as const),
  );
  const limit = "Seats of the level, before it lends or borrows any.";
  metrics.gaugeOf("apiserver_flowcontrol_nominal_limit_seats", limit, level, () =>
    gate.levels().map(({ name, nominalSeats }) => [[name], nominalSeats] as const),
  );
  return gate;
}
