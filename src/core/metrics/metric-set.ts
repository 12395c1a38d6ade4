/**
 * Metrics as data and as Prometheus text: counters, gauges, histograms with bounded label sets.
 *
 * In     label values in the order of the declared names. A help text begins with upstream's stability, `[STABLE] `.
 * Holds  one number (or one row of buckets) per label combination, at most `seriesMax` of them per
 *        metric; further combinations are counted in one series whose labels all read "other".
 * Cost   an update by label values is one string join and one Map look-up; a cell that its user keeps costs an
 *        addition. A scrape's is in `exposition.ts`.
 */
import { Exposition } from "./exposition.ts";

const seriesMax = 5_000;
const separator = "\u0000";

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** A named number; a gauge when `kind` is absent. */
interface Figure {
  readonly name: string;
  readonly kind?: "counter" | "gauge";
  readonly help: string;
  readonly value: number;
}

/** Returns rows of label values and a number; called at each scrape. */
type ReadRows = () => Iterable<readonly [values: readonly string[], value: number]>;

interface Metric {
  /** Writes the metric in steps of a row each, so that a caller can serve other requests between two steps. */
  write(out: Exposition): Iterable<void>;
}

const encoder = new TextEncoder();

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

/** One series of a counter, for hot paths: an increment needs no look-up. */
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

  /** `values`: in the order of the metric's labels. */
  add(values: readonly string[], by = 1): void {
    this.cell(values).count += by;
  }

  set(values: readonly string[], value: number): void {
    this.cell(values).count = value;
  }

  value(values: readonly string[]): number {
    return this.cell(values).count;
  }

  /** Returns a series for the caller to keep and add to. */
  cell(values: readonly string[]): CounterCell {
    return this.#series.at(values);
  }

  *write(out: Exposition): Generator<void> {
    const { name, labels } = this.#described;
    describe(out, this.#described, this.#type);
    for (const [key, { count }] of this.#series.entries()) {
      out.line(`${name}${labelText(labels, key)} ${count}`);
      yield;
    }
  }
}

/** One series of a histogram, for hot paths: an observation needs no look-up. */
export class HistogramCell {
  readonly #bounds: readonly number[];
  /** Number of observations of at most `bounds[i]`, and of more than the bound before it. */
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#add(value, 1);
  }

  /** Adds `count` values of which only the sum is known: each counts as their mean. */
  observeTogether(sum: number, count: number): void {
    if (count > 0) this.#add(sum / count, count);
  }

  #add(value: number, count: number): void {
    this.sum += value * count;
    this.count += count;
    const bounds = this.#bounds;
    for (let at = 0; at < bounds.length; at++) {
      if (value > (bounds[at] ?? 0)) continue;
      this.counts[at] = (this.counts[at] ?? 0) + count;
      return;
    }
  }
}

export class Histogram implements Metric {
  readonly #described: Described;
  readonly #bounds: readonly number[];
  /** End of each bucket's line, before its value. The last is the bucket without a bound. */
  readonly #tails: readonly Uint8Array[];
  readonly #series: Series<HistogramCell>;

  constructor(described: Described, bounds: readonly number[]) {
    this.#described = described;
    this.#bounds = bounds;
    this.#tails = [...bounds, "+Inf"].map((bound) => encoder.encode(`le="${bound}"} `));
    this.#series = new Series(described.labels, () => new HistogramCell(bounds));
  }

  observe(values: readonly string[], value: number): void {
    this.#series.at(values).observe(value);
  }

  /** Returns a series for the caller to keep and add observations to. */
  cell(values: readonly string[]): HistogramCell {
    return this.#series.at(values);
  }

  *write(out: Exposition): Generator<void> {
    const { name, labels } = this.#described;
    describe(out, this.#described, "histogram");
    for (const [key, row] of this.#series.entries()) {
      const pairs = labelPairs(labels, key);
      out.startRow(`${name}_bucket{${pairs}${pairs === "" ? "" : ","}`);
      let below = 0;
      this.#tails.forEach((tail, at) => {
        below += row.counts[at] ?? 0;
        out.sample(tail, at < this.#bounds.length ? below : row.count);
      });
      const where = pairs === "" ? "" : `{${pairs}}`;
      out.line(`${name}_sum${where} ${row.sum}`);
      out.line(`${name}_count${where} ${row.count}`);
      yield;
    }
  }
}

