/** Exports alert rules for Prometheus and a dashboard for Grafana, both from the thresholds of the rules. */
import type { Alert, Rule } from "./rule.ts";

/** Time for which an alert must hold, so that a short peak raises none. Pages wait half as long as warnings. */
const holdsFor = { page: "5m", warn: "10m" } as const;
const panelsPerRow = 2;
const panel = { width: 12, height: 8 } as const;

/** Returns the groups of a rule file for Prometheus (`rule_files`). */
export function alertRules(rules: readonly Rule[]): object {
  return {
    groups: [
      {
        name: "pilothouse-doctor",
        rules: alertsOf(rules).map(({ rule, alert }) => ({
          alert: alertName(rule.id),
          expr: `(${alert.query}) > ${alert.above}`,
          for: holdsFor[alert.severity],
          labels: { severity: alert.severity === "page" ? "critical" : "warning" },
          annotations: {
            summary: rule.title,
            description: `${rule.threshold} (${rule.source}). Who it is and what to do: pilothouse doctor.`,
          },
        })),
      },
    ],
  };
}

/** Returns a dashboard with one panel per query, and with the thresholds as lines. */
export function dashboard(rules: readonly Rule[]): object {
  const queries = new Map<string, { readonly rule: Rule; readonly alerts: Alert[] }>();
  for (const { rule, alert } of alertsOf(rules)) {
    const known = queries.get(alert.query);
    if (known === undefined) queries.set(alert.query, { rule, alerts: [alert] });
    else known.alerts.push(alert);
  }
  const datasource = { type: "prometheus", uid: "$datasource" };
  return {
    title: "Control plane: what the doctor looks at",
    uid: "pilothouse-doctor",
    schemaVersion: 39,
    time: { from: "now-3h", to: "now" },
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus" }] },
    panels: [...queries].map(([expr, { rule, alerts }], at) => ({
      id: at + 1,
      type: "timeseries",
      title: rule.title,
      description: `${rule.threshold} (${rule.source})`,
      datasource,
      gridPos: {
        x: (at % panelsPerRow) * panel.width,
        y: Math.floor(at / panelsPerRow) * panel.height,
        w: panel.width,
        h: panel.height,
      },
      targets: [{ refId: "A", datasource, expr }],
      fieldConfig: {
        defaults: {
          custom: { thresholdsStyle: { mode: "line" } },
          thresholds: { mode: "absolute", steps: stepsOf(alerts) },
        },
        overrides: [],
      },
    })),
  };
}

function alertsOf(rules: readonly Rule[]): readonly { rule: Rule; alert: Alert }[] {
  return rules.flatMap((rule) => (rule.alerts ?? []).map((alert) => ({ rule, alert })));
}

function stepsOf(alerts: readonly Alert[]): readonly object[] {
  const steps = alerts.map(({ above, severity }) => ({
    value: above,
    color: severity === "page" ? "red" : "orange",
  }));
  return [{ value: null, color: "green" }, ...steps];
}

/** Makes an alert's name: `store-disk` becomes `PilothouseStoreDisk`. */
function alertName(id: string): string {
  const words = id.split("-").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `Pilothouse${words.join("")}`;
}
