/** `pilothouse doctor export`: the doctor's rules for Prometheus and Grafana, on stdout. */
import { stringify } from "yaml";
import { alertRules, dashboard } from "#doctor/export.ts";
import { rules } from "#doctor/rules.ts";

export function exportRules(what: "alerts" | "dashboard"): void {
  const text =
    what === "alerts"
      ? stringify(alertRules(rules), { lineWidth: 0 })
      : `${JSON.stringify(dashboard(rules), undefined, 2)}\n`;
  process.stdout.write(text);
}
