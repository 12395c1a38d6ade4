/** Figures of several runs on several targets, in the order in which they were first added; medians as a table. */
import { medianOf, type Target } from "./target.ts";

export interface Figures {
  add(what: string, value: number): void;
}

export class FigureTable {
  readonly #values = new Map<string, Map<Target["name"], number[]>>();

  of(name: Target["name"]): Figures {
    return {
      add: (what, value) => {
        const row = this.#values.get(what) ?? new Map<Target["name"], number[]>();
        this.#values.set(what, row);
        row.set(name, [...(row.get(name) ?? []), value]);
      },
    };
  }

  lines(names: readonly Target["name"][]): string[] {
    const head = [`| | ${names.join(" | ")} |`, `|---|${"---|".repeat(names.length)}`];
    const rows = [...this.#values].map(
      ([what, row]) =>
        `| ${what} | ${names.map((name) => cell(row.get(name) ?? [])).join(" | ")} |`,
    );
    return [...head, ...rows];
  }
}

/** The median, and the least and most of several. */
function cell(values: readonly number[]): string {
  if (values.length === 0) return "";
  const median = round(medianOf(values));
  if (values.length === 1) return median;
  return `${median} (${round(Math.min(...values))} - ${round(Math.max(...values))})`;
}

/** Three digits. */
function round(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
