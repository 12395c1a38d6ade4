/**
 * Metrics as data and as Prometheus text: counters, gauges, histograms with bounded label sets.
 *
 * Holds  one number (or one row of buckets) per label combination, at most `seriesMax` of them per
 *        metric; further combinations are counted in one series whose labels all read "other".
 * Cost   an update is one string join and one Map look-up.
 */
const seriesMax = 5_000;
const separator = "\u0000";

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** One number by name; a gauge when it does not say. */
interface Figure {
  readonly name: string;
  readonly kind?: "counter" | "gauge";
  readonly help: string;
  readonly value: number;
}

interface Metric {
  text(lines: string[]): void;
}

class Series<T> {
  readonly #values = new Map<string, T>();
  readonly #other: string;
  readonly #make: () => T;

  constructor(labels: readonly string[], make: () => T) {
    this.#other = labels.map(() => "other").join(separator);
    this.#make = make;
  }

  at(values: readonly string[]): T {
    const wanted = values.join(separator);
    const known = this.#values.get(wanted);
    if (known !== undefined) return known;
    const key = this.#values.size < seriesMax ? wanted : this.#other;
    const value = this.#values.get(key) ?? this.#make();
    this.#values.set(key, value);
    return value;
  }

  entries(): IterableIterator<[string, T]> {
    return this.#values.entries();
  }
}

/** One series of a counter, for hot paths: no look-up per increment. */
export interface CounterCell {
  count: number;
}

export class Counter implements Metric {
  readonly #described: Described;
  readonly #series: Series<CounterCell>;
  readonly #type: "counter" | "gauge";

  constructor(described: Described, type: "counter" | "gauge") {
    this.#described = described;
    this.#type = type;
    this.#series = new Series(described.labels, () => ({ count: 0 }));
  }

  /** Values in the order of the metric's labels. */
  add(values: readonly string[], by = 1): void {
    this.cell(values).count += by;
  }

  set(values: readonly string[], value: number): void {
    this.cell(values).count = value;
  }

  value(values: readonly string[]): number {
    return this.cell(values).count;
  }

  /** To be kept and added to. */
  cell(values: readonly string[]): CounterCell {
    return this.#series.at(values);
  }

  text(lines: string[]): void {
    describe(lines, this.#described, this.#type);
    for (const [key, { count }] of this.#series.entries()) {
      lines.push(`${this.#described.name}${labelText(this.#described.labels, key)} ${count}`);
    }
  }
}

interface Row {
  readonly counts: number[];
  sum: number;
  count: number;
}

export class Histogram implements Metric {
  readonly #described: Described;
  readonly #bounds: readonly number[];
  readonly #series: Series<Row>;

  constructor(described: Described, bounds: readonly number[]) {
    this.#described = described;
    this.#bounds = bounds;
    const make = (): Row => ({ counts: bounds.map(() => 0), sum: 0, count: 0 });
    this.#series = new Series(described.labels, make);
  }

  observe(values: readonly string[], value: number): void {
    const row = this.#series.at(values);
    row.sum += value;
    row.count++;
    const at = this.#bounds.findIndex((bound) => value <= bound);
    if (at >= 0) row.counts[at] = (row.counts[at] ?? 0) + 1;
  }

  text(lines: string[]): void {
    const { name, labels } = this.#described;
    describe(lines, this.#described, "histogram");
    for (const [key, row] of this.#series.entries()) {
      let below = 0;
      this.#bounds.forEach((bound, at) => {
        below += row.counts[at] ?? 0;
        lines.push(`${name}_bucket${labelText(labels, key, `le="${bound}"`)} ${below}`);
      });
      lines.push(`${name}_bucket${labelText(labels, key, 'le="+Inf"')} ${row.count}`);
      lines.push(`${name}_sum${labelText(labels, key)} ${row.sum}`);
      lines.push(`${name}_count${labelText(labels, key)} ${row.count}`);
    }
  }
}

/** All metrics of one server; `text` is the body of /metrics. */
export class MetricSet {
  readonly #metrics: Metric[] = [];

  counter(name: string, help: string, labels: readonly string[]): Counter {
    return this.#add(new Counter({ name, help, labels }, "counter"));
  }

  gauge(name: string, help: string, labels: readonly string[]): Counter {
    return this.#add(new Counter({ name, help, labels }, "gauge"));
  }

  /** A gauge (or a counter, by its name) computed at each scrape; rows are label values and a number. */
  gaugeOf(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [readonly string[], number]>,
  ): void {
    this.#add({
      text: (lines) => {
        const type = name.endsWith("_total") ? "counter" : "gauge";
        describe(lines, { name, help, labels }, type);
        for (const [values, value] of read()) {
          lines.push(`${name}${labelText(labels, values.join(separator))} ${value}`);
        }
      },
    });
  }

  /** Figures without labels that are read together when somebody asks, such as those of the process. */
  figuresOf(read: () => Iterable<Figure>): void {
    this.#add({
      text: (lines) => {
        for (const { name, kind, help, value } of read()) {
          describe(lines, { name, help, labels: [] }, kind ?? "gauge");
          lines.push(`${name} ${value}`);
        }
      },
    });
  }

  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    bounds: readonly number[],
  ): Histogram {
    return this.#add(new Histogram({ name, help, labels }, bounds));
  }

  /** Ready-made exposition text of another room. */
  source(text: () => string): void {
    this.#add({ text: (lines) => void lines.push(text().trimEnd()) });
  }

  text(): string {
    const lines: string[] = [];
    for (const metric of this.#metrics) metric.text(lines);
    return `${lines.filter((line) => line !== "").join("\n")}\n`;
  }

  #add<T extends Metric>(metric: T): T {
    this.#metrics.push(metric);
    return metric;
  }
}

function describe(lines: string[], described: Described, type: string): void {
  lines.push(`# HELP ${described.name} ${described.help}`, `# TYPE ${described.name} ${type}`);
}

function labelText(labels: readonly string[], key: string, more = ""): string {
  const values = labels.length === 0 ? [] : key.split(separator);
  const pairs = labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? "")}"`);
  if (more !== "") pairs.push(more);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}
