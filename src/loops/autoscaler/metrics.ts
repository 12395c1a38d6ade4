/** Metrics of the autoscaler, with upstream's names, labels and buckets. */
import type { Counter, Histogram, MetricSet } from "#metrics/metric-set.ts";
import type { Book } from "./book.ts";
import type { Plan } from "./plan.ts";

const seconds = [
  0.01, 0.05, 0.1, 0.5, 1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 75, 100, 125, 150, 200, 300,
  400, 500, 750, 1_000,
];
const name = (text: string): string => `cluster_autoscaler_${text}`;

interface Shown {
  readonly plan: Plan;
  readonly book: Book;
  readonly nowMs: number;
}

export class AutoscalerMetrics {
  readonly #durations: Histogram;
  readonly #errors: Counter;
  readonly #scaledUp: Counter;
  readonly #failedUps: Counter;
  readonly #scaledDown: Counter;
  readonly #evicted: Counter;
  readonly #activity: Counter;
  readonly #unregistered: Counter;
  #shown: Shown | undefined;

  constructor(set: MetricSet) {
    this.#durations = set.histogram(
      name("function_duration_seconds"),
      "[ALPHA] Time of parts of a loop in seconds.",
      ["function"],
      seconds,
    );
    this.#errors = set.counter(name("errors_total"), "[ALPHA] Loops that failed.", ["type"]);
    this.#scaledUp = set.counter(
      name("scaled_up_nodes_total"),
      "[ALPHA] Nodes that were added.",
      [],
    );
    this.#failedUps = set.counter(
      name("failed_scale_ups_total"),
      "[ALPHA] Requests for nodes that failed.",
      ["reason"],
    );
    this.#scaledDown = set.counter(
      name("scaled_down_nodes_total"),
      "[ALPHA] Nodes that were removed.",
      ["reason"],
    );
    this.#evicted = set.counter(name("evicted_pods_total"), "[ALPHA] Pods that were evicted.", [
      "eviction_result",
    ]);
    this.#activity = set.gauge(
      name("last_activity"),
      "[ALPHA] When a part of the loop ran last, in seconds since 1970.",
      ["activity"],
    );
    this.#unregistered = set.counter(
      name("old_unregistered_nodes_removed_count"),
      "[ALPHA] Nodes that did not register and were given back.",
      [],
    );
    this.#gauges(set);
  }

  /** Sets the values to export. Undefined: this process is not the leader. */
  show(shown: Shown | undefined): void {
    this.#shown = shown;
  }

  ran(
    part: "main" | "scaleUp" | "scaleDown" | "cloudProviderRefresh",
    ms: number,
    nowMs: number,
  ): void {
    this.#durations.observe([part], ms / 1_000);
    this.#activity.set([part], Math.floor(nowMs / 1_000));
  }

  failed(type: "cloudProviderError" | "apiCallError" | "internalError"): void {
    this.#errors.add([type], 1);
  }

  scaledUp(count: number): void {
    this.#scaledUp.add([], count);
  }

  failedScaleUp(reason: "apiCallError" | "timeout" | "cloudProviderError"): void {
    this.#failedUps.add([reason], 1);
  }

  scaledDown(reason: string): void {
    this.#scaledDown.add([reason], 1);
  }

  evicted(result: "succeeded" | "failed"): void {
    this.#evicted.add([result], 1);
  }

  gaveBack(count: number): void {
    this.#unregistered.add([], count);
  }

  #gauges(set: MetricSet): void {
    type Rows = readonly (readonly [readonly string[], number])[];
    const of = (
      metric: string,
      help: string,
      labels: string[],
      read: (shown: Shown) => Rows,
    ): void =>
      set.plainGaugeOf(name(metric), `[ALPHA] ${help}`, labels, () => {
        const shown = this.#shown;
        return shown === undefined ? [] : read(shown);
      });
    const one = (metric: string, help: string, read: (shown: Shown) => number): void =>
      of(metric, help, [], (shown) => [[[], read(shown)]]);
    one("cluster_safe_to_autoscale", "1 when enough nodes are ready, else 0.", ({ plan }) =>
      plan.isHealthy ? 1 : 0,
    );
    of("nodes_count", "Nodes by state.", ["state"], ({ plan: { health } }) => {
      const sum = (key: "upcoming" | "lost"): number =>
        health.groups.reduce((total, group) => total + group[key], 0);
      return [
        [["ready"], health.readyNodes],
        [["unready"], health.unreadyNodes],
        [["notStarted"], 0],
        [["unregistered"], sum("upcoming")],
        [["longUnregistered"], sum("lost")],
      ];
    });
    of("node_groups_count", "Groups that are looked after.", ["node_group_type"], ({ plan }) => [
      [["autoscaled"], plan.health.groups.filter(({ group }) => group.isOwn).length],
    ]);
    of("unschedulable_pods_count", "Pods that no node has a place for.", ["type"], ({ plan }) => [
      [["unschedulable"], plan.unschedulable],
    ]);
    one("unneeded_nodes_count", "Nodes that may go.", ({ plan }) => plan.scaleDown.unneeded.size);
    of("unremovable_nodes_count", "Nodes that stay, by reason.", ["reason"], ({ plan }) =>
      [...plan.scaleDown.unremovable].map(([reason, count]) => [[reason], count]),
    );
    one("scale_down_in_cooldown", "1 while nothing is removed, else 0.", ({ plan }) =>
      plan.scaleDown.isInCooldown ? 1 : 0,
    );
    one(
      "pending_node_deletions",
      "Nodes that are being removed.",
      ({ book }) => book.removing.size,
    );
    const byGroup = (
      metric: string,
      help: string,
      read: (one: Shown["plan"]["health"]["groups"][number], shown: Shown) => number,
    ): void =>
      of(metric, help, ["node_group"], (shown) =>
        shown.plan.health.groups.map((group) => [[group.group.id], read(group, shown)]),
      );
    byGroup("node_group_min_count", "The least nodes of a group.", ({ group }) => group.min);
    byGroup("node_group_max_count", "The most nodes of a group.", ({ group }) => group.max);
    byGroup(
      "node_group_target_count",
      "The nodes a group is to have.",
      ({ group }) => group.target,
    );
    byGroup("node_group_healthiness", "1 while no node of a group is lost, else 0.", ({ lost }) =>
      lost === 0 ? 1 : 0,
    );
  }
}
