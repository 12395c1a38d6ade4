/** Metrics of the Service address range, with upstream's names; there is one range, so one value of `cidr`. */
import type { Lister } from "#api/lister.ts";
import type { Counter, MetricSet } from "#metrics/metric-set.ts";

type Scope = "static" | "dynamic";

const addresses = { group: "networking.k8s.io", resource: "ipaddresses" };

export class AllocatorMetrics {
  readonly #range: string;
  readonly #given: Counter;
  readonly #failed: Counter;

  /** @param range such as `10.96.0.0/16` */
  constructor(set: MetricSet, lookup: Lister, range: string) {
    this.#range = range;
    const prefix = "kube_apiserver_clusterip_allocator";
    this.#given = set.counter(
      `${prefix}_allocation_total`,
      "[ALPHA] Addresses of Services that were given out: asked for (static), or any (dynamic).",
      ["cidr", "scope"],
    );
    this.#failed = set.counter(
      `${prefix}_allocation_errors_total`,
      "[ALPHA] Addresses of Services that could not be given out.",
      ["cidr", "scope"],
    );
    const usable = 2 ** (32 - Number(range.split("/")[1])) - 2;
    const used = (): number => lookup.list(addresses, "").length;
    set.gaugeOf(
      `${prefix}_allocated_ips`,
      "[ALPHA] Addresses that Services have.",
      ["cidr"],
      () => [[[range], used()]],
    );
    set.gaugeOf(
      `${prefix}_available_ips`,
      "[ALPHA] Addresses of the range that are free.",
      ["cidr"],
      () => [[[range], Math.max(0, usable - used())]],
    );
  }

  /** Counts the result of `allocate`, and rejects like it. */
  async counted<T>(scope: Scope, allocate: () => Promise<T>): Promise<T> {
    try {
      const given = await allocate();
      this.#given.add([this.#range, scope]);
      return given;
    } catch (error) {
      this.#failed.add([this.#range, scope]);
      throw error;
    }
  }
}
