/** Metrics of a process about itself: its build and its number of metrics, with component-base's names. */
import type { MetricSet } from "#metrics/metric-set.ts";
import { enabledGates, featureRows } from "./stock-flags/feature-gates.ts";
import { version } from "./user-agent.ts";

/** `gates`: feature gates as given in flags. */
export function describeBuild(metrics: MetricSet, gates: readonly string[]): void {
  const build: readonly (readonly [label: string, value: string])[] = [
    ["major", version.major],
    ["minor", version.minor],
    ["git_version", version.gitVersion],
    ["git_commit", version.gitCommit],
    ["git_tree_state", version.gitTreeState],
    ["build_date", version.buildDate],
    ["go_version", version.goVersion],
    ["compiler", version.compiler],
    ["platform", version.platform],
  ];
  metrics
    .gauge(
      "kubernetes_build_info",
      "[BETA] 1, of the version that is served.",
      build.map(([label]) => label),
    )
    .set(
      build.map(([, value]) => value),
      1,
    );
  metrics.gaugeOf(
    "registered_metrics_total",
    "[BETA] Metrics that this process has, by stability.",
    ["stability_level", "deprecated_version"],
    () => stabilities(metrics),
  );
  metrics.gaugeOf(
    "kubernetes_feature_enabled",
    "[BETA] 1 for a feature that is here, 0 for one that is not, by upstream's gate and its stage.",
    ["name", "stage"],
    () => featureRows(enabledGates(gates)),
  );
  const none = (name: string, help: string): void => {
    metrics.counter(name, help, []).cell([]);
  };
  none("disabled_metrics_total", "[BETA] 0: no metric can be turned off.");
  none("hidden_metrics_total", "[BETA] 0: a metric that is hidden upstream is not there.");
}

function* stabilities(metrics: MetricSet): Generator<readonly [readonly string[], number]> {
  const counts = new Map<string, number>();
  for (const { help } of metrics.declared()) {
    const level = /^\[(\w+)\] /.exec(help)?.[1];
    if (level !== undefined) counts.set(level, (counts.get(level) ?? 0) + 1);
  }
  for (const [level, count] of counts) yield [[level, ""], count];
}
