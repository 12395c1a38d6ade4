/**
 * The doctor's findings as metrics, for `--watch`: how many there are by rule and severity, and the figures of each.
 *
 * Bounds: twenty findings of a rule, as in a report; a culprit is cut at `culpritMax`. What is gone has no series.
 */
import type { MetricSet } from "#metrics/metric-set.ts";
import { printable, type Report } from "./report.ts";

const culpritMax = 200;

export class FindingsMetrics {
  #report: Report = { findings: [], gaps: [] };
  #looks = 0;
  #failed = 0;
  #lastSeconds = 0;

  constructor(set: MetricSet) {
    set.gaugeOf("pilothouse_doctor_findings", "Findings now.", ["rule", "severity"], () => {
      const counts = new Map<string, [readonly string[], number]>();
      for (const { rule, severity } of this.#report.findings) {
        const count = counts.get(`${rule} ${severity}`)?.[1] ?? 0;
        counts.set(`${rule} ${severity}`, [[rule, severity], count + 1]);
      }
      return counts.values();
    });
    const figure = "Figures of each finding, as the report tells them.";
    set.gaugeOf("pilothouse_doctor_figure", figure, ["rule", "culprit", "figure"], () =>
      this.#figures(),
    );
    const plain = (name: string, help: string, read: () => number): void =>
      set.gaugeOf(name, help, [], () => [[[], read()]]);
    plain("pilothouse_doctor_looks_total", "Looks that were answered.", () => this.#looks);
    plain(
      "pilothouse_doctor_failed_looks_total",
      "Looks at an API server that did not answer.",
      () => this.#failed,
    );
    plain(
      "pilothouse_doctor_last_look_timestamp_seconds",
      "When the last look was answered.",
      () => this.#lastSeconds,
    );
    plain("pilothouse_doctor_gaps", "What the last look could not see.", () => {
      return this.#report.gaps.length;
    });
  }

  took(report: Report, nowMs: number): void {
    this.#report = report;
    this.#looks++;
    this.#lastSeconds = nowMs / 1_000;
  }

  failed(): void {
    this.#failed++;
  }

  /** If two findings have the same culprit and rule, the first one counts. */
  #figures(): Iterable<readonly [readonly string[], number]> {
    const rows = new Map<string, readonly [readonly string[], number]>();
    for (const { rule, culprit, figures } of this.#report.findings) {
      const who = printable(culprit).slice(0, culpritMax);
      for (const [name, value] of Object.entries(figures)) {
        const key = JSON.stringify([rule, who, name]);
        if (typeof value === "number" && !rows.has(key)) rows.set(key, [[rule, who, name], value]);
      }
    }
    return rows.values();
  }
}