/** A metric without its series. */
interface Declared extends Described {
  readonly type: "counter" | "gauge" | "histogram";
  /** Upper bounds of a histogram's buckets; empty for other types. */
  readonly bounds: readonly number[];
}

/** All metrics of one server. */
export class MetricSet {
  readonly #metrics: Metric[] = [];
  readonly #declared: Declared[] = [];

  /** Metrics without figures and sources, which are known only when they are read. */
  declared(): readonly Declared[] {
    return this.#declared;
  }

  counter(name: string, help: string, labels: readonly string[]): Counter {
    this.#declared.push({ name, help, labels, type: "counter", bounds: [] });
    return this.#add(new Counter({ name, help, labels }, "counter"));
  }

  gauge(name: string, help: string, labels: readonly string[]): Counter {
    this.#declared.push({ name, help, labels, type: "gauge", bounds: [] });
    return this.#add(new Counter({ name, help, labels }, "gauge"));
  }

  /** Adds a gauge (or a counter, if its name ends with `_total`) computed at each scrape. */
  gaugeOf(name: string, help: string, labels: readonly string[], read: ReadRows): void {
    this.#readRows({ name, help, labels }, name.endsWith("_total") ? "counter" : "gauge", read);
  }

  /** Adds a gauge computed at each scrape, whatever its name: some of etcd's gauges are named like counters. */
  plainGaugeOf(name: string, help: string, labels: readonly string[], read: ReadRows): void {
    this.#readRows({ name, help, labels }, "gauge", read);
  }

  /** Adds figures without labels that are read together at each scrape, such as those of the process. */
  figuresOf(read: () => Iterable<Figure>): void {
    this.#add({
      write: (out) => {
        for (const { name, kind, help, value } of read()) {
          describe(out, { name, help, labels: [] }, kind ?? "gauge");
          out.line(`${name} ${value}`);
        }
        return [];
      },
    });
  }

  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    bounds: readonly number[],
  ): Histogram {
    this.#declared.push({ name, help, labels, type: "histogram", bounds });
    return this.#add(new Histogram({ name, help, labels }, bounds));
  }

  /** Adds exposition text that another room makes. */
  source(text: () => string): void {
    this.#add({
      write: (out) => {
        const lines = text().trimEnd();
        if (lines !== "") out.line(lines);
        return [];
      },
    });
  }

  /** Writes the body of /metrics in steps of a row each. A series that is made meanwhile may be missing. */
  *write(out: Exposition): Generator<void> {
    for (const metric of this.#metrics) yield* metric.write(out);
  }

  text(): string {
    const out = new Exposition();
    for (const _ of this.write(out));
    return out.text();
  }

  #readRows(described: Described, type: "counter" | "gauge", read: ReadRows): void {
    const { name, labels } = described;
    this.#declared.push({ ...described, type, bounds: [] });
    this.#add({
      *write(out) {
        describe(out, described, type);
        for (const [values, value] of read()) {
          out.line(`${name}${labelText(labels, values.join(separator))} ${value}`);
          yield;
        }
      },
    });
  }

  #add<T extends Metric>(metric: T): T {
    this.#metrics.push(metric);
    return metric;
  }
}

function describe(out: Exposition, { name, help }: Described, type: string): void {
  out.line(`# HELP ${name} ${help}\n# TYPE ${name} ${type}`);
}

function labelText(labels: readonly string[], key: string): string {
  return labels.length === 0 ? "" : `{${labelPairs(labels, key)}}`;
}

function labelPairs(labels: readonly string[], key: string): string {
  if (labels.length === 0) return "";
  const values = key.split(separator);
  return labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? "")}"`).join(",");
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}
